//! Lines and columns of byte offsets. The index is built at the first question, because most files
//! are read without one.

use std::cell::OnceCell;

/// The size of the blocks in which lines and characters are counted, so that many questions about
/// one long line stay cheap. A count of a block fits into a byte, which the compiler vectorises.
const BLOCK_BYTES: usize = 128;

/// The index of one text.
#[derive(Debug, Default)]
pub struct LineIndex {
    line_blocks: OnceCell<Vec<LineBlock>>,
    /// The number of characters before each block. Only long lines ask for it.
    character_counts: OnceCell<Vec<usize>>,
}

/// The lines before a block.
#[derive(Debug, Clone, Copy, Default)]
struct LineBlock {
    /// The number of line breaks.
    line_breaks: usize,
    /// Where the line begins that the block begins in.
    line_start: usize,
}

impl LineIndex {
    /// Line and column of a byte offset, both from 1; the column in characters.
    pub fn position_of(&self, text: &str, offset: usize) -> (usize, usize) {
        let bytes = text.as_bytes();
        let offset = offset.min(bytes.len());
        let blocks = self.line_blocks.get_or_init(|| index_lines(bytes));
        let block = blocks.get(offset / BLOCK_BYTES).copied().unwrap_or_default();
        let own = block_before(bytes, offset);
        let line = block.line_breaks + count_line_breaks(own) + 1;
        let line_start = match last_line_break(own) {
            Some(at) => offset - own.len() + at + 1,
            None => block.line_start,
        };
        let column = match bytes.get(line_start..offset) {
            Some(short) if short.len() < BLOCK_BYTES => count_characters(short),
            _ => self.characters_before(bytes, offset) - self.characters_before(bytes, line_start),
        };
        (line, column + 1)
    }

    fn characters_before(&self, bytes: &[u8], offset: usize) -> usize {
        let counts = self.character_counts.get_or_init(|| index_characters(bytes));
        let before = counts.get(offset / BLOCK_BYTES).copied().unwrap_or_default();
        before + count_characters(block_before(bytes, offset))
    }
}

fn index_lines(bytes: &[u8]) -> Vec<LineBlock> {
    let mut blocks = Vec::with_capacity(bytes.len() / BLOCK_BYTES + 2);
    let mut next = LineBlock::default();
    blocks.push(next);
    for (chunk, start) in bytes.chunks(BLOCK_BYTES).zip((0..).step_by(BLOCK_BYTES)) {
        next.line_breaks += count_line_breaks(chunk);
        next.line_start = last_line_break(chunk).map_or(next.line_start, |at| start + at + 1);
        blocks.push(next);
    }
    blocks
}

fn index_characters(bytes: &[u8]) -> Vec<usize> {
    let counts = bytes.chunks(BLOCK_BYTES).scan(0, |sum, block| {
        *sum += count_characters(block);
        Some(*sum)
    });
    std::iter::once(0).chain(counts).collect()
}

/// The bytes of an offset's block that stand before the offset.
fn block_before(bytes: &[u8], offset: usize) -> &[u8] {
    bytes.get(offset - offset % BLOCK_BYTES..offset).unwrap_or_default()
}

fn count_line_breaks(block: &[u8]) -> usize {
    count_in_block(block, |byte| byte == b'\n')
}

fn last_line_break(bytes: &[u8]) -> Option<usize> {
    bytes.iter().rposition(|byte| *byte == b'\n')
}

/// Counts the bytes that begin a character.
fn count_characters(block: &[u8]) -> usize {
    count_in_block(block, |byte| byte & 0xc0 != 0x80)
}

/// Counts bytes of at most one block.
fn count_in_block(block: &[u8], is_counted: impl Fn(u8) -> bool) -> usize {
    usize::from(block.iter().fold(0_u8, |sum, byte| sum.wrapping_add(is_counted(*byte).into())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_count_from_the_beginning(
            parts in proptest::collection::vec(
                proptest::sample::select(vec!["\n", "\n\n\n", "a", "\u{e4}", "\u{1f600}", "0123456789"]),
                0..400,
            ),
            share in 0.0_f64..1.0,
        ) {
            let text = parts.concat();
            let offset = text.floor_char_boundary((text.len() as f64 * share) as usize);
            let before = &text[..offset];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            prop_assert_eq!(LineIndex::default().position_of(&text, offset), (line, column));
        }
    }
}
