//! Parses tokens into a tree by binding power. `&&` and `||` become flat lists and everything else
//! has a bounded height, so neither evaluation nor drop can overflow the stack.

use super::ConditionError;
use super::lex::{ConditionToken, TokenKind, TokenPart, condition_error};
use super::number::Number;

const MAX_DEPTH: usize = 128;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    Variable(String),
    Number(Number),
    Text(Vec<TokenPart>),
    Truth(bool),
    Not(Box<Expr>),
    Minus(Box<Expr>),
    All(Vec<Expr>),
    Any(Vec<Expr>),
    Compare(Relation, Box<Expr>, Box<Expr>),
    Compute(BinaryOp, Box<Expr>, Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

#[derive(Clone, Copy)]
enum Infix {
    Any,
    All,
    Compare(Relation),
    Compute(BinaryOp),
}

const COMPARISON: u8 = 3;
const PREFIX: u8 = 6;

fn infix_operator(sign: &str) -> Option<(Infix, u8)> {
    Some(match sign {
        "||" => (Infix::Any, 1),
        "&&" => (Infix::All, 2),
        "==" => (Infix::Compare(Relation::Equal), COMPARISON),
        "!=" => (Infix::Compare(Relation::Unequal), COMPARISON),
        "<" => (Infix::Compare(Relation::Less), COMPARISON),
        "<=" => (Infix::Compare(Relation::AtMost), COMPARISON),
        ">" => (Infix::Compare(Relation::More), COMPARISON),
        ">=" => (Infix::Compare(Relation::AtLeast), COMPARISON),
        "+" => (Infix::Compute(BinaryOp::Add), 4),
        "-" => (Infix::Compute(BinaryOp::Subtract), 4),
        "*" => (Infix::Compute(BinaryOp::Multiply), 5),
        "/" => (Infix::Compute(BinaryOp::Divide), 5),
        "%" => (Infix::Compute(BinaryOp::Remainder), 5),
        _ => return None,
    })
}

/// A partial expression with its height, and whether it is in parentheses.
struct Built {
    expr: Expr,
    height: usize,
    closed: bool,
}

struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<ConditionToken>>,
    end: usize,
    depth: usize,
}

pub(super) fn parse_tokens(
    tokens: Vec<ConditionToken>,
    end: usize,
) -> Result<Expr, ConditionError> {
    if tokens.is_empty() {
        let help = Some("leave it out to run always".into());
        return Err(condition_error(0, "the condition is empty".into(), help));
    }
    let mut parser = Parser { tokens: tokens.into_iter().peekable(), end, depth: 0 };
    let built = parser.parse_expression(0)?;
    match parser.tokens.next() {
        None => Ok(built.expr),
        Some(ConditionToken { kind: TokenKind::Sign(")"), at }) => {
            Err(condition_error(at, "this ) closes nothing".into(), Some("remove it".into())))
        }
        Some(ConditionToken { at, .. }) => {
            let help = Some("join two conditions with && or ||".into());
            Err(condition_error(at, "something is missing before this".into(), help))
        }
    }
}

