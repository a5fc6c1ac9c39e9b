//! Compares printed text with the text of a document. In the document `[..]` stands for any text
//! inside a line, and a line `...` for any number of lines.

/// Whether the printed text has the form that the document shows.
pub fn is_match(shown: &str, printed: &str) -> bool {
    let shown: Vec<&str> = shown.lines().collect();
    // Blanks at the end of a line are invisible in a document.
    let printed: Vec<&str> = printed.trim_end().lines().map(str::trim_end).collect();
    match_lines(&shown, &printed)
}

fn match_lines(shown: &[&str], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((&"...", rest)) => (0..=printed.len()).any(|at| match_lines(rest, &printed[at..])),
        Some((line, rest)) => {
            let (first, others) = match printed.split_first() {
                Some(split) => split,
                None => return false,
            };
            match_line(line, first) && match_lines(rest, others)
        }
    }
}

fn match_line(shown: &str, printed: &str) -> bool {
    let Some((before, rest)) = shown.split_once("[..]") else { return shown == printed };
    let Some(mut printed) = printed.strip_prefix(before) else { return false };
    loop {
        if match_line(rest, printed) {
            return true;
        }
        let Some(next) = printed.chars().next() else { return false };
        printed = &printed[next.len_utf8()..];
    }
}

#[test]
fn matches_lines_and_parts_of_lines() {
    for (shown, printed, expected) in [
        ("a\nb\n", "a  \nb\n\n", true),
        ("a\n", "a\nb\n", false),
        ("a\nb\n", "a\n", false),
        ("a [..] c [..]\n", "a b c d\n", true),
        ("a [..] c\n", "a b c d\n", false),
        ("id [..]-[..] é\n", "id 1-2 é", true),
        ("...\nlast\n", "x\ny\nlast\n", true),
        ("...\nlast\n", "last\n", true),
        ("...\nlast\n", "last\nmore\n", false),
        ("first\n...\n", "first\n", true),
        ("...\n", "", true),
        ("", "", true),
        ("", "x\n", false),
    ] {
        assert_eq!(is_match(shown, printed), expected, "{shown:?} {printed:?}");
    }
}
