//! From places in generated code back to the lines that a person wrote. Knows no engine; it only
//! reads the text of a stack trace.

use std::borrow::Cow;

/// One file's map, sorted by generated line and column.
#[derive(Debug, Clone, Default)]
pub struct Positions {
    spots: Vec<(u32, u32, u32)>,
}

impl Positions {
    /// From (generated line, generated column, original line), all counted from zero.
    pub fn new(mut spots: Vec<(u32, u32, u32)>) -> Self {
        spots.sort_unstable();
        spots.shrink_to_fit();
        Self { spots }
    }

    /// The original line of a generated place, all counted from one.
    pub fn original(&self, line: u32, column: u32) -> u32 {
        let wanted = (line.saturating_sub(1), column.saturating_sub(1), u32::MAX);
        let after = self.spots.partition_point(|spot| *spot <= wanted);
        match after.checked_sub(1).and_then(|at| self.spots.get(at)) {
            Some((_, _, original)) => original + 1,
            None => line,
        }
    }
}

/// The first place in a stack trace that lies in a known file, as `file:line`.
pub fn first_place<'a>(
    stack: &str,
    known: impl Fn(&str) -> Option<&'a Positions>,
) -> Option<String> {
    stack.lines().find_map(|line| {
        let (file, row, column) = place(line)?;
        let file = unescaped(file);
        let positions = known(&file)?;
        Some(format!("{file}:{}", positions.original(row, column)))
    })
}

/// `    at name (file:line:column)` or `    at file:line:column`.
fn place(line: &str) -> Option<(&str, u32, u32)> {
    let line = line.trim().strip_prefix("at ")?;
    let line = match line.rfind(" (").filter(|_| line.ends_with(')')) {
        Some(open) => line.get(open + 2..line.len() - 1)?,
        None => line,
    };
    let (rest, last) = line.rsplit_once(':')?;
    let last: u32 = last.parse().ok()?;
    match rest.rsplit_once(':').and_then(|(file, row)| Some((file, row.parse().ok()?))) {
        Some((file, row)) => Some((file, row, last)),
        None => Some((rest, last, 1)),
    }
}

/// A file as a path, whether the engine names it so or as a URL.
pub fn unescaped(file: &str) -> Cow<'_, str> {
    let Some(escaped) = file.strip_prefix("file://") else { return Cow::Borrowed(file) };
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = (byte == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(code.unwrap_or(byte));
        rest = if code.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_with_and_without_a_name() {
        assert_eq!(place("    at f (/a b/c.ts:3:4)"), Some(("/a b/c.ts", 3, 4)));
        assert_eq!(place("    at /a/c.ts:3"), Some(("/a/c.ts", 3, 1)));
        assert_eq!(place("    at native"), None);
    }
}
