//! A regular expression: linear time where possible, bounded backtracking where the pattern needs
//! lookaround.

use regex_lite::{Regex, RegexBuilder};

/// Maximum memory of a compiled pattern; usual patterns need a small part of it.
const MAX_PROGRAM_BYTES: usize = 256 * 1024;

/// A longer pattern that needs lookaround is refused: each of its parts is compiled by itself, and
/// the limit above holds for one part.
const MAX_LOOKAROUND_PATTERN_BYTES: usize = 1024;

/// A compiled pattern.
#[derive(Debug, Clone)]
pub enum Pattern {
    /// Unanchored, in linear time.
    Plain(Regex),
    /// A pattern with lookaround; its work is bounded.
    LooksAround(Box<fancy_regex::Regex>),
}

/// Why a text is not a pattern, in the words of the regex engine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PatternError(String);

impl PatternError {
    /// The last line of the message, which says what is wrong.
    pub fn last_line(&self) -> &str {
        self.0.lines().last().unwrap_or(&self.0)
    }
}

impl Pattern {
    /// Compiles a text.
    pub fn compile(text: &str) -> Result<Self, PatternError> {
        let plain = RegexBuilder::new(text).size_limit(MAX_PROGRAM_BYTES).build();
        plain.map(Self::Plain).or_else(|plain| {
            if text.len() > MAX_LOOKAROUND_PATTERN_BYTES {
                return Err(PatternError(plain.to_string()));
            }
            fancy_regex::RegexBuilder::new(text)
                .backtrack_limit(100_000)
                .delegate_size_limit(MAX_PROGRAM_BYTES)
                .delegate_dfa_size_limit(MAX_PROGRAM_BYTES)
                .build()
                .map(|regex| Self::LooksAround(Box::new(regex)))
                .map_err(|_| PatternError(plain.to_string()))
        })
    }

    /// Whether the text has a match. A search that exceeds its bound counts as a match, so that a
    /// guard fires more often, never less.
    pub fn is_match(&self, text: &str) -> bool {
        match self {
            Self::Plain(regex) => regex.is_match(text),
            Self::LooksAround(regex) => regex.is_match(text).unwrap_or(true),
        }
    }

    /// The first match; `None` when the search exceeds its bound.
    pub fn find_match<'t>(&self, text: &'t str) -> Option<&'t str> {
        match self {
            Self::Plain(regex) => regex.find(text).map(|found| found.as_str()),
            Self::LooksAround(regex) => match regex.find(text) {
                Ok(found) => found.map(|found| found.as_str()),
                Err(_) => Some(""),
            },
        }
    }

    /// The text with every match replaced by exactly `with`.
    pub fn replace_all(&self, text: &str, with: &str) -> String {
        match self {
            Self::Plain(regex) => regex.replace_all(text, regex_lite::NoExpand(with)).into_owned(),
            // If the search exceeds its bound, the whole text is replaced.
            Self::LooksAround(regex) => regex
                .try_replacen(text, 0, fancy_regex::NoExpand(with))
                .map_or_else(|_| with.to_owned(), |clean| clean.into_owned()),
        }
    }
}
