//! Checks the types of a handler's own fields. A wrong type adds a complaint, and disables the
//! handler if it cannot work without the field.

use gambrel_document::{DocumentFields, DocumentNode, NodeContent};
use gambrel_model::Complaint;

/// Checks the optional fields of a handler type. Returns why the handler cannot run.
pub fn check_optional_fields(fields: &mut DocumentFields<'_>, word: &str) -> Option<String> {
    // All checks run, so that every mistake is reported.
    match word {
        "command" => {
            check_rewake_texts(fields);
            let (args, shell) = (check_texts(fields, "args"), check_shell(fields));
            args.or(shell)
        }
        "http" => {
            let headers = check_text_map(fields, "headers");
            let variables = check_texts(fields, "allowedEnvVars");
            headers.or(variables)
        }
        "mcp_tool" => check_input(fields),
        // The handler runs without these.
        _ => {
            fields.read_str("model");
            fields.read_flag("continueOnBlock");
            None
        }
    }
}

/// Reports empty rewake texts. The hook still runs.
fn check_rewake_texts(fields: &mut DocumentFields<'_>) {
    for key in ["rewakeMessage", "rewakeSummary"] {
        if fields.read_str(key).is_some_and(str::is_empty) {
            let help = "write a text, or leave it out";
            fields.add_error(key, format!("`{key}` is empty"), help);
        }
    }
}

fn check_shell(fields: &mut DocumentFields<'_>) -> Option<String> {
    let shell = fields.read_word("shell", &["bash", "powershell"]);
    (fields.has_key("shell") && shell.is_none()).then(|| "its `shell` is not known".to_owned())
}

fn check_texts(fields: &mut DocumentFields<'_>, key: &str) -> Option<String> {
    let node = fields.node(key)?;
    match node.items() {
        Some(items) => report_non_text(fields, key, items.iter()),
        None => report_type(fields, key, node, "a list of texts"),
    }
    .then(|| format!("its `{key}` are not a list of texts"))
}

fn check_text_map(fields: &mut DocumentFields<'_>, key: &str) -> Option<String> {
    let node = fields.node(key)?;
    match &node.content {
        NodeContent::Map(entries) => {
            report_non_text(fields, key, entries.iter().map(|(_, value)| value))
        }
        _ => report_type(fields, key, node, "a map of texts"),
    }
    .then(|| format!("its `{key}` are not a map of texts"))
}

fn check_input(fields: &mut DocumentFields<'_>) -> Option<String> {
    let node = fields.node("input")?;
    let odd = !node.is_map();
    (odd && report_type(fields, "input", node, "a map"))
        .then(|| "its `input` is not a map".to_owned())
}

/// Reports the first value that is not a text. Returns whether there is one.
fn report_non_text<'n, 't: 'n>(
    fields: &mut DocumentFields<'_>,
    key: &str,
    mut values: impl Iterator<Item = &'n DocumentNode<'t>>,
) -> bool {
    let Some(odd) = values.find(|value| !value.to_value().is_string()) else { return false };
    let message = format!("`{key}` should hold texts, but here is {}", odd.kind());
    let quotable = matches!(odd.content, NodeContent::Scalar { .. });
    add_complaint(fields, odd, message, quotable.then_some("put it in quotes"))
}

fn report_type(
    fields: &mut DocumentFields<'_>,
    key: &str,
    node: &DocumentNode,
    wanted: &str,
) -> bool {
    add_complaint(fields, node, format!("`{key}` should be {wanted}, but is {}", node.kind()), None)
}

fn add_complaint(
    fields: &mut DocumentFields<'_>,
    node: &DocumentNode,
    message: String,
    help: Option<&str>,
) -> bool {
    let complaint = Complaint::error(fields.span_of(node), message);
    fields.complaints.push(Complaint { help: help.map(str::to_owned), ..complaint });
    true
}
