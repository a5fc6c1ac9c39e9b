//! Takes out of a stream what may not be written, also where a value lies across the border of
//! two reads. What that is, somebody else decides; it knows no secret and no file.

use std::fmt;
use std::sync::Arc;

/// What is seen of the future before the past is let go: longer than any value but the strangest.
const HELD_BACK: usize = 8 << 10;
/// How much is taken into view at once.
const PIECE: usize = 64 << 10;
/// A value that does not end within this is not waited for.
const LONGEST: usize = 256 << 10;
/// How often a border is moved behind the value that lies across it.
const HOPS: usize = 4;

type Cover = dyn Fn(&[u8]) -> Vec<u8> + Send + Sync;

/// A function over the bytes of a text that gives them back without what must stay private.
#[derive(Clone)]
pub struct Veil(Arc<Cover>);

impl Veil {
    /// From a function that leaves all else as it is, and sees a value wherever it stands.
    pub fn new(cover: impl Fn(&[u8]) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self(Arc::new(cover))
    }
}

impl fmt::Debug for Veil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Veil")
    }
}

/// A value lies in the stream that does not come to its end.
pub(crate) struct Endless;

/// One stream behind a veil.
pub(crate) struct Veiled<'a> {
    veil: &'a Veil,
    held: Vec<u8>,
}

impl<'a> Veiled<'a> {
    /// Of which nothing has been seen.
    pub fn new(veil: &'a Veil) -> Self {
        Self { veil, held: Vec::new() }
    }

    /// Takes the next bytes; what can be let go is given to `write`.
    pub fn push(&mut self, bytes: &[u8], write: &mut dyn FnMut(&[u8])) -> Result<(), Endless> {
        for piece in bytes.chunks(PIECE) {
            self.held.extend_from_slice(piece);
            if let Some(target) = self.held.len().checked_sub(HELD_BACK).filter(|at| *at > 0) {
                self.release(target, write)?;
            }
        }
        Ok(())
    }

    /// What is left when nothing more comes.
    pub fn finish(self) -> Vec<u8> {
        (self.veil.0)(&self.held)
    }

    fn release(&mut self, target: usize, write: &mut dyn FnMut(&[u8])) -> Result<(), Endless> {
        let clean = (self.veil.0)(&self.held);
        let (cut, length) = if clean == self.held {
            (target, target)
        } else if let Some(found) = self.border(&clean, target) {
            found
        } else if self.held.len() > LONGEST {
            return Err(Endless);
        } else {
            return Ok(());
        };
        write(clean.get(..length).unwrap_or(&clean));
        self.held.drain(..cut);
        Ok(())
    }

    /// Where the bytes in view can be parted, and how much of `clean` lies before that.
    fn border(&self, clean: &[u8], target: usize) -> Option<(usize, usize)> {
        let steps = std::iter::successors(Some(HELD_BACK / 8), |step| Some(step * 2));
        let back = steps.map_while(|step| target.checked_sub(step)).take_while(|at| *at > 0);
        std::iter::once(target).chain(back).find_map(|at| self.hop(clean, at, target))
    }

    /// Whatever follows a right border looks the same with and without what is before it. A value
    /// across a wrong one shows by its bare rest, and the next try is made behind that.
    fn hop(&self, clean: &[u8], from: usize, target: usize) -> Option<(usize, usize)> {
        let mut at = from;
        for _ in 0..HOPS {
            if at > target + HELD_BACK / 2 {
                return None;
            }
            let after = (self.veil.0)(self.held.get(at..)?);
            let pairs = clean.iter().rev().zip(after.iter().rev());
            let same = pairs.take_while(|(left, right)| left == right).count();
            if same == after.len() {
                return Some((at, clean.len() - same));
            }
            at += after.len() - same;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{HELD_BACK, LONGEST, Veil, Veiled};

    fn replacing(secret: &'static str) -> Veil {
        Veil::new(move |bytes| {
            String::from_utf8_lossy(bytes).replace(secret, "[secret]").into_bytes()
        })
    }

    fn through(veil: &Veil, text: &str, piece: usize) -> String {
        let (mut veiled, mut out) = (Veiled::new(veil), Vec::new());
        for piece in text.as_bytes().chunks(piece) {
            assert!(veiled.push(piece, &mut |bytes| out.extend_from_slice(bytes)).is_ok());
        }
        out.extend(veiled.finish());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn no_border_shows_a_value() {
        let secret = "hunter2]-the-password";
        let veil = replacing(secret);
        for gap in ["", "\n", " and then, ", "hunter2", &"x".repeat(5000)] {
            let text = format!("{secret}{gap}").repeat(300_000 / (secret.len() + gap.len()));
            for piece in [997, 65_536, 1_000_000] {
                let shown = through(&veil, &text, piece);
                assert_eq!(shown, text.replace(secret, "[secret]"), "{gap:.20} by {piece}");
            }
        }
    }

    #[test]
    fn a_value_of_many_lines_is_one() {
        let secret: &str = "-----BEGIN-----\nabc\ndef\n-----END-----\n".repeat(80).leak();
        assert!(secret.len() < HELD_BACK);
        let text = format!("before\n{secret}after\n").repeat(40);
        let shown = through(&replacing(secret), &text, 4096);
        assert_eq!(shown, text.replace(secret, "[secret]"));
    }

    #[test]
    fn a_value_without_end_is_held_back_and_given_up() {
        let veil = Veil::new(|bytes| {
            let text = String::from_utf8_lossy(bytes);
            text.split_once("token=").map_or(text.as_ref(), |(before, _)| before).into()
        });
        let (mut veiled, mut out) = (Veiled::new(&veil), Vec::new());
        let text = format!("before token={}", "s".repeat(2 * LONGEST));
        let pushed = veiled.push(text.as_bytes(), &mut |bytes| out.extend_from_slice(bytes));
        assert!(pushed.is_err() && !out.contains(&b's'));
    }
}
