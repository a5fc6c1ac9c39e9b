//! Checks identifiers and file names for banned words.

use super::source::SourceFile;

/// Rejected as a whole identifier and as one word of it.
const BANNED: &[&str] = &[
    "desk",
    "berth",
    "seat",
    "slip",
    "errand",
    "veil",
    "bell",
    "tower",
    "ear",
    "told",
    "settle",
    "settled",
    "strayed",
    "bystander",
    "bystanders",
    "keeper",
    "papers",
    "parting",
    "farewell",
    "kin",
    "rang",
    "owe",
    "owed",
    "debt",
    "debts",
    "paid",
    "heed",
    "heeds",
    "heard",
    "said",
    "meant",
    "unheard",
    "linger",
    "patience",
    "holding",
    "standing",
    "shelf",
    "letter",
    "room",
    "hall",
    "rim",
    "house",
    "deed",
    "smell",
    "guesses",
    "parcel",
    "sight",
    "foreseen",
    "unasked",
];

/// Names of other crates.
const FOREIGN: &[&str] = &["TowerToHyperService"];

pub fn check(file: &SourceFile) -> Vec<String> {
    let mut violations = Vec::new();
    for ident in file.identifiers() {
        let name = ident.to_string();
        if FOREIGN.contains(&name.as_str()) {
            continue;
        }
        if let Some(word) =
            split_words(&name).into_iter().find(|word| BANNED.contains(&word.as_str()))
        {
            let message = format!("`{name}` has the banned word `{word}`");
            violations.push(file.format_violation(ident.span(), &message));
        }
    }
    let stem = file.stem().to_owned();
    if let Some(word) = split_words(&stem).into_iter().find(|word| BANNED.contains(&word.as_str()))
    {
        violations.push(format!("{}: the file name has the banned word `{word}`", file.path));
    }
    violations
}

/// The words of a snake_case, CamelCase or SCREAMING_CASE identifier, in lower case.
pub fn split_words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for c in name.trim_start_matches("r#").chars() {
        if c == '_' || (c.is_uppercase() && after_lower) {
            words.push(String::new());
        }
        after_lower = c.is_lowercase() || c.is_ascii_digit();
        if c != '_' {
            words.last_mut().into_iter().for_each(|word| word.extend(c.to_lowercase()));
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::{check, split_words};
    use crate::tidy::source::SourceFile;

    #[test]
    fn splits_identifiers_into_words() {
        assert_eq!(split_words("mark_delivered"), ["mark", "delivered"]);
        assert_eq!(split_words("HookFormat"), ["hook", "format"]);
        assert_eq!(split_words("MAX_LINE_BYTES"), ["max", "line", "bytes"]);
        assert_eq!(split_words("r#type"), ["type"]);
    }

    #[test]
    fn finds_banned_words_also_inside_macros() -> syn::Result<()> {
        let text =
            "fn hear(x: u8) { format!(\"{}\", told_twice); }\nstruct FrontDesk;\nfn early() {}";
        let found = check(&SourceFile::parse("crates/x/src/a.rs", text)?);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].contains("a.rs:1:32: `told_twice` has the banned word `told`"),
            "{found:?}"
        );
        let found = check(&SourceFile::parse("crates/x/src/desk.rs", "")?);
        assert_eq!(found, ["crates/x/src/desk.rs: the file name has the banned word `desk`"]);
        Ok(())
    }
}
