//! Splits a condition into tokens. Operators of the shell and of other languages are refused with
//! the right one.

use super::ConditionError;
use super::number::Number;
use crate::text::is_variable_name;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ConditionToken {
    pub(super) kind: TokenKind,
    pub(super) at: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    Variable(String),
    Number(Number),
    Text(Vec<TokenPart>),
    Truth(bool),
    Sign(&'static str),
}

/// A part of a quoted string, such as `"${STAGE}"`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenPart {
    Plain(String),
    Variable(String),
}

impl TokenKind {
    pub(super) fn variable_names(&self) -> Vec<&String> {
        match self {
            Self::Variable(name) => vec![name],
            Self::Text(parts) => parts.iter().filter_map(TokenPart::variable_name).collect(),
            Self::Number(_) | Self::Truth(_) | Self::Sign(_) => Vec::new(),
        }
    }
}

impl TokenPart {
    fn variable_name(&self) -> Option<&String> {
        match self {
            Self::Variable(name) => Some(name),
            Self::Plain(_) => None,
        }
    }
}

// Longest first. A wrong operator has its replacement.
const SIGNS: &[(&str, Option<&str>)] = &[
    ("===", Some("use ==")),
    ("!==", Some("use !=")),
    ("==", None),
    ("!=", None),
    ("<=", None),
    (">=", None),
    ("=~", Some("patterns are not known here; compare with ==")),
    ("=>", Some("use >=")),
    ("=<", Some("use <=")),
    ("<>", Some("use !=")),
    ("&&", None),
    ("||", None),
    ("{{", Some("write ${NAME}")),
    ("**", Some("there are no powers here; write * twice over")),
    ("=", Some("use ==")),
    ("&", Some("use &&")),
    ("|", Some("use ||")),
    ("<", None),
    (">", None),
    ("%", None),
    ("+", None),
    ("-", None),
    ("*", None),
    ("/", None),
    ("!", None),
    ("(", None),
    (")", None),
    ("[", Some("use ( and )")),
    ("]", Some("use ( and )")),
    ("`", Some("commands are not run here; quote text with '…'")),
    ("“", Some("use plain quotes: '…'")),
    ("”", Some("use plain quotes: '…'")),
    ("‘", Some("use plain quotes: '…'")),
    ("’", Some("use plain quotes: '…'")),
];

pub(super) fn tokenize_condition(text: &str) -> Result<Vec<ConditionToken>, ConditionError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        if next.is_whitespace() {
            at += next.len_utf8();
            continue;
        }
        let (kind, end) = match next {
            '$' => read_variable(text, at)?,
            '\'' | '"' => read_quoted(text, at, next)?,
            c if c.is_alphanumeric() || c == '_' => read_word(text, at)?,
            c => read_sign(text, at, c)?,
        };
        tokens.push(ConditionToken { kind, at });
        at = end;
    }
    Ok(tokens)
}

pub(super) fn condition_error(
    offset: usize,
    message: String,
    help: Option<String>,
) -> ConditionError {
    ConditionError { offset, message, help }
}

fn read_variable(text: &str, at: usize) -> Result<(TokenKind, usize), ConditionError> {
    let (name, end) = name_in_braces(text, at)?;
    Ok((TokenKind::Variable(name), end))
}

fn name_in_braces(text: &str, at: usize) -> Result<(String, usize), ConditionError> {
    let rest = &text[at + 1..];
    let Some(inner) = rest.strip_prefix('{') else {
        let name: String = rest.chars().take_while(|c| is_word(*c) && *c != '-').collect();
        let help = if is_variable_name(&name) {
            format!("write ${{{name}}}")
        } else {
            "write ${NAME}".into()
        };
        return Err(condition_error(at, "a variable needs braces".into(), Some(help)));
    };
    let Some(length) = inner.find('}') else {
        return Err(condition_error(
            at,
            "this ${ is never closed".into(),
            Some("add the missing }".into()),
        ));
    };
    let name = &inner[..length];
    if is_variable_name(name) {
        return Ok((name.to_owned(), at + 2 + length + 1));
    }
    let plain: String =
        name.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    let help = is_variable_name(&plain).then(|| format!("write ${{{plain}}}"));
    Err(condition_error(at, "only a plain name may stand in ${…}".into(), help))
}

