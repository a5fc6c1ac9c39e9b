//! Text of a condition to tokens. Everything that people write by habit from a shell or another
//! language and that means nothing here is refused with the word to use instead.

use super::ConditionError;
use super::number::Number;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) at: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Variable(String),
    Number(Number),
    Text(Vec<Part>),
    Truth(bool),
    Sign(&'static str),
}

/// A piece of a quoted string: people write `"${STAGE}" == 'plan'` out of shell habit.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Plain(String),
    Variable(String),
}

impl Kind {
    pub(super) fn names(&self) -> Vec<&String> {
        match self {
            Self::Variable(name) => vec![name],
            Self::Text(parts) => parts.iter().filter_map(Part::name).collect(),
            Self::Number(_) | Self::Truth(_) | Self::Sign(_) => Vec::new(),
        }
    }
}

impl Part {
    fn name(&self) -> Option<&String> {
        match self {
            Self::Variable(name) => Some(name),
            Self::Plain(_) => None,
        }
    }
}

// Longest first. A wrong sign carries its cure.
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

pub(super) fn lex(text: &str) -> Result<Vec<Token>, ConditionError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        if next.is_whitespace() {
            at += next.len_utf8();
            continue;
        }
        let (kind, end) = match next {
            '$' => variable(text, at)?,
            '\'' | '"' => quoted(text, at, next)?,
            c if c.is_alphanumeric() || c == '_' => word(text, at)?,
            c => sign(text, at, c)?,
        };
        tokens.push(Token { kind, at });
        at = end;
    }
    Ok(tokens)
}

pub(super) fn error(offset: usize, message: String, help: Option<String>) -> ConditionError {
    ConditionError { offset, message, help }
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && text.bytes().next().is_some_and(|b| !b.is_ascii_digit())
}

fn variable(text: &str, at: usize) -> Result<(Kind, usize), ConditionError> {
    let (name, end) = name_in_braces(text, at)?;
    Ok((Kind::Variable(name), end))
}

fn name_in_braces(text: &str, at: usize) -> Result<(String, usize), ConditionError> {
    let rest = &text[at + 1..];
    let Some(inner) = rest.strip_prefix('{') else {
        let name: String = rest.chars().take_while(|c| is_word(*c) && *c != '-').collect();
        let help =
            if is_name(&name) { format!("write ${{{name}}}") } else { "write ${NAME}".into() };
        return Err(error(at, "a variable needs braces".into(), Some(help)));
    };
    let Some(length) = inner.find('}') else {
        return Err(error(at, "this ${ is never closed".into(), Some("add the missing }".into())));
    };
    let name = &inner[..length];
    if is_name(name) {
        return Ok((name.to_owned(), at + 2 + length + 1));
    }
    let plain: String =
        name.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    let help = is_name(&plain).then(|| format!("write ${{{plain}}}"));
    Err(error(at, "only a plain name may stand in ${…}".into(), help))
}

fn quoted(text: &str, at: usize, quote: char) -> Result<(Kind, usize), ConditionError> {
    let body = &text[at + 1..];
    let Some(length) = body.find(quote) else {
        let help = format!("add the missing {quote}");
        return Err(error(at, "this quote is never closed".into(), Some(help)));
    };
    let end = at + 1 + length;
    let mut parts = Vec::new();
    let mut from = at + 1;
    while let Some(found) = text[from..end].find("${") {
        let start = from + found;
        let (name, after) = name_in_braces(&text[..end], start)?;
        if start > from {
            parts.push(Part::Plain(text[from..start].to_owned()));
        }
        parts.push(Part::Variable(name));
        from = after;
    }
    if from < end {
        parts.push(Part::Plain(text[from..end].to_owned()));
    }
    Ok((Kind::Text(parts), end + 1))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':')
}

fn word(text: &str, at: usize) -> Result<(Kind, usize), ConditionError> {
    let rest = &text[at..];
    if rest.starts_with(|c: char| c.is_ascii_digit()) {
        return number(text, at);
    }
    let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    let found = &rest[..length];
    let end = at + length;
    match found {
        "true" => Ok((Kind::Truth(true), end)),
        "false" => Ok((Kind::Truth(false), end)),
        _ => Err(error(at, format!("`{found}` stands here without quotes"), Some(cure(found)))),
    }
}

fn cure(word: &str) -> String {
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
    if is_name(word) && !word.contains(|c: char| c.is_ascii_lowercase()) {
        return format!("write ${{{word}}} for the variable, or quote it: '{word}'");
    }
    format!("quote it: '{word}'")
}

fn number(text: &str, at: usize) -> Result<(Kind, usize), ConditionError> {
    let rest = &text[at..];
    let length = rest.find(|c: char| !is_word(c) || c == '-').unwrap_or(rest.len());
    let found = &rest[..length];
    if let Some(number) = Number::read(found) {
        return Ok((Kind::Number(number), at + length));
    }
    if found.bytes().all(|b| b.is_ascii_digit() || b == b'.') && found.len() > 30 {
        return Err(error(at, "this number is too large".into(), None));
    }
    let help = format!("quote it if it is text: '{found}'");
    Err(error(at, format!("`{found}` is not a number"), Some(help)))
}

fn sign(text: &str, at: usize, found: char) -> Result<(Kind, usize), ConditionError> {
    let rest = &text[at..];
    match SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
        Some((sign, None)) => Ok((Kind::Sign(sign), at + sign.len())),
        Some((sign, Some(help))) => {
            Err(error(at, format!("`{sign}` means nothing here"), Some((*help).to_owned())))
        }
        None => {
            let shown = found.escape_debug();
            Err(error(at, format!("`{shown}` means nothing here"), None))
        }
    }
}
