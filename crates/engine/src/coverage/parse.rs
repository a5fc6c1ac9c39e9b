//! Shell text to a syntax tree, with bounds: the parser recurses, and a text made to exhaust it
//! must not take the process with it.

use std::panic::catch_unwind;

use gambrel_model::shell_bound::{MAX_PARSE_STEPS, is_bounded, parse_steps};
use rable::{ListItem, Node, NodeKind};

/// Longer scripts are not read.
const MAX_SCRIPT_BYTES: usize = 256 * 1024;
/// Signs and words that may open a level, in a text that gets a stack of its own.
const MAX_OPENER_COUNT: usize = 5_000;
/// Levels of a tree that the reader follows.
const MAX_TREE_DEPTH: usize = 120;
const PARSER_STACK_BYTES: usize = 128 << 20;

/// The commands of a text; `None` when it cannot be read.
pub(super) fn parse_shell(text: &str) -> Option<Vec<Node>> {
    // `MAX_PARSE_STEPS` is for one short command; a script may be as long as several of them.
    if text.len() > MAX_SCRIPT_BYTES || parse_steps(text) > 8 * MAX_PARSE_STEPS {
        return None;
    }
    if is_bounded(text) {
        return parse_shallow(text);
    }
    let openers = text.matches(['(', '{', '`']).count() + text.split_whitespace().count() / 2;
    if openers > MAX_OPENER_COUNT {
        return None;
    }
    let text = text.to_owned();
    let worker = std::thread::Builder::new().stack_size(PARSER_STACK_BYTES);
    worker.spawn(move || parse_shallow(&text)).ok()?.join().ok()?
}

/// A fault of the parser is a text that it cannot read.
fn parse_shallow(text: &str) -> Option<Vec<Node>> {
    let nodes = catch_unwind(|| rable::parse(text, false)).ok()?.ok()?;
    is_shallow(&nodes).then_some(nodes)
}

/// Whether no branch is deeper than the reader follows. Lists of commands count as one level.
fn is_shallow(nodes: &[Node]) -> bool {
    let mut todo: Vec<(&Node, usize)> = nodes.iter().map(|node| (node, 0)).collect();
    while let Some((node, depth)) = todo.pop() {
        if depth > MAX_TREE_DEPTH {
            return false;
        }
        let level = depth + usize::from(!matches!(node.kind, NodeKind::List { .. }));
        todo.extend(child_nodes(node).into_iter().map(|child| (child, level)));
    }
    true
}

/// The commands inside a command.
fn child_nodes(node: &Node) -> Vec<&Node> {
    match &node.kind {
        NodeKind::Pipeline { commands, .. } => commands.iter().collect(),
        NodeKind::List { items } => items.iter().map(|item| &item.command).collect(),
        NodeKind::If { condition, then_body, else_body, .. } => {
            let mut all = vec![&**condition, &**then_body];
            all.extend(else_body.as_deref());
            all
        }
        NodeKind::While { condition, body, .. } | NodeKind::Until { condition, body, .. } => {
            vec![condition, body]
        }
        NodeKind::For { body, .. }
        | NodeKind::ForArith { body, .. }
        | NodeKind::Select { body, .. }
        | NodeKind::Function { body, .. }
        | NodeKind::Subshell { body, .. }
        | NodeKind::BraceGroup { body, .. }
        | NodeKind::ConditionalExpr { body, .. } => vec![body],
        NodeKind::Case { patterns, .. } => {
            patterns.iter().filter_map(|p| p.body.as_ref()).collect()
        }
        NodeKind::Coproc { command: inner, .. }
        | NodeKind::Negation { pipeline: inner }
        | NodeKind::Time { pipeline: inner, .. }
        | NodeKind::CondNot { operand: inner }
        | NodeKind::CondParen { inner } => vec![inner],
        NodeKind::CondAnd { left, right } | NodeKind::CondOr { left, right } => vec![left, right],
        _ => Vec::new(),
    }
}

/// One command of a list, and whether it runs whatever the one before it did.
pub(super) struct Listed<'n> {
    pub node: &'n Node,
    pub is_conditional: bool,
    pub in_background: bool,
}

/// The commands of a list in order. The parser nests `a; b; c` to the left.
pub(super) fn flatten_list(items: &[ListItem]) -> Vec<Listed<'_>> {
    use rable::ListOperator::{And, Background, Or};
    let mut listed: Vec<Listed<'_>> = Vec::new();
    // In reverse, so that a long list takes no stack.
    let mut todo: Vec<(&[ListItem], bool, bool)> = vec![(items, false, false)];
    while let Some((items, is_conditional, in_background)) = todo.pop() {
        let mut after = in_background;
        for at in (0..items.len()).rev() {
            let ListItem { command, operator } = &items[at];
            after = matches!(operator, Some(Background)) || (operator.is_none() && after);
            let before = at.checked_sub(1).and_then(|at| items[at].operator);
            let follows = matches!(before, Some(And | Or));
            let conditional = follows || is_conditional;
            match (&command.kind, at) {
                // Only the first may be deep: what is left is read in the next round.
                (NodeKind::List { items }, 0) => todo.push((items, conditional, after)),
                _ => listed.push(Listed {
                    node: command,
                    is_conditional: conditional,
                    in_background: after,
                }),
            }
        }
    }
    listed.reverse();
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_long_scripts_and_refuses_deep_ones() {
        let long = "if [ -n \"${X:-$(pwd)}\" ]; then echo \"$(dirname \"$0\")\"; fi\n".repeat(400);
        assert!(parse_shell(&long).is_some());
        let deep = format!("{}x{}", "( ".repeat(2_000), " )".repeat(2_000));
        assert!(parse_shell(&deep).is_none());
        assert!(parse_shell(&"x; ".repeat(5_000)).is_some());
    }

    #[test]
    fn tells_which_commands_depend_on_others() {
        let nodes = parse_shell("a && b; c; d").unwrap_or_default();
        let conditional: Vec<bool> = match &nodes[0].kind {
            NodeKind::List { items } => {
                flatten_list(items).iter().map(|l| l.is_conditional).collect()
            }
            _ => Vec::new(),
        };
        assert_eq!(conditional, [false, true, false, false]);
    }
}