fn read_quoted(text: &str, at: usize, quote: char) -> Result<(TokenKind, usize), ConditionError> {
    let body = &text[at + 1..];
    let Some(length) = body.find(quote) else {
        let help = format!("add the missing {quote}");
        return Err(condition_error(at, "this quote is never closed".into(), Some(help)));
    };
    let end = at + 1 + length;
    let mut parts = Vec::new();
    let mut from = at + 1;
    while let Some(found) = text[from..end].find("${") {
        let start = from + found;
        let (name, after) = name_in_braces(&text[..end], start)?;
        if start > from {
            parts.push(TokenPart::Plain(text[from..start].to_owned()));
        }
        parts.push(TokenPart::Variable(name));
        from = after;
    }
    if from < end {
        parts.push(TokenPart::Plain(text[from..end].to_owned()));
    }
    Ok((TokenKind::Text(parts), end + 1))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':')
}

fn read_word(text: &str, at: usize) -> Result<(TokenKind, usize), ConditionError> {
    let rest = &text[at..];
    if rest.starts_with(|c: char| c.is_ascii_digit()) {
        return read_number(text, at);
    }
    let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    let found = &rest[..length];
    let end = at + length;
    match found {
        "true" => Ok((TokenKind::Truth(true), end)),
        "false" => Ok((TokenKind::Truth(false), end)),
        _ => Err(condition_error(
            at,
            format!("`{found}` stands here without quotes"),
            Some(suggest_fix(found)),
        )),
    }
}

fn suggest_fix(word: &str) -> String {
    let sign = match word.to_lowercase().as_str() {
        "and" => "use &&",
        "or" => "use ||",
        "not" => "use !",
        "is" | "eq" | "equals" => "use ==",
        "ne" => "use !=",
        "lt" => "use <",
        "le" => "use <=",
        "gt" => "use >",
        "ge" => "use >=",
        "mod" => "use %",
        "true" => "write true",
        "false" => "write false",
        _ => "",
    };
    if !sign.is_empty() {
        return sign.to_owned();
    }
    if is_variable_name(word) && !word.contains(|c: char| c.is_ascii_lowercase()) {
        return format!("write ${{{word}}} for the variable, or quote it: '{word}'");
    }
    format!("quote it: '{word}'")
}

fn read_number(text: &str, at: usize) -> Result<(TokenKind, usize), ConditionError> {
    let rest = &text[at..];
    let length = rest.find(|c: char| !is_word(c) || c == '-').unwrap_or(rest.len());
    let found = &rest[..length];
    if let Some(number) = Number::parse_decimal(found) {
        return Ok((TokenKind::Number(number), at + length));
    }
    if found.bytes().all(|b| b.is_ascii_digit() || b == b'.') && found.len() > 30 {
        return Err(condition_error(at, "this number is too large".into(), None));
    }
    let help = format!("quote it if it is text: '{found}'");
    Err(condition_error(at, format!("`{found}` is not a number"), Some(help)))
}

fn read_sign(text: &str, at: usize, found: char) -> Result<(TokenKind, usize), ConditionError> {
    let rest = &text[at..];
    match SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
        Some((sign, None)) => Ok((TokenKind::Sign(sign), at + sign.len())),
        Some((sign, Some(help))) => Err(condition_error(
            at,
            format!("`{sign}` means nothing here"),
            Some((*help).to_owned()),
        )),
        None => {
            let shown = found.escape_debug();
            Err(condition_error(at, format!("`{shown}` means nothing here"), None))
        }
    }
}
