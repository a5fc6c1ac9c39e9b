//! The kinds of values in a handler's own fields. What is wrong is told at its place; what a
//! handler would not do its work with leaves it idle.

use gambrel_model::Complaint;

use crate::document::{Content, Fields, Node};

/// Reads what a type takes besides what it needs, and says why it cannot run with that.
pub fn misfit(fields: &mut Fields<'_>, word: &str) -> Option<String> {
    let odd = match word {
        "command" => {
            check_rewake_texts(fields);
            vec![odd_texts(fields, "args"), odd_shell(fields)]
        }
        "http" => vec![odd_map(fields, "headers"), odd_texts(fields, "allowedEnvVars")],
        "mcp_tool" => vec![odd_input(fields)],
        // Without these the question is asked all the same.
        _ => {
            fields.text("model");
            fields.flag("continueOnBlock");
            Vec::new()
        }
    };
    odd.into_iter().flatten().next()
}

/// A hook runs all the same without the words around its late message.
fn check_rewake_texts(fields: &mut Fields<'_>) {
    for key in ["rewakeMessage", "rewakeSummary"] {
        if fields.text(key).is_some_and(|text| text.is_empty()) {
            let help = "write some words, or leave it out";
            fields.complain(key, format!("`{key}` is empty"), help);
        }
    }
}

fn odd_shell(fields: &mut Fields<'_>) -> Option<String> {
    let shell = fields.word("shell", &["bash", "powershell"]);
    (fields.has("shell") && shell.is_none()).then(|| "its `shell` is not known".to_owned())
}

fn odd_texts(fields: &mut Fields<'_>, key: &str) -> Option<String> {
    let node = fields.node(key)?;
    match node.items() {
        Some(items) => odd_among(fields, key, items.iter()),
        None => wrong(fields, key, node, "a list of texts"),
    }
    .then(|| format!("its `{key}` are not a list of texts"))
}

fn odd_map(fields: &mut Fields<'_>, key: &str) -> Option<String> {
    let node = fields.node(key)?;
    match &node.content {
        Content::Map(entries) => odd_among(fields, key, entries.iter().map(|(_, value)| value)),
        _ => wrong(fields, key, node, "a map of texts"),
    }
    .then(|| format!("its `{key}` are not a map of texts"))
}

fn odd_input(fields: &mut Fields<'_>) -> Option<String> {
    let node = fields.node("input")?;
    let odd = !matches!(node.content, Content::Map(_));
    (odd && wrong(fields, "input", node, "a map")).then(|| "its `input` is not a map".to_owned())
}

/// Whether one of several values is no text; the first that is none is told.
fn odd_among<'d>(
    fields: &mut Fields<'_>,
    key: &str,
    mut values: impl Iterator<Item = &'d Node>,
) -> bool {
    let Some(odd) = values.find(|value| !value.to_value().is_string()) else { return false };
    let message = format!("`{key}` should hold texts, but here is {}", odd.kind());
    let quotable = matches!(odd.content, Content::Scalar { .. });
    tell(fields, odd, message, quotable.then_some("put it in quotes"))
}

fn wrong(fields: &mut Fields<'_>, key: &str, node: &Node, wanted: &str) -> bool {
    tell(fields, node, format!("`{key}` should be {wanted}, but is {}", node.kind()), None)
}

fn tell(fields: &mut Fields<'_>, node: &Node, message: String, help: Option<&str>) -> bool {
    let complaint = Complaint::error(fields.spot(node), message);
    fields.complaints.push(Complaint { help: help.map(str::to_owned), ..complaint });
    true
}