impl Parser {
    fn parse_expression(&mut self, least: u8) -> Result<Built, ConditionError> {
        self.depth += 1;
        check_height(self.depth, self.current_offset())?;
        let mut left = self.parse_prefix()?;
        let mut compared = false;
        while let Some((operator, power, at)) = self.next_operator(least) {
            if power == COMPARISON {
                if compared {
                    let help = Some("join two comparisons with &&".into());
                    return Err(condition_error(at, "comparisons cannot be chained".into(), help));
                }
                refuse_loose_not(&left, at)?;
            }
            compared = power == COMPARISON;
            self.tokens.next();
            let right = self.parse_expression(power + 1)?;
            left = join_expressions(operator, left, right);
            check_height(left.height, at)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn next_operator(&mut self, least: u8) -> Option<(Infix, u8, usize)> {
        let token = self.tokens.peek()?;
        let TokenKind::Sign(sign) = token.kind else { return None };
        let (operator, power) = infix_operator(sign)?;
        (power >= least).then_some((operator, power, token.at))
    }

    fn parse_prefix(&mut self) -> Result<Built, ConditionError> {
        let Some(token) = self.tokens.next() else {
            return Err(condition_error(self.end, "something is missing at the end".into(), None));
        };
        let expr = match token.kind {
            TokenKind::Variable(name) => Expr::Variable(name),
            TokenKind::Number(number) => Expr::Number(number),
            TokenKind::Text(parts) => Expr::Text(parts),
            TokenKind::Truth(truth) => Expr::Truth(truth),
            TokenKind::Sign("(") => return self.parse_group(token.at),
            TokenKind::Sign("!") => return self.parse_operand(Expr::Not),
            TokenKind::Sign("-") => return self.parse_operand(Expr::Minus),
            TokenKind::Sign(sign) => {
                let message = format!("a value is missing before `{sign}`");
                return Err(condition_error(token.at, message, None));
            }
        };
        Ok(Built { expr, height: 1, closed: false })
    }

    fn parse_operand(&mut self, wrap: fn(Box<Expr>) -> Expr) -> Result<Built, ConditionError> {
        let at = self.current_offset();
        let inner = self.parse_expression(PREFIX)?;
        check_height(inner.height + 1, at)?;
        Ok(Built { expr: wrap(Box::new(inner.expr)), height: inner.height + 1, closed: false })
    }

    fn parse_group(&mut self, opened: usize) -> Result<Built, ConditionError> {
        let inner = self.parse_expression(0)?;
        match self.tokens.next() {
            Some(ConditionToken { kind: TokenKind::Sign(")"), .. }) => {
                Ok(Built { closed: true, ..inner })
            }
            Some(ConditionToken { at, .. }) => {
                let help = Some("close it with ), or join with && or ||".into());
                Err(condition_error(at, "this does not belong in the parentheses".into(), help))
            }
            None => {
                let help = Some("add the missing )".into());
                Err(condition_error(opened, "this ( is never closed".into(), help))
            }
        }
    }

    fn current_offset(&mut self) -> usize {
        self.tokens.peek().map_or(self.end, |token| token.at)
    }
}

fn check_height(height: usize, at: usize) -> Result<(), ConditionError> {
    if height <= MAX_DEPTH {
        return Ok(());
    }
    let message = format!("the condition is nested more than {MAX_DEPTH} deep");
    Err(condition_error(at, message, Some("split it into several hooks".into())))
}

// A shell reads `! a == b` as not equal, C as (not a) equal b, so it needs parentheses.
fn refuse_loose_not(left: &Built, at: usize) -> Result<(), ConditionError> {
    if left.closed || !matches!(left.expr, Expr::Not(_)) {
        return Ok(());
    }
    let help = Some("write !(… == …), or use !=".into());
    Err(condition_error(at, "it is not clear what this ! belongs to".into(), help))
}

fn join_expressions(operator: Infix, left: Built, right: Built) -> Built {
    let flat = match (operator, &left.expr) {
        (Infix::Any, Expr::Any(_)) | (Infix::All, Expr::All(_)) => 0,
        _ => 1,
    };
    let height = (left.height + flat).max(right.height + 1);
    let expr = match operator {
        Infix::Any => match left.expr {
            Expr::Any(mut list) => {
                list.push(right.expr);
                Expr::Any(list)
            }
            first => Expr::Any(vec![first, right.expr]),
        },
        Infix::All => match left.expr {
            Expr::All(mut list) => {
                list.push(right.expr);
                Expr::All(list)
            }
            first => Expr::All(vec![first, right.expr]),
        },
        Infix::Compare(how) => Expr::Compare(how, Box::new(left.expr), Box::new(right.expr)),
        Infix::Compute(how) => Expr::Compute(how, Box::new(left.expr), Box::new(right.expr)),
    };
    Built { expr, height, closed: false }
}
