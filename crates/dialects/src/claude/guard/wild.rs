//! Texts with unknown stretches on either side: a pattern's `*`, and what only the shell will
//! know. Two of them fit when some choice for every unknown makes them equal.

/// A character, or any text at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// This character.
    Char(char),
    /// Any text, also none.
    Any,
}

/// A pattern in which `*` is any text and a backslash takes its meaning away.
pub fn wild(text: &str) -> Vec<Cell> {
    let mut cells = Vec::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = chars.peek().copied().filter(|next| matches!(next, '*' | '(' | ')' | '\\'));
        match (c, escaped) {
            ('\\', Some(next)) => {
                cells.push(Cell::Char(next));
                chars.next();
            }
            ('*', _) => cells.push(Cell::Any),
            _ => cells.push(Cell::Char(c)),
        }
    }
    cells
}

/// Whether they can be the same text. `met[j]`: what was read so far is met by `pattern[..j]`.
pub fn fits(pattern: &[Cell], text: &[Cell]) -> bool {
    let mut met = vec![false; pattern.len() + 1];
    met[0] = true;
    for (j, cell) in pattern.iter().enumerate() {
        met[j + 1] = met[j] && *cell == Cell::Any;
    }
    for read in text {
        let mut diagonal = met[0];
        met[0] = met[0] && *read == Cell::Any;
        for (j, cell) in pattern.iter().enumerate() {
            let above = met[j + 1];
            let either = *read == Cell::Any || *cell == Cell::Any;
            met[j + 1] = if either { above || met[j] } else { diagonal && cell == read };
            diagonal = above;
        }
        if !met.contains(&true) {
            return false;
        }
    }
    met[pattern.len()]
}
