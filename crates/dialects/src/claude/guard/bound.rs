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
    open(&text) <= OPEN && opening_words(&text) <= WORDS && signs(&text) <= SIGNS
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
