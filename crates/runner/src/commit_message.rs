//! The message of an iteration's commit: a subject, the rest of the summary, and the iteration.

use gambrel_model::text::{remove_controls, truncate_bytes};

/// The trailer that names the iteration, so that it is committed once.
pub(crate) const TRAILER_KEY: &str = "Gambrel-Iteration";
/// The most characters of a subject.
const MAX_SUBJECT_CHARS: usize = 72;
const MAX_BODY_BYTES: usize = 64 * 1024;

/// Builds the message. A summary without text gives the fallback as the subject.
pub(crate) fn build_message(summary: &str, fallback: &str, iteration: &str) -> String {
    let clean = remove_controls(summary);
    let (first, rest) = clean.trim().split_once('\n').unwrap_or((clean.trim(), ""));
    let first = if first.is_empty() { fallback } else { first.trim_end() };
    let (subject, overflow) = split_subject(first);
    let parts = [subject, overflow, rest.trim()];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    let text: Vec<String> = parts.map(|part| truncate_bytes(part, MAX_BODY_BYTES, " …")).collect();
    format!("{}\n\n{TRAILER_KEY}: {iteration}\n", text.join("\n\n"))
}

/// Splits a line before the word that makes it too long.
fn split_subject(line: &str) -> (&str, &str) {
    let Some((end, _)) = line.char_indices().nth(MAX_SUBJECT_CHARS) else { return (line, "") };
    let starts_word = line[end..].starts_with(char::is_whitespace);
    let end = match line[..end].rfind(char::is_whitespace) {
        Some(space) if space > 0 && !starts_word => space,
        _ => end,
    };
    (line[..end].trim_end(), line[end..].trim_start())
}

#[cfg(test)]
mod tests {
    use super::build_message;

    fn build(summary: &str) -> String {
        let text = build_message(summary, "Iteration 2 of work", "s/work/2");
        text.strip_suffix("\n\nGambrel-Iteration: s/work/2\n").unwrap().to_owned()
    }

    #[test]
    fn builds_a_subject_and_a_body() {
        assert_eq!(build("Fix the parser"), "Fix the parser");
        assert_eq!(build("  \n"), "Iteration 2 of work");
        assert_eq!(build("Fix\r\nIt was wrong.\n\nVery.\n"), "Fix\n\nIt was wrong.\n\nVery.");
        assert_eq!(build("a\0b\u{1b}[31m\u{202e}"), "ab[31m");
        let words = "word ".repeat(30);
        let text = build(&words);
        let (subject, body) = text.split_once("\n\n").unwrap();
        assert_eq!(subject.chars().count(), 69);
        assert_eq!(format!("{subject} {body}"), words.trim());
        let long = build(&"ä".repeat(100));
        assert_eq!(long, format!("{}\n\n{}", "ä".repeat(72), "ä".repeat(28)));
        assert_eq!(build(&"x".repeat(72)), "x".repeat(72));
    }
}
