//! Compares texts with unknown parts: `*` of a pattern, and values that only the shell knows. Two
//! texts match if the unknown parts can be filled so that both are equal.

/// A character, or any text at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextCell {
    /// This character.
    Char(char),
    /// Any text, including the empty one.
    Any,
}

/// Parses a pattern: `*` is any text, and a backslash escapes it.
pub fn parse_wildcards(text: &str) -> Vec<TextCell> {
    let mut cells = Vec::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = chars.peek().copied().filter(|next| matches!(next, '*' | '(' | ')' | '\\'));
        match (c, escaped) {
            ('\\', Some(next)) => {
                cells.push(TextCell::Char(next));
                chars.next();
            }
            ('*', _) => cells.push(TextCell::Any),
            _ => cells.push(TextCell::Char(c)),
        }
    }
    cells
}

/// Whether both can be the same text. `met[j]`: the text so far matches `pattern[..j]`.
pub fn can_match(pattern: &[TextCell], text: &[TextCell]) -> bool {
    let mut met = vec![false; pattern.len() + 1];
    met[0] = true;
    for (j, cell) in pattern.iter().enumerate() {
        met[j + 1] = met[j] && *cell == TextCell::Any;
    }
    for read in text {
        let mut diagonal = met[0];
        met[0] = met[0] && *read == TextCell::Any;
        for (j, cell) in pattern.iter().enumerate() {
            let above = met[j + 1];
            let either = *read == TextCell::Any || *cell == TextCell::Any;
            met[j + 1] = if either { above || met[j] } else { diagonal && cell == read };
            diagonal = above;
        }
        if !met.contains(&true) {
            return false;
        }
    }
    met[pattern.len()]
}
