//! Which events of its kind a hook is for. A dialect says by its own rules whether its text is a
//! list of names or a pattern; compiled once, when the hook is built.

use regex_lite::Regex;
use serde::{Deserialize, Serialize};

use crate::complaint::Quoted;

/// A matcher as it was written and understood.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum MatcherText {
    /// Everything.
    #[default]
    All,
    /// Exactly these names.
    Names(Vec<String>),
    /// A regular expression, unanchored.
    Pattern(Quoted),
}

/// A matcher that can be asked.
#[derive(Debug, Clone)]
pub enum Matcher {
    /// Everything.
    All,
    /// Exactly these names.
    Names(Vec<String>),
    /// A regular expression, unanchored.
    Pattern(Regex),
    /// One that looks around, as JavaScript's can; its work is bounded.
    LooksAround(Box<fancy_regex::Regex>),
}

impl Matcher {
    /// Compiles what was written. The error is the regex engine's text.
    pub fn compile(text: &MatcherText) -> Result<Self, String> {
        Ok(match text {
            MatcherText::All => Self::All,
            MatcherText::Names(names) => Self::Names(names.clone()),
            MatcherText::Pattern(pattern) => match Regex::new(&pattern.text) {
                Ok(regex) => Self::Pattern(regex),
                Err(plain) => fancy_regex::RegexBuilder::new(&pattern.text)
                    .backtrack_limit(100_000)
                    .build()
                    .map(|regex| Self::LooksAround(Box::new(regex)))
                    .map_err(|_| plain.to_string())?,
            },
        })
    }

    /// Whether one of the subject's names is meant.
    pub fn matches<'a>(&self, mut subjects: impl Iterator<Item = &'a str>) -> bool {
        match self {
            Self::All => true,
            Self::Names(names) => subjects.any(|s| names.iter().any(|n| n == s)),
            Self::Pattern(regex) => subjects.any(|s| regex.is_match(s)),
            // A search that was given up counts as met: a guard fires more often, never less.
            Self::LooksAround(regex) => subjects.any(|s| regex.is_match(s).unwrap_or(true)),
        }
    }

    /// Whether it takes everything, subject or none.
    pub fn takes_all(&self) -> bool {
        matches!(self, Self::All)
    }
}

impl MatcherText {
    /// As it was written, for lists and explanations.
    pub fn words(&self) -> Option<String> {
        match self {
            Self::All => None,
            Self::Names(names) => Some(names.join("|")),
            Self::Pattern(pattern) => Some(pattern.text.clone()),
        }
    }
}
