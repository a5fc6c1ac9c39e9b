//! Foreign texts on a page: without characters that could hide or reorder them, and cut to a
//! length.

use gambrel_model::MAX_SHOWN_CHARS;
use gambrel_model::text::{join_lines, remove_controls, replace_controls, truncate_chars};

const CUT_MARK: &str = " … (cut)";

/// Cleans a text. Line ends and tabs stay; characters that control terminals or change the text
/// direction are removed.
pub(super) fn clean_text(text: &str) -> String {
    truncate_chars(&remove_controls(text), MAX_SHOWN_CHARS, CUT_MARK)
}

/// Puts a visible sign in place of each of these characters: in a command they have an effect.
pub(super) fn mark_controls(text: &str) -> String {
    truncate_chars(&replace_controls(text), MAX_SHOWN_CHARS, CUT_MARK)
}

/// Cleans a text and puts it on one line.
pub(super) fn clean_line(text: &str) -> String {
    join_lines(&clean_text(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_control_and_direction_characters() {
        assert_eq!(clean_text("a\u{1b}[31mb\u{202e}c\u{200b}\r\n\td\u{9b}"), "a[31mbc\n\td");
        assert_eq!(clean_line(" two\n  words\u{7} "), "two words");
    }

    #[test]
    fn marks_a_cut_text() {
        let long = clean_text(&"é".repeat(MAX_SHOWN_CHARS + 1));
        assert!(long.ends_with("é … (cut)"));
        assert_eq!(clean_text(&"é".repeat(MAX_SHOWN_CHARS)).chars().count(), MAX_SHOWN_CHARS);
    }
}
