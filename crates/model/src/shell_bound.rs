//! Bounds the nesting of a shell text without parsing it. The parser recurses, and a hostile text
//! must not exhaust its stack.

/// Maximum length of a command that is parsed.
const LENGTH: usize = 64 * 1024;
/// Parentheses and backticks that may be open at once.
const OPEN: usize = 64;
/// Words that open something without a parenthesis.
const WORDS: usize = 200;
/// Operators in an arithmetic text; each may be one level.
const SIGNS: usize = 1_000;

/// Braces in a text: a word with alternatives is read once per open brace.
const MAX_BRACE_COUNT: usize = 1_000;
/// Maximum work of the parser for one command, in characters read.
pub const MAX_PARSE_STEPS: u64 = 1_000_000;

const OPENING: [&str; 14] = [
    "if", "elif", "while", "until", "for", "select", "case", "function", "coproc", "time", "then",
    "do", "{", "!",
];

/// Whether a text is small enough to be parsed.
pub fn is_bounded(text: &str) -> bool {
    if text.len() > LENGTH {
        return false;
    }
    // A line may be broken in the middle of a word.
    let text = text.replace("\\\n", "");
    let braces = text.matches('{').count();
    open(&text) <= OPEN
        && opening_words(&text) <= WORDS
        && count_operators(&text) <= SIGNS
        && braces <= MAX_BRACE_COUNT
}

/// An upper bound of the parser's work. The parser reads text between backticks again for each
/// level that may begin there, and all other text once.
pub fn parse_steps(text: &str) -> u64 {
    let parts = text.split('`');
    let nests = |part: &&str| part.contains(['(', '{', '"', '\'', '\\']);
    let levels = if text.contains('`') { parts.filter(nests).count() } else { 0 };
    let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
    match u32::try_from(levels) {
        Ok(levels) if levels < u64::BITS => length.saturating_mul(1 << levels),
        _ => u64::MAX,
    }
}

/// A parenthesis counts as closed only if no text between the two could turn the closing one into
/// plain text. The result is therefore never too low.
fn open(text: &str) -> usize {
    let feeds = text.contains("<<");
    let cases = text.contains("case");
    let mut clean: Vec<bool> = Vec::new();
    let mut ticks = 0;
    for c in text.chars() {
        match c {
            '(' => clean.push(!cases),
            ')' if clean.last() == Some(&true) => drop(clean.pop()),
            '`' => ticks += 1,
            '\'' | '"' | '\\' | '#' => clean.fill(false),
            '\n' if feeds => clean.fill(false),
            _ => {}
        }
        if clean.len() + ticks > OPEN {
            break;
        }
    }
    clean.len() + ticks
}

fn opening_words(text: &str) -> usize {
    let parts = text.split(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')'));
    let braces = text.matches("${").count();
    braces + parts.filter(|part| OPENING.contains(part)).count()
}

fn count_operators(text: &str) -> usize {
    let sums = text.contains("((");
    let sign = |c: &char| c.is_ascii_punctuation() && !matches!(c, '_' | '.' | '/');
    if sums { text.chars().filter(sign).take(SIGNS + 1).count() } else { 0 }
}
