//! The `when` of a hook: a small expression over facts, parsed once and judged at the hook's turn.
//! It knows no event and no dialect; facts come through a lookup, and a fact is only ever data.

mod eval;
mod lex;
mod number;
mod parse;

use parse::Expr;

/// The longest condition that is read, in bytes.
pub const MAX_LENGTH: usize = 64 * 1024;

/// A condition that can be judged any number of times.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    text: String,
    root: Expr,
    variables: Vec<String>,
}

/// Why a text is no condition, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConditionError {
    /// Byte offset in the text where the trouble begins.
    pub offset: usize,
    /// What is wrong.
    pub message: String,
    /// What to write instead, where that can be guessed.
    pub help: Option<String>,
}

/// Why a sound condition could not be judged with these facts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EvalError {
    /// What went wrong, naming the variable where there is one.
    pub message: String,
}

/// What a lookup knows about a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The fact has this value.
    Is(String),
    /// The fact exists and is empty.
    Unset,
    /// The caller has no such fact.
    Absent,
}

/// What a condition comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It holds.
    Yes,
    /// It does not hold.
    No,
    /// It hangs on this fact, which the caller does not have.
    Unknown(String),
}

impl Condition {
    /// Reads a condition; a mistake is named with its place and, where possible, its cure.
    pub fn parse(text: &str) -> Result<Self, ConditionError> {
        if text.len() > MAX_LENGTH {
            let message = format!("the condition is longer than {MAX_LENGTH} bytes");
            return Err(ConditionError { offset: MAX_LENGTH, message, help: None });
        }
        let tokens = lex::tokenize_condition(text)?;
        let mut variables = Vec::new();
        for name in tokens.iter().flat_map(|token| token.kind.variable_names()) {
            if !variables.contains(name) {
                variables.push(name.clone());
            }
        }
        let root = parse::parse_tokens(tokens, text.len())?;
        Ok(Self { text: text.to_owned(), root, variables })
    }

    /// Judges the condition; `lookup` is asked only for names that matter to the answer.
    pub fn eval(&self, lookup: &dyn Fn(&str) -> Fact) -> Result<Truth, EvalError> {
        eval::evaluate_truth(&self.root, lookup)
    }

    /// The condition as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names that the condition mentions, each once, in order of appearance.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(String::as_str)
    }
}
