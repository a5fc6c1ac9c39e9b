//! Maps positions in generated code back to lines of the source. Reads stack traces as text and
//! knows no engine.

use std::borrow::Cow;

/// The source map of one file, sorted by generated line and column.
#[derive(Debug, Clone, Default)]
pub struct SourceMap {
    mappings: Vec<(u32, u32, u32)>,
}

impl SourceMap {
    /// Takes (generated line, generated column, original line), all counted from zero.
    pub fn new(mut mappings: Vec<(u32, u32, u32)>) -> Self {
        mappings.sort_unstable();
        mappings.shrink_to_fit();
        Self { mappings }
    }

    /// The original line of a generated position, all counted from one.
    pub fn original_line(&self, line: u32, column: u32) -> u32 {
        let wanted = (line.saturating_sub(1), column.saturating_sub(1), u32::MAX);
        let after = self.mappings.partition_point(|mapping| *mapping <= wanted);
        match after.checked_sub(1).and_then(|at| self.mappings.get(at)) {
            Some((_, _, original)) => original + 1,
            None => line,
        }
    }
}

/// The first position in a stack trace that lies in a known file, as `file:line`.
pub fn first_known_position<'a>(
    stack: &str,
    known: impl Fn(&str) -> Option<&'a SourceMap>,
) -> Option<String> {
    stack.lines().find_map(|line| {
        let (file, row, column) = parse_frame(line)?;
        let file = url_to_path(file);
        let source_map = known(&file)?;
        Some(format!("{file}:{}", source_map.original_line(row, column)))
    })
}

/// Parses `    at name (file:line:column)` or `    at file:line:column`.
fn parse_frame(line: &str) -> Option<(&str, u32, u32)> {
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

/// The path of a file that is given as a path or a URL.
pub fn url_to_path(file: &str) -> Cow<'_, str> {
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
    fn parses_frames_with_and_without_a_name() {
        assert_eq!(parse_frame("    at f (/a b/c.ts:3:4)"), Some(("/a b/c.ts", 3, 4)));
        assert_eq!(parse_frame("    at /a/c.ts:3"), Some(("/a/c.ts", 3, 1)));
        assert_eq!(parse_frame("    at native"), None);
    }
}
