//! Evaluates a parsed condition with three values: a part that depends on an absent fact is
//! unknown, unless the rest decides. Values are compared, never parsed as expressions.

use std::cmp::Ordering;

use super::lex::TokenPart;
use super::number::Number;
use super::parse::{BinaryOp, Expr, Relation};
use super::{EvalError, Fact, Truth};

type FactLookup<'a> = &'a dyn Fn(&str) -> Fact;
type Apply = fn(Number, Number) -> Option<Number>;

/// The value of an expression: text, an exact number, or unknown.
enum EvalValue {
    Text(String),
    Number(Number),
    Unknown(String),
}

impl EvalValue {
    fn as_number(&self) -> Option<Number> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => Number::parse_decimal(text),
            Self::Unknown(_) => None,
        }
    }

    fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Unknown(_) => String::new(),
        }
    }

    fn into_truth(self) -> Truth {
        match self {
            Self::Unknown(name) => Truth::Unknown(name),
            Self::Number(number) => Truth::from(!number.is_zero()),
            Self::Text(text) => {
                let zero = Number::parse_decimal(&text).is_some_and(Number::is_zero);
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

pub(super) fn evaluate_truth(expr: &Expr, lookup: FactLookup<'_>) -> Result<Truth, EvalError> {
    match expr {
        Expr::Truth(truth) => Ok(Truth::from(*truth)),
        Expr::Not(inner) => Ok(match evaluate_truth(inner, lookup)? {
            Truth::Yes => Truth::No,
            Truth::No => Truth::Yes,
            unknown => unknown,
        }),
        Expr::All(list) => evaluate_list(list, lookup, &Truth::No, Truth::Yes),
        Expr::Any(list) => evaluate_list(list, lookup, &Truth::Yes, Truth::No),
        Expr::Compare(how, left, right) => evaluate_comparison(*how, left, right, lookup),
        _ => Ok(evaluate_value(expr, lookup)?.into_truth()),
    }
}

// One `decisive` member decides the list, whatever the unknown members are.
fn evaluate_list(
    list: &[Expr],
    lookup: FactLookup<'_>,
    decisive: &Truth,
    otherwise: Truth,
) -> Result<Truth, EvalError> {
    let mut result = otherwise;
    for expr in list {
        let truth = evaluate_truth(expr, lookup)?;
        if truth == *decisive {
            return Ok(truth);
        }
        if matches!(truth, Truth::Unknown(_)) && !matches!(result, Truth::Unknown(_)) {
            result = truth;
        }
    }
    Ok(result)
}

fn evaluate_comparison(
    how: Relation,
    left: &Expr,
    right: &Expr,
    lookup: FactLookup<'_>,
) -> Result<Truth, EvalError> {
    let (left, right) = (evaluate_value(left, lookup)?, evaluate_value(right, lookup)?);
    if let EvalValue::Unknown(name) = left {
        return Ok(Truth::Unknown(name));
    }
    if let EvalValue::Unknown(name) = right {
        return Ok(Truth::Unknown(name));
    }
    let order = match (left.as_number(), right.as_number()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        (None, None) => Some(left.to_text().cmp(&right.to_text())),
        _ => None,
    };
    Ok(Truth::from(relation_holds(how, order)))
}

// A number against text has no order: it is unequal, and every other comparison fails.
fn relation_holds(how: Relation, order: Option<Ordering>) -> bool {
    match how {
        Relation::Equal => order == Some(Ordering::Equal),
        Relation::Unequal => order != Some(Ordering::Equal),
        Relation::Less => order.is_some_and(Ordering::is_lt),
        Relation::AtMost => order.is_some_and(Ordering::is_le),
        Relation::More => order.is_some_and(Ordering::is_gt),
        Relation::AtLeast => order.is_some_and(Ordering::is_ge),
    }
}

fn evaluate_value(expr: &Expr, lookup: FactLookup<'_>) -> Result<EvalValue, EvalError> {
    match expr {
        Expr::Variable(name) => Ok(look_up_fact(name, lookup)),
        Expr::Number(number) => Ok(EvalValue::Number(*number)),
        Expr::Text(parts) => Ok(expand_text(parts, lookup)),
        Expr::Minus(inner) => {
            let number = match evaluate_operand(inner, "-", lookup)? {
                Operand::Is(number) => number,
                Operand::Unknown(name) => return Ok(EvalValue::Unknown(name)),
            };
            number.checked_neg().map(EvalValue::Number).ok_or_else(too_large)
        }
        Expr::Compute(how, left, right) => evaluate_arithmetic(*how, left, right, lookup),
        _ => Ok(match evaluate_truth(expr, lookup)? {
            Truth::Yes => EvalValue::Text("true".into()),
            Truth::No => EvalValue::Text("false".into()),
            Truth::Unknown(name) => EvalValue::Unknown(name),
        }),
    }
}

fn look_up_fact(name: &str, lookup: FactLookup<'_>) -> EvalValue {
    match lookup(name) {
        Fact::Is(value) => EvalValue::Text(value),
        Fact::Unset => EvalValue::Text(String::new()),
        Fact::Absent => EvalValue::Unknown(name.to_owned()),
    }
}

fn expand_text(parts: &[TokenPart], lookup: FactLookup<'_>) -> EvalValue {
    let mut text = String::new();
    for part in parts {
        match part {
            TokenPart::Plain(plain) => text.push_str(plain),
            TokenPart::Variable(name) => match look_up_fact(name, lookup) {
                EvalValue::Unknown(name) => return EvalValue::Unknown(name),
                known => text.push_str(&known.to_text()),
            },
        }
    }
    EvalValue::Text(text)
}

fn evaluate_arithmetic(
    how: BinaryOp,
    left: &Expr,
    right: &Expr,
    lookup: FactLookup<'_>,
) -> Result<EvalValue, EvalError> {
    let (sign, apply): (&str, Apply) = match how {
        BinaryOp::Add => ("+", Number::checked_add),
        BinaryOp::Subtract => ("-", Number::checked_sub),
        BinaryOp::Multiply => ("*", Number::checked_mul),
        BinaryOp::Divide => ("/", Number::checked_div),
        BinaryOp::Remainder => ("%", Number::checked_rem),
    };
    let (a, b) =
        match (evaluate_operand(left, sign, lookup)?, evaluate_operand(right, sign, lookup)?) {
            (Operand::Is(a), Operand::Is(b)) => (a, b),
            (Operand::Unknown(name), _) | (_, Operand::Unknown(name)) => {
                return Ok(EvalValue::Unknown(name));
            }
        };
    if b.is_zero() && matches!(how, BinaryOp::Divide | BinaryOp::Remainder) {
        let what = describe_operand(right);
        return Err(EvalError { message: format!("`{sign}` by zero: {what} is 0") });
    }
    apply(a, b).map(EvalValue::Number).ok_or_else(too_large)
}

enum Operand {
    Is(Number),
    Unknown(String),
}

fn evaluate_operand(expr: &Expr, sign: &str, lookup: FactLookup<'_>) -> Result<Operand, EvalError> {
    let value = evaluate_value(expr, lookup)?;
    if let Some(number) = value.as_number() {
        return Ok(Operand::Is(number));
    }
    if let EvalValue::Unknown(name) = value {
        return Ok(Operand::Unknown(name));
    }
    let what = describe_operand(expr);
    let state = if value.to_text().is_empty() { "empty" } else { "not a number" };
    Err(EvalError { message: format!("{what} is {state}, and `{sign}` needs a number") })
}

fn describe_operand(expr: &Expr) -> String {
    match expr {
        Expr::Variable(name) => format!("${{{name}}}"),
        Expr::Text(parts) => match parts.as_slice() {
            [TokenPart::Variable(name)] => format!("${{{name}}}"),
            _ => "the quoted text".into(),
        },
        _ => "the value".into(),
    }
}

fn too_large() -> EvalError {
    EvalError { message: "a number became too large".into() }
}
