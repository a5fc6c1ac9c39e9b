//! Which events of its kind a hook is for. A dialect says by its own rules whether its text is a
//! list of names or a pattern; compiled once, when it is first asked.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::complaint::SpannedText;
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
    Pattern(SpannedText),
}

/// A matcher that can be asked.
#[derive(Debug, Clone)]
pub enum Matcher {
    /// Everything.
    All,
    /// Exactly these names.
    Names(Vec<String>),
    /// A regular expression, unanchored.
    Pattern(LazyPattern),
}

/// A regular expression that is compiled when it is first asked: what a project brings along costs
/// nothing before its hooks may run.
#[derive(Debug, Clone)]
pub struct LazyPattern {
    text: String,
    compiled: OnceLock<Result<Pattern, String>>,
}

impl LazyPattern {
    fn compiled_pattern(&self) -> Result<&Pattern, &str> {
        let compiled = self.compiled.get_or_init(|| Pattern::compile(&self.text));
        compiled.as_ref().map_err(String::as_str)
    }
}

impl From<&MatcherText> for Matcher {
    fn from(text: &MatcherText) -> Self {
        match text {
            MatcherText::All => Self::All,
            MatcherText::Names(names) => Self::Names(names.clone()),
            MatcherText::Pattern(pattern) => {
                Self::Pattern(LazyPattern { text: pattern.text.clone(), compiled: OnceLock::new() })
            }
        }
    }
}

impl Matcher {
    /// Whether one of the subject's names is meant. A pattern that is not valid takes everything:
    /// its hook is then skipped with that reason, and never passed over.
    pub fn matches<'a>(&self, mut subjects: impl Iterator<Item = &'a str>) -> bool {
        match self {
            Self::All => true,
            Self::Names(names) => subjects.any(|s| names.iter().any(|n| n == s)),
            Self::Pattern(pattern) => match pattern.compiled_pattern() {
                Ok(pattern) => subjects.any(|s| pattern.is_match(s)),
                Err(_) => true,
            },
        }
    }

    /// Whether asking it needs no more work than a comparison.
    pub fn is_compiled(&self) -> bool {
        match self {
            Self::All | Self::Names(_) => true,
            Self::Pattern(pattern) => pattern.compiled.get().is_some(),
        }
    }

    /// What is wrong with its pattern, in the regex engine's words.
    pub fn pattern_error(&self) -> Option<&str> {
        match self {
            Self::All | Self::Names(_) => None,
            Self::Pattern(pattern) => pattern.compiled_pattern().err(),
        }
    }

    /// Whether it takes everything, subject or none.
    pub fn matches_all(&self) -> bool {
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
