//! The `when:` of a hook: an expression over facts, parsed once and evaluated just before the hook
//! runs. Facts come through a lookup function and are data. It must not know events or dialects.

mod evaluate;
mod lex;
mod number;
mod parse;

use parse::Expr;

/// Maximum length of a condition.
pub const MAX_LENGTH: usize = 64 * 1024;

/// A parsed condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    text: String,
    root: Expr,
    variables: Vec<String>,
}

/// A syntax error in a condition, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConditionError {
    /// Byte offset of the error in the text.
    pub offset: usize,
    /// What is wrong.
    pub message: String,
    /// What to write instead, if known.
    pub help: Option<String>,
}

/// A condition that cannot be evaluated with these facts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EvalError {
    /// The message, with the variable's name if there is one.
    pub message: String,
}

/// The result of a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The fact has this value.
    Is(String),
    /// The fact exists and is empty.
    Unset,
    /// The caller has no such fact.
    Absent,
}

/// The value of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It holds.
    Yes,
    /// It does not hold.
    No,
    /// It depends on this fact, which the caller does not have.
    Unknown(String),
}

impl Condition {
    /// Parses a condition. An error has a position and, where possible, a remedy.
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

    /// Evaluates the condition. `lookup` is called only for names that decide the result.
    pub fn eval(&self, lookup: &dyn Fn(&str) -> Fact) -> Result<Truth, EvalError> {
        evaluate::evaluate_truth(&self.root, lookup)
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
