//! Says of each byte of a text, by itself and the next one, whether it needs a closer look. Most need
//! none, so a text costs two lookups for each byte.

use super::needle::Needles;
use super::pattern::{ROWS_BY_FIRST, ROWS_BY_SECOND};

/// A known secret may begin here.
const KNOWN_SECRET: u32 = 1 << 30;
/// JSON escapes the byte.
const ESCAPED: u32 = 1 << 31;
/// What the next byte does not exclude: the rows of patterns are the other bits.
const BY_SECOND: [u32; 256] = {
    let mut marks = ROWS_BY_SECOND;
    let mut byte = 0;
    while byte < marks.len() {
        marks[byte] |= KNOWN_SECRET | ESCAPED;
        byte += 1;
    }
    marks
};

/// For each byte, what may begin with it.
pub(super) struct ByteMarks([u32; 256]);

impl ByteMarks {
    pub(super) fn new(needles: &Needles) -> Self {
        let mut marks = ROWS_BY_FIRST;
        for (byte, mark) in (0..=u8::MAX).zip(&mut marks) {
            if needles.may_start(byte) {
                *mark |= KNOWN_SECRET;
            }
            if byte < b' ' || byte == b'"' || byte == b'\\' {
                *mark |= ESCAPED;
            }
        }
        Self(marks)
    }

    /// The next byte, from an offset on, that may begin a secret or that JSON escapes.
    pub(super) fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        self.find_marked(text, from, u32::MAX)
    }

    /// The next byte, from an offset on, that may begin a secret.
    pub(super) fn find_secret(&self, text: &[u8], from: usize) -> Option<usize> {
        self.find_marked(text, from, !ESCAPED)
    }

    fn find_marked(&self, text: &[u8], from: usize, mask: u32) -> Option<usize> {
        let rest = text.get(from..)?;
        let mut pairs = rest.windows(2);
        let found = pairs.position(|pair| match *pair {
            [byte, next] => self.marks(byte, next) & mask != 0,
            _ => false,
        });
        // No prefix of a pattern has only one byte.
        let at_end =
            || rest.last().filter(|byte| self.marks(**byte, 0) & mask != 0).map(|_| rest.len() - 1);
        Some(from + found.or_else(at_end)?)
    }

    /// Whether a byte may begin a secret.
    pub(super) fn may_be_secret(&self, text: &[u8], at: usize) -> bool {
        let byte = |at: usize| text.get(at).copied().unwrap_or(0);
        self.marks(byte(at), byte(at + 1)) & !ESCAPED != 0
    }

    pub(super) fn is_escaped(&self, byte: u8) -> bool {
        self.0[usize::from(byte)] & ESCAPED != 0
    }

    fn marks(&self, byte: u8, next: u8) -> u32 {
        self.0[usize::from(byte)] & BY_SECOND[usize::from(next)]
    }
}
