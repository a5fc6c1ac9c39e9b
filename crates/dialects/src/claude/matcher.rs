//! Parses the text of a matcher: everything, a list of exact names, or a pattern.

use std::sync::Arc;

use gambrel_model::{Complaint, EventSpec, MatcherText, SpannedText, Subject};

use super::ecmascript::{RegexSyntaxError, translate_regex};
use super::events::event_row;
use super::tools::ALIASES;

/// Parses the matcher of an event. `written` gives the text with its place, which few need.
pub fn parse_matcher(
    row: &EventSpec,
    text: &str,
    written: &dyn Fn() -> SpannedText,
) -> Result<MatcherText, RegexSyntaxError> {
    if text.is_empty() || text == "*" {
        return Ok(MatcherText::All);
    }
    let narrow = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'|');
    let wide = |byte: u8| narrow(byte) || matches!(byte, b' ' | b',' | b'-');
    let is_list = match event_row(row).has_narrow_names {
        true => text.bytes().all(narrow),
        false => text.bytes().all(wide),
    };
    let tools = row.subject == Subject::Tool;
    if is_list {
        return Ok(MatcherText::Names(split_names(text, tools)));
    }
    let spelled = translate_regex(text)?;
    let spelled = if tools { with_aliases(spelled) } else { spelled };
    Ok(MatcherText::Pattern(SpannedText { text: spelled, ..written() }))
}

fn split_names(text: &str, tools: bool) -> Arc<[String]> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    // Most matchers are one name.
    if text.bytes().all(is_plain) && !ALIASES.iter().any(|(name, _)| tools && *name == text) {
        return Arc::new([text.to_owned()]);
    }
    let written = text.split(['|', ',']).map(str::trim).filter(|name| !name.is_empty());
    let mut names: Vec<String> = written.map(str::to_owned).collect();
    for (name, alias) in ALIASES.iter().filter(|_| tools) {
        let has = |wanted: &str| names.iter().any(|known| known == wanted);
        if has(name) && !has(alias) {
            names.push((*alias).to_owned());
        }
    }
    names.into()
}

/// Extends a pattern with one of two names for the same tool, so that it matches both.
fn with_aliases(text: String) -> String {
    let others = ALIASES.iter().map(|(name, alias)| replace_words(&text, name, alias));
    let others: Vec<String> = others.filter(|other| *other != text).collect();
    others.into_iter().fold(text, |text, other| format!("{text}|{other}"))
}

/// Replaces whole words only.
fn replace_words(text: &str, word: &str, other: &str) -> String {
    let part_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let inside = before.ends_with(part_of_word) || after.starts_with(part_of_word);
        out.push_str(before);
        out.push_str(if inside { word } else { other });
        rest = after;
    }
    out + rest
}

/// Warns of a valid matcher that never matches, or that has no effect.
pub fn warn_doubtful(
    row: &EventSpec,
    parsed: &MatcherText,
    written: &dyn Fn() -> SpannedText,
) -> Option<Complaint> {
    let warn = |message: String| Complaint::warning(written().spot, message);
    match parsed {
        MatcherText::All | MatcherText::Invalid(_) => None,
        _ if row.subject == Subject::None => {
            let message = match row.name {
                "" => "an unknown event has nothing to match: its hooks always run".into(),
                name => format!("{name} has nothing to match: its hooks always run"),
            };
            Some(warn(message).with_help("leave the matcher out"))
        }
        MatcherText::Names(names) if names.is_empty() => {
            Some(warn("this matcher names nothing, so its hooks never run".into()))
        }
        MatcherText::Names(names) => {
            let server = |name: &&String| {
                name.strip_prefix("mcp__").is_some_and(|rest| !rest.contains("__"))
            };
            let server = names.iter().find(server).filter(|_| row.subject == Subject::Tool)?;
            let message = format!("`{server}` is a server, not a tool, so it matches nothing");
            Some(warn(message).with_help(format!("write `{server}__.*` for all of its tools")))
        }
        MatcherText::Pattern(_) => None,
    }
}
