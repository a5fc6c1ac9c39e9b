//! Selects the events that a hook receives. The dialect decides whether the text is a list of names
//! or a pattern. A pattern is compiled at its first use.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::complaint::SpannedText;
use crate::pattern::{Pattern, PatternError};

/// Stands between the names of a matcher in its text.
pub(crate) const NAME_SEPARATOR: &str = "|";

/// A matcher as written in a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum MatcherText {
    /// Everything.
    #[default]
    All,
    /// Exactly these names.
    Names(Arc<[String]>),
    /// A regular expression, unanchored.
    Pattern(SpannedText),
    /// A text that is no matcher. It matches everything, and its hook is disabled.
    Invalid(String),
}

/// A matcher that is ready to use.
#[derive(Debug, Clone)]
pub enum Matcher {
    /// Everything.
    All,
    /// Exactly these names.
    Names(Arc<[String]>),
    /// A regular expression, unanchored.
    Pattern(LazyPattern),
}

/// A regular expression that is compiled at its first use, so that patterns of untrusted hooks cost
/// nothing.
#[derive(Debug, Clone)]
pub struct LazyPattern {
    text: String,
    compiled: OnceLock<Result<Pattern, PatternError>>,
}

impl LazyPattern {
    fn compiled_pattern(&self) -> Result<&Pattern, &PatternError> {
        self.compiled.get_or_init(|| Pattern::compile(&self.text)).as_ref()
    }
}

impl From<&MatcherText> for Matcher {
    fn from(text: &MatcherText) -> Self {
        match text {
            MatcherText::All | MatcherText::Invalid(_) => Self::All,
            MatcherText::Names(names) => Self::Names(Arc::clone(names)),
            MatcherText::Pattern(pattern) => {
                Self::Pattern(LazyPattern { text: pattern.text.clone(), compiled: OnceLock::new() })
            }
        }
    }
}

impl Matcher {
    /// Whether one of the names matches. An invalid pattern matches everything; the hook is then
    /// skipped with that reason and stays in the trail.
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

    /// Whether a match needs no compilation.
    pub fn is_compiled(&self) -> bool {
        match self {
            Self::All | Self::Names(_) => true,
            Self::Pattern(pattern) => pattern.compiled.get().is_some(),
        }
    }

    /// The regex engine's message about an invalid pattern.
    pub fn pattern_error(&self) -> Option<&PatternError> {
        match self {
            Self::All | Self::Names(_) => None,
            Self::Pattern(pattern) => pattern.compiled_pattern().err(),
        }
    }

    /// Whether it matches every event, also one without a subject.
    pub fn matches_all(&self) -> bool {
        matches!(self, Self::All)
    }
}

impl MatcherText {
    /// As it was written, for lists and explanations.
    pub fn to_text(&self) -> Option<String> {
        match self {
            Self::All => None,
            Self::Names(names) => Some(names.join(NAME_SEPARATOR)),
            Self::Pattern(pattern) => Some(pattern.text.clone()),
            Self::Invalid(text) => Some(text.clone()),
        }
    }
}
