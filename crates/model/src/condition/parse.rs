//! Tokens to a tree, by binding power. `&&` and `||` become flat lists, so a long chain is not a
//! deep tree; everything else has a bounded height, so neither judging nor dropping can overflow.

use super::ConditionError;
use super::lex::{Kind, Part, Token, error};
use super::number::Number;

const MAX_DEPTH: usize = 128;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    Variable(String),
    Number(Number),
    Text(Vec<Part>),
    Truth(bool),
    Not(Box<Expr>),
    Minus(Box<Expr>),
    All(Vec<Expr>),
    Any(Vec<Expr>),
    Compare(Relation, Box<Expr>, Box<Expr>),
    Compute(Operation, Box<Expr>, Box<Expr>),
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
pub(super) enum Operation {
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
    Compute(Operation),
}

const COMPARISON: u8 = 3;
const PREFIX: u8 = 6;

fn infix(sign: &str) -> Option<(Infix, u8)> {
    Some(match sign {
        "||" => (Infix::Any, 1),
        "&&" => (Infix::All, 2),
        "==" => (Infix::Compare(Relation::Equal), COMPARISON),
        "!=" => (Infix::Compare(Relation::Unequal), COMPARISON),
        "<" => (Infix::Compare(Relation::Less), COMPARISON),
        "<=" => (Infix::Compare(Relation::AtMost), COMPARISON),
        ">" => (Infix::Compare(Relation::More), COMPARISON),
        ">=" => (Infix::Compare(Relation::AtLeast), COMPARISON),
        "+" => (Infix::Compute(Operation::Add), 4),
        "-" => (Infix::Compute(Operation::Subtract), 4),
        "*" => (Infix::Compute(Operation::Multiply), 5),
        "/" => (Infix::Compute(Operation::Divide), 5),
        "%" => (Infix::Compute(Operation::Remainder), 5),
        _ => return None,
    })
}

/// An expression on its way, with its height, and whether parentheses already settle its meaning.
struct Built {
    expr: Expr,
    height: usize,
    closed: bool,
}

struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
    end: usize,
    depth: usize,
}

pub(super) fn parse(tokens: Vec<Token>, end: usize) -> Result<Expr, ConditionError> {
    if tokens.is_empty() {
        let help = Some("leave it out to run always".into());
        return Err(error(0, "the condition is empty".into(), help));
    }
    let mut parser = Parser { tokens: tokens.into_iter().peekable(), end, depth: 0 };
    let built = parser.expression(0)?;
    match parser.tokens.next() {
        None => Ok(built.expr),
        Some(Token { kind: Kind::Sign(")"), at }) => {
            Err(error(at, "this ) closes nothing".into(), Some("remove it".into())))
        }
        Some(Token { at, .. }) => {
            let help = Some("join two conditions with && or ||".into());
            Err(error(at, "something is missing before this".into(), help))
        }
    }
}

impl Parser {
    fn expression(&mut self, least: u8) -> Result<Built, ConditionError> {
        self.depth += 1;
        check_height(self.depth, self.here())?;
        let mut left = self.prefix()?;
        let mut compared = false;
        while let Some((operator, power, at)) = self.operator(least) {
            if power == COMPARISON {
                if compared {
                    let help = Some("join two comparisons with &&".into());
                    return Err(error(at, "comparisons cannot be chained".into(), help));
                }
                refuse_loose_not(&left, at)?;
            }
            compared = power == COMPARISON;
            self.tokens.next();
            let right = self.expression(power + 1)?;
            left = join(operator, left, right);
            check_height(left.height, at)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn operator(&mut self, least: u8) -> Option<(Infix, u8, usize)> {
        let token = self.tokens.peek()?;
        let Kind::Sign(sign) = token.kind else { return None };
        let (operator, power) = infix(sign)?;
        (power >= least).then_some((operator, power, token.at))
    }

    fn prefix(&mut self) -> Result<Built, ConditionError> {
        let Some(token) = self.tokens.next() else {
            return Err(error(self.end, "something is missing at the end".into(), None));
        };
        let expr = match token.kind {
            Kind::Variable(name) => Expr::Variable(name),
            Kind::Number(number) => Expr::Number(number),
            Kind::Text(parts) => Expr::Text(parts),
            Kind::Truth(truth) => Expr::Truth(truth),
            Kind::Sign("(") => return self.group(token.at),
            Kind::Sign("!") => return self.operand(Expr::Not),
            Kind::Sign("-") => return self.operand(Expr::Minus),
            Kind::Sign(sign) => {
                let message = format!("a value is missing before `{sign}`");
                return Err(error(token.at, message, None));
            }
        };
        Ok(Built { expr, height: 1, closed: false })
    }

    fn operand(&mut self, wrap: fn(Box<Expr>) -> Expr) -> Result<Built, ConditionError> {
        let at = self.here();
        let inner = self.expression(PREFIX)?;
        check_height(inner.height + 1, at)?;
        Ok(Built { expr: wrap(Box::new(inner.expr)), height: inner.height + 1, closed: false })
    }

    fn group(&mut self, opened: usize) -> Result<Built, ConditionError> {
        let inner = self.expression(0)?;
        match self.tokens.next() {
            Some(Token { kind: Kind::Sign(")"), .. }) => Ok(Built { closed: true, ..inner }),
            Some(Token { at, .. }) => {
                let help = Some("close it with ), or join with && or ||".into());
                Err(error(at, "this does not belong in the parentheses".into(), help))
            }
            None => {
                let help = Some("add the missing )".into());
                Err(error(opened, "this ( is never closed".into(), help))
            }
        }
    }

    fn here(&mut self) -> usize {
        self.tokens.peek().map_or(self.end, |token| token.at)
    }
}

fn check_height(height: usize, at: usize) -> Result<(), ConditionError> {
    if height <= MAX_DEPTH {
        return Ok(());
    }
    let message = format!("the condition is nested more than {MAX_DEPTH} deep");
    Err(error(at, message, Some("split it into several hooks".into())))
}

// A shell reads `! a == b` as not equal, C as (not a) equal b. Neither reading may be a surprise.
fn refuse_loose_not(left: &Built, at: usize) -> Result<(), ConditionError> {
    if left.closed || !matches!(left.expr, Expr::Not(_)) {
        return Ok(());
    }
    let help = Some("write !(… == …), or use !=".into());
    Err(error(at, "it is not clear what this ! belongs to".into(), help))
}

fn join(operator: Infix, left: Built, right: Built) -> Built {
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
