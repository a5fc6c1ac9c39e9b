//! Texts of others on our page: without what could hide or reorder them, and not endless.

/// What is shown of one text.
const CHARS: usize = 20_000;

/// A text for showing. Line ends and tabs stay; what steers terminals or turns the direction of
/// reading goes.
pub(super) fn clean(text: &str) -> String {
    let mut left = CHARS;
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

/// The same on one line.
pub(super) fn line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_shown(char: char) -> bool {
    let turns = matches!(char,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    matches!(char, '\n' | '\t') || (!char.is_control() && !turns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_or_hides() {
        assert_eq!(clean("a\u{1b}[31mb\u{202e}c\u{200b}\r\n\td\u{9b}"), "a[31mbc\n\td");
        assert_eq!(line(" two\n  words\u{7} "), "two words");
    }

    #[test]
    fn what_is_cut_says_so() {
        let long = clean(&"é".repeat(CHARS + 1));
        assert!(long.ends_with("é … (cut)"));
        assert_eq!(clean(&"é".repeat(CHARS)).chars().count(), CHARS);
    }
}
