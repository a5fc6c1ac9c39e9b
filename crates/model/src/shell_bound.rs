//! How deep a shell text can be nested at most, told without parsing it: the parser recurses, and
//! a text made to exhaust it must not take the guard with it.

/// Longer commands are not looked into.
const LENGTH: usize = 64 * 1024;
/// Parentheses and backticks that may be open at once.
const OPEN: usize = 64;
/// Words that open something without a parenthesis.
const WORDS: usize = 200;
/// Signs in a text that does sums: each may be one level.
const SIGNS: usize = 1_000;

/// Braces in a text: words with alternatives are looked at once for each that is open.
const MAX_BRACE_COUNT: usize = 1_000;
/// What the parser may do for one command, in characters looked at.
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
        && signs(&text) <= SIGNS
        && braces <= MAX_BRACE_COUNT
}

/// How much work the parser has with a text at most. It reads what stands between backticks again
/// for each level that may begin there; everything else it reads once.
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

/// A parenthesis counts as closed only when nothing stands between the two that could turn the
/// closing one into plain text; so this errs to the deep side alone.
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

fn signs(text: &str) -> usize {
    let sums = text.contains("((");
    let sign = |c: &char| c.is_ascii_punctuation() && !matches!(c, '_' | '.' | '/');
    if sums { text.chars().filter(sign).take(SIGNS + 1).count() } else { 0 }
}
