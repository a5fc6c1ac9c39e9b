//! Foreign texts on a page: without characters that could hide or reorder them, and cut to a
//! length.

/// The most characters shown of one text.
const MAX_TEXT_CHARS: usize = 20_000;

/// Cleans a text. Line ends and tabs stay; characters that control terminals or change the text
/// direction are removed.
pub(super) fn clean_text(text: &str) -> String {
    let mut left = MAX_TEXT_CHARS;
    let mut out = String::new();
    for char in text.chars().filter(|char| is_shown(*char)) {
        if left == 0 {
            out.push_str(" … (cut)");
            break;
        }
        left -= 1;
        out.push(char);
    }
    out
}

/// Cleans a text and puts it on one line.
pub(super) fn clean_line(text: &str) -> String {
    clean_text(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_shown(char: char) -> bool {
    let reorders = matches!(char,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    matches!(char, '\n' | '\t') || (!char.is_control() && !reorders)
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
        let long = clean_text(&"é".repeat(MAX_TEXT_CHARS + 1));
        assert!(long.ends_with("é … (cut)"));
        assert_eq!(clean_text(&"é".repeat(MAX_TEXT_CHARS)).chars().count(), MAX_TEXT_CHARS);
    }
}
