//! Judges a parsed condition. Three-valued: what hangs on a fact that nobody has is unknown, unless
//! the rest decides it. Values are compared, never read as expression.

use std::cmp::Ordering;

use super::lex::Part;
use super::number::Number;
use super::parse::{Expr, Operation, Relation};
use super::{EvalError, Fact, Truth};

type Lookup<'a> = &'a dyn Fn(&str) -> Fact;
type Apply = fn(Number, Number) -> Option<Number>;

/// What an expression is worth: text, an exact number, or nothing that anybody knows.
enum Worth {
    Text(String),
    Number(Number),
    Unknown(String),
}

impl Worth {
    fn number(&self) -> Option<Number> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => Number::read(text),
            Self::Unknown(_) => None,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Unknown(_) => String::new(),
        }
    }

    fn truth(self) -> Truth {
        match self {
            Self::Unknown(name) => Truth::Unknown(name),
            Self::Number(number) => Truth::from(!number.is_zero()),
            Self::Text(text) => {
                let zero = Number::read(&text).is_some_and(Number::is_zero);
                Truth::from(!(text.is_empty() || text == "false" || zero))
            }
        }
    }
}

impl From<bool> for Truth {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

pub(super) fn judge(expr: &Expr, lookup: Lookup<'_>) -> Result<Truth, EvalError> {
    match expr {
        Expr::Truth(truth) => Ok(Truth::from(*truth)),
        Expr::Not(inner) => Ok(match judge(inner, lookup)? {
            Truth::Yes => Truth::No,
            Truth::No => Truth::Yes,
            unknown => unknown,
        }),
        Expr::All(list) => decide(list, lookup, &Truth::No, Truth::Yes),
        Expr::Any(list) => decide(list, lookup, &Truth::Yes, Truth::No),
        Expr::Compare(how, left, right) => compare(*how, left, right, lookup),
        _ => Ok(worth(expr, lookup)?.truth()),
    }
}

// One `decisive` member settles the list, whatever the unknown ones would have been.
fn decide(
    list: &[Expr],
    lookup: Lookup<'_>,
    decisive: &Truth,
    otherwise: Truth,
) -> Result<Truth, EvalError> {
    let mut result = otherwise;
    for expr in list {
        let truth = judge(expr, lookup)?;
        if truth == *decisive {
            return Ok(truth);
        }
        if matches!(truth, Truth::Unknown(_)) && !matches!(result, Truth::Unknown(_)) {
            result = truth;
        }
    }
    Ok(result)
}

fn compare(
    how: Relation,
    left: &Expr,
    right: &Expr,
    lookup: Lookup<'_>,
) -> Result<Truth, EvalError> {
    let (left, right) = (worth(left, lookup)?, worth(right, lookup)?);
    if let Worth::Unknown(name) = left {
        return Ok(Truth::Unknown(name));
    }
    if let Worth::Unknown(name) = right {
        return Ok(Truth::Unknown(name));
    }
    let order = match (left.number(), right.number()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        (None, None) => Some(left.text().cmp(&right.text())),
        _ => None,
    };
    Ok(Truth::from(holds(how, order)))
}

// A number against text has no order: it is unequal, and every other comparison fails.
fn holds(how: Relation, order: Option<Ordering>) -> bool {
    match how {
        Relation::Equal => order == Some(Ordering::Equal),
        Relation::Unequal => order != Some(Ordering::Equal),
        Relation::Less => order.is_some_and(Ordering::is_lt),
        Relation::AtMost => order.is_some_and(Ordering::is_le),
        Relation::More => order.is_some_and(Ordering::is_gt),
        Relation::AtLeast => order.is_some_and(Ordering::is_ge),
    }
}

fn worth(expr: &Expr, lookup: Lookup<'_>) -> Result<Worth, EvalError> {
    match expr {
        Expr::Variable(name) => Ok(fact(name, lookup)),
        Expr::Number(number) => Ok(Worth::Number(*number)),
        Expr::Text(parts) => Ok(written(parts, lookup)),
        Expr::Minus(inner) => {
            let number = match operand(inner, "-", lookup)? {
                Operand::Is(number) => number,
                Operand::Unknown(name) => return Ok(Worth::Unknown(name)),
            };
            number.minus().map(Worth::Number).ok_or_else(too_large)
        }
        Expr::Compute(how, left, right) => compute(*how, left, right, lookup),
        _ => Ok(match judge(expr, lookup)? {
            Truth::Yes => Worth::Text("true".into()),
            Truth::No => Worth::Text("false".into()),
            Truth::Unknown(name) => Worth::Unknown(name),
        }),
    }
}

fn fact(name: &str, lookup: Lookup<'_>) -> Worth {
    match lookup(name) {
        Fact::Is(value) => Worth::Text(value),
        Fact::Unset => Worth::Text(String::new()),
        Fact::Absent => Worth::Unknown(name.to_owned()),
    }
}

fn written(parts: &[Part], lookup: Lookup<'_>) -> Worth {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Plain(plain) => text.push_str(plain),
            Part::Variable(name) => match fact(name, lookup) {
                Worth::Unknown(name) => return Worth::Unknown(name),
                known => text.push_str(&known.text()),
            },
        }
    }
    Worth::Text(text)
}

fn compute(
    how: Operation,
    left: &Expr,
    right: &Expr,
    lookup: Lookup<'_>,
) -> Result<Worth, EvalError> {
    let (sign, apply): (&str, Apply) = match how {
        Operation::Add => ("+", Number::add),
        Operation::Subtract => ("-", Number::sub),
        Operation::Multiply => ("*", Number::mul),
        Operation::Divide => ("/", Number::div),
        Operation::Remainder => ("%", Number::rem),
    };
    let (a, b) = match (operand(left, sign, lookup)?, operand(right, sign, lookup)?) {
        (Operand::Is(a), Operand::Is(b)) => (a, b),
        (Operand::Unknown(name), _) | (_, Operand::Unknown(name)) => {
            return Ok(Worth::Unknown(name));
        }
    };
    if b.is_zero() && matches!(how, Operation::Divide | Operation::Remainder) {
        let what = described(right);
        return Err(EvalError { message: format!("`{sign}` by zero: {what} is 0") });
    }
    apply(a, b).map(Worth::Number).ok_or_else(too_large)
}

enum Operand {
    Is(Number),
    Unknown(String),
}

fn operand(expr: &Expr, sign: &str, lookup: Lookup<'_>) -> Result<Operand, EvalError> {
    let value = worth(expr, lookup)?;
    if let Some(number) = value.number() {
        return Ok(Operand::Is(number));
    }
    if let Worth::Unknown(name) = value {
        return Ok(Operand::Unknown(name));
    }
    let what = described(expr);
    let state = if value.text().is_empty() { "empty" } else { "not a number" };
    Err(EvalError { message: format!("{what} is {state}, and `{sign}` needs a number") })
}

fn described(expr: &Expr) -> String {
    match expr {
        Expr::Variable(name) => format!("${{{name}}}"),
        Expr::Text(parts) => match parts.as_slice() {
            [Part::Variable(name)] => format!("${{{name}}}"),
            _ => "the quoted text".into(),
        },
        _ => "the value".into(),
    }
}

fn too_large() -> EvalError {
    EvalError { message: "a number became too large".into() }
}
