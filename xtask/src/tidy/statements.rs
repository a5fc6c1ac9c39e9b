//! Splits the README into statements: its sentences, and the rows of its tables. Code, comments and
//! headings are none. Knows nothing of claims.

/// The section that only links to other documents.
const LINK_SECTION: &str = "Documentation";

/// The statements of a Markdown text, in order, each on one line.
pub fn read_statements(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let (mut is_code, mut is_skipped, mut continues) = (false, false, false);
    for line in text.lines().map(str::trim) {
        if line.starts_with("```") {
            is_code = !is_code;
            continues = false;
        } else if is_code || line.is_empty() || line.starts_with("<!--") {
            continues = false;
        } else if line.starts_with('#') {
            is_skipped = line.trim_start_matches(['#', ' ']) == LINK_SECTION;
            continues = false;
        } else if line.starts_with("|---") {
            // The row before it is the head of a table.
            parts.pop();
        } else if !is_skipped {
            match parts.last_mut().filter(|_| continues && !starts_part(line)) {
                Some(part) => *part += &format!(" {line}"),
                None => parts.push(line.to_owned()),
            }
            continues = true;
        }
    }
    parts.iter().flat_map(|part| split_sentences(part)).collect()
}

/// Whether a line begins a bullet, a numbered step or a row.
fn starts_part(line: &str) -> bool {
    let step = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with("- ") || line.starts_with('|') || (step != line && step.starts_with(". "))
}

fn split_sentences(part: &str) -> Vec<String> {
    if part.starts_with('|') {
        return vec![part.to_owned()];
    }
    let part = part.trim_start_matches(|c: char| c.is_ascii_digit());
    let part = part.trim_start_matches(['-', '.', ' ']);
    let sentences = part.split_inclusive(". ").map(|sentence| sentence.trim().to_owned());
    sentences.filter(|sentence| !sentence.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::read_statements;

    #[test]
    fn finds_sentences_and_rows() {
        let text = "# x\n\nIt works\nwell. It is new.\n\n- **Fast.** It\n  flies.\n- Small\n\n\
                    1. Do a. Then b:\n   <!-- model: ls -->\n   ```sh\n   ls. a\n   ```\n2. Stop\n\n\
                    | a | b |\n|---|---|\n| it. runs | c |\n| it | d |\n\n## Documentation\n\n\
                    - [a](b)\n\n## Status\n\nDone.\n";
        let expected = [
            "It works well.",
            "It is new.",
            "**Fast.** It flies.",
            "Small",
            "Do a.",
            "Then b:",
            "Stop",
            "| it. runs | c |",
            "| it | d |",
            "Done.",
        ];
        assert_eq!(read_statements(text), expected);
    }
}
