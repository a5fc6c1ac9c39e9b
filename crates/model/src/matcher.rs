//! Which events of its kind a hook is for. A dialect says by its own rules whether its text is a
//! list of names or a pattern; compiled once, when the hook is built.

use serde::{Deserialize, Serialize};

use crate::complaint::Quoted;
use crate::pattern::Pattern;

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
    Pattern(Pattern),
}

impl Matcher {
    /// Compiles what was written. The error is the regex engine's text.
    pub fn compile(text: &MatcherText) -> Result<Self, String> {
        Ok(match text {
            MatcherText::All => Self::All,
            MatcherText::Names(names) => Self::Names(names.clone()),
            MatcherText::Pattern(pattern) => Self::Pattern(Pattern::compile(&pattern.text)?),
        })
    }

    /// Whether one of the subject's names is meant.
    pub fn matches<'a>(&self, mut subjects: impl Iterator<Item = &'a str>) -> bool {
        match self {
            Self::All => true,
            Self::Names(names) => subjects.any(|s| names.iter().any(|n| n == s)),
            Self::Pattern(pattern) => subjects.any(|s| pattern.is_match(s)),
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
