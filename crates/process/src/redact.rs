//! Redacts a byte stream, also where a secret spans two reads. The caller supplies the function
//! that finds secrets.

use std::fmt;
use std::sync::Arc;

/// Bytes kept back so that a secret spanning two reads is still found.
const LOOKAHEAD_BYTES: usize = 8 << 10;
/// How many new bytes are redacted at a time.
const CHUNK_BYTES: usize = 64 << 10;
/// The longest run of kept-back bytes; a secret that does not end within it stops the stream.
const MAX_SECRET_BYTES: usize = 256 << 10;
/// How often a split point moves past the secret that spans it.
const MAX_SPLIT_ATTEMPTS: usize = 4;

type RedactFn = dyn Fn(&[u8]) -> Vec<u8> + Send + Sync;

/// A function that returns a text's bytes without its secrets.
#[derive(Clone)]
pub struct Redact(Arc<RedactFn>);

impl Redact {
    /// Wraps `redact`, which must find a secret at any position and leave all other bytes
    /// unchanged.
    pub fn new(redact: impl Fn(&[u8]) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self(Arc::new(redact))
    }

    /// A whole text without its secrets.
    pub fn apply(&self, bytes: &[u8]) -> Vec<u8> {
        (self.0)(bytes)
    }
}

impl fmt::Debug for Redact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redact")
    }
}

/// The stream holds a secret that does not end.
pub struct UnboundedSecret;

/// Redacts one stream.
pub struct RedactingWriter<'a> {
    redact: &'a Redact,
    pending: Vec<u8>,
}

impl<'a> RedactingWriter<'a> {
    /// Starts with an empty stream.
    pub fn new(redact: &'a Redact) -> Self {
        Self { redact, pending: Vec::new() }
    }

    /// Adds bytes and passes those that are safe to `write`.
    pub fn push_bytes(
        &mut self,
        bytes: &[u8],
        write: &mut dyn FnMut(&[u8]),
    ) -> Result<(), UnboundedSecret> {
        for piece in bytes.chunks(CHUNK_BYTES) {
            self.pending.extend_from_slice(piece);
            if let Some(target) =
                self.pending.len().checked_sub(LOOKAHEAD_BYTES).filter(|at| *at > 0)
            {
                self.write_safe_part(target, write)?;
            }
        }
        Ok(())
    }

    /// Passes the whole lines that are kept back to `write`, unless a secret spans their end.
    pub fn flush_lines(&mut self, write: &mut dyn FnMut(&[u8])) {
        let newline = self.pending.iter().rposition(|byte| *byte == b'\n');
        let Some(end) = newline.map(|at| at + 1) else { return };
        let clean = (self.redact.0)(&self.pending);
        if let Some((cut, length)) = self.try_split_at(&clean, end, end) {
            write(clean.get(..length).unwrap_or(&clean));
            self.pending.drain(..cut);
        }
    }

    /// Redacts and returns the kept-back bytes at the end of the stream.
    pub fn finish(self) -> Vec<u8> {
        (self.redact.0)(&self.pending)
    }

    fn write_safe_part(
        &mut self,
        target: usize,
        write: &mut dyn FnMut(&[u8]),
    ) -> Result<(), UnboundedSecret> {
        let clean = (self.redact.0)(&self.pending);
        let (cut, length) = if clean == self.pending {
            (target, target)
        } else if let Some(found) = self.find_split(&clean, target) {
            found
        } else if self.pending.len() > MAX_SECRET_BYTES {
            return Err(UnboundedSecret);
        } else {
            return Ok(());
        };

        write(clean.get(..length).unwrap_or(&clean));
        self.pending.drain(..cut);
        Ok(())
    }

    /// Finds where the kept-back bytes can be split, and the length of `clean` before that point.
    fn find_split(&self, clean: &[u8], target: usize) -> Option<(usize, usize)> {
        let steps = std::iter::successors(Some(LOOKAHEAD_BYTES / 8), |step| Some(step * 2));
        let back = steps.map_while(|step| target.checked_sub(step)).take_while(|at| *at > 0);
        std::iter::once(target).chain(back).find_map(|at| self.try_split_at(clean, at, target))
    }

    /// Checks a split point: after a right one, the bytes look the same with and without the bytes
    /// before it. After a wrong one an unredacted rest shows, and the next try is made behind that
    /// rest.
    fn try_split_at(&self, clean: &[u8], from: usize, target: usize) -> Option<(usize, usize)> {
        let mut at = from;
        for _ in 0..MAX_SPLIT_ATTEMPTS {
            if at > target + LOOKAHEAD_BYTES / 2 {
                return None;
            }
            let after = (self.redact.0)(self.pending.get(at..)?);
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
    use super::{LOOKAHEAD_BYTES, MAX_SECRET_BYTES, Redact, RedactingWriter};

    fn replacing_secret(secret: &'static str) -> Redact {
        Redact::new(move |bytes| {
            String::from_utf8_lossy(bytes).replace(secret, "[secret]").into_bytes()
        })
    }

    fn redact_in_pieces(redact: &Redact, text: &str, piece: usize) -> String {
        let (mut writer, mut out) = (RedactingWriter::new(redact), Vec::new());
        for piece in text.as_bytes().chunks(piece) {
            assert!(writer.push_bytes(piece, &mut |bytes| out.extend_from_slice(bytes)).is_ok());
        }
        out.extend(writer.finish());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn redacts_secrets_across_every_split() {
        let secret = "hunter2]-the-password";
        let redact = replacing_secret(secret);
        for gap in ["", "\n", " and then, ", "hunter2", &"x".repeat(5000)] {
            let text = format!("{secret}{gap}").repeat(300_000 / (secret.len() + gap.len()));
            for piece in [997, 65_536, 1_000_000] {
                let shown = redact_in_pieces(&redact, &text, piece);
                assert_eq!(shown, text.replace(secret, "[secret]"), "{gap:.20} by {piece}");
            }
        }
    }

    #[test]
    fn redacts_a_secret_of_many_lines() {
        let secret: &str = "-----BEGIN-----\nabc\ndef\n-----END-----\n".repeat(80).leak();
        assert!(secret.len() < LOOKAHEAD_BYTES);
        let text = format!("before\n{secret}after\n").repeat(40);
        let shown = redact_in_pieces(&replacing_secret(secret), &text, 4096);
        assert_eq!(shown, text.replace(secret, "[secret]"));
    }

    #[test]
    fn stops_at_a_secret_without_end() {
        let redact = Redact::new(|bytes| {
            let text = String::from_utf8_lossy(bytes);
            text.split_once("token=").map_or(text.as_ref(), |(before, _)| before).into()
        });
        let (mut writer, mut out) = (RedactingWriter::new(&redact), Vec::new());
        let text = format!("before token={}", "s".repeat(2 * MAX_SECRET_BYTES));
        let pushed = writer.push_bytes(text.as_bytes(), &mut |bytes| out.extend_from_slice(bytes));
        assert!(pushed.is_err() && !out.contains(&b's'));
    }
}
