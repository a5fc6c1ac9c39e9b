//! Reads a pipeline: its nodes as written, with the place of each name.

use std::collections::BTreeMap;
use std::path::Path;

use gambrel_document::{DocumentFields, DocumentNode, read_yaml_map};
use gambrel_model::text::split_words;
use gambrel_model::{Complaint, SourceSpan, SpannedText};

use super::guardrails::WrittenGuardrails;
use super::stage::{note_unused_keys, read_commands, read_permissions};
use super::termination::{WrittenTermination, read_positive};
use crate::plan::{InputSelect, NodeInputs, PermissionDefault};

/// The keys of a pipeline.
pub const PIPELINE_KEYS: &str = "\
    name description version inputs commands defaults provider model nodes stages permissions \
    commit hooks disable_global_hooks output_parse";
/// The keys of a node.
pub const NODE_KEYS: &str = "\
    id name stage loop prompt description provider model context runs termination inputs delay \
    commit guardrails parallel pipeline items output_parse commands";
/// The keys of a node's `inputs`.
pub const INPUT_KEYS: &str = "from select from_initial from_parallel";
/// The words of `select`.
pub const SELECT_WORDS: [&str; 2] = ["latest", "all"];
/// The keys of `defaults`.
pub const DEFAULTS_KEYS: [&str; 2] = ["provider", "model"];

/// A pipeline as written.
#[derive(Debug, Clone, Default)]
pub struct PipelineFile {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Files, folders and patterns that every node receives.
    pub inputs: Vec<String>,
    /// Named commands for the agents.
    pub commands: BTreeMap<String, String>,
    /// `provider` of the pipeline.
    pub provider: Option<SpannedText>,
    /// `model` of the pipeline.
    pub model: Option<String>,
    /// `defaults.provider`.
    pub default_provider: Option<SpannedText>,
    /// `defaults.model`.
    pub default_model: Option<String>,
    /// What happens to a tool call about which no hook decides.
    pub permissions: Option<PermissionDefault>,
    /// Whether each iteration is committed to git.
    pub commit: Option<bool>,
    /// The nodes, in order.
    pub nodes: Vec<NodeFile>,
}

/// A node as written.
#[derive(Debug, Clone, Default)]
pub struct NodeFile {
    /// Its id, if it has one.
    pub id: Option<String>,
    /// The name of its stage, if it has one.
    pub stage: Option<String>,
    /// The prompt, if it is written in the pipeline.
    pub prompt: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// The agent.
    pub provider: Option<SpannedText>,
    /// The model.
    pub model: Option<String>,
    /// The value of `${CONTEXT}`.
    pub context: Option<String>,
    /// `runs` as a number.
    pub runs: Option<u32>,
    /// When it ends.
    pub termination: WrittenTermination,
    /// What it reads of other nodes.
    pub inputs: NodeInputs,
    /// Where each name of `inputs.from` is written.
    pub input_spans: Vec<SourceSpan>,
    /// Seconds between two iterations.
    pub delay: Option<f64>,
    /// Whether each iteration is committed to git.
    pub commit: Option<bool>,
    /// The limits at which it completes.
    pub guardrails: WrittenGuardrails,
    /// Where the node is written.
    pub span: SourceSpan,
}

/// Parses the text of a pipeline. Errors do not stop it.
pub fn parse_pipeline(path: &Path, text: &str) -> (PipelineFile, Vec<Complaint>) {
    let words = ("pipeline", "begin with `name:` and `nodes:`");
    read_yaml_map(path, text, words, read_pipeline)
}

fn read_pipeline(fields: &mut DocumentFields<'_>) -> PipelineFile {
    fields.warn_unknown_keys(&split_words(PIPELINE_KEYS));
    note_unused_keys(fields, &["output_parse"]);
    let (default_provider, default_model) = read_defaults(fields);
    let mut pipeline = PipelineFile {
        name: fields.read_text("name").unwrap_or_default(),
        description: fields.read_text("description").unwrap_or_default(),
        inputs: fields.read_texts("inputs").unwrap_or_default(),
        commands: read_commands(fields),
        provider: fields.read_spanned("provider"),
        model: fields.read_text("model"),
        default_provider,
        default_model,
        permissions: read_permissions(fields),
        commit: fields.read_flag("commit"),
        nodes: Vec::new(),
    };
    if pipeline.name.is_empty() {
        fields.add_error("name", "`name` is missing", "name the pipeline");
    }
    for node in node_list(fields) {
        pipeline.nodes.push(read_node(fields, node));
    }
    pipeline
}

fn read_defaults(fields: &mut DocumentFields<'_>) -> (Option<SpannedText>, Option<String>) {
    let Some(node) = fields.read_map("defaults", "write `defaults: {provider: claude}`") else {
        return (None, None);
    };
    fields.read_inner(node, |inner| {
        inner.warn_unknown_keys(&DEFAULTS_KEYS);
        (inner.read_spanned("provider"), inner.read_text("model"))
    })
}

/// The list under `nodes`, or under the older `stages`.
fn node_list<'d>(fields: &mut DocumentFields<'d>) -> &'d [DocumentNode<'d>] {
    let key = if fields.has_key("nodes") { "nodes" } else { "stages" };
    if let Some(old) = fields.node("stages") {
        let ignored = if key == "nodes" { " and ignored beside `nodes`" } else { "" };
        let message = format!("`stages` is an older word{ignored}");
        let complaint = Complaint::warning(fields.span_of(old), message);
        fields.complaints.push(complaint.with_help("write `nodes`"));
    }

    let items = fields.node(key).and_then(DocumentNode::items).unwrap_or_default();
    if items.is_empty() {
        let message = "the pipeline has no nodes";
        fields.add_error(key, message, "write `nodes:` and a list with `- stage: NAME`");
    }
    items
}

fn read_node<'d>(outer: &mut DocumentFields<'d>, node: &'d DocumentNode<'d>) -> NodeFile {
    let span = outer.span_of(node);
    if let Some(name) = node.text() {
        let message = format!("the node `{name}` should be a map, but is {}", node.kind());
        let help = format!("write `- stage: {name}`");
        outer.complaints.push(Complaint::error(span, message).with_help(help));
        return NodeFile::default();
    }
    outer.read_inner(node, |fields| read_node_fields(fields, span))
}

fn read_node_fields(fields: &mut DocumentFields<'_>, span: SourceSpan) -> NodeFile {
    fields.warn_unknown_keys(&split_words(NODE_KEYS));
    note_unused_keys(fields, &["items", "output_parse"]);
    refuse_unbuilt(fields);

    let mut termination = WrittenTermination::read(fields, "termination").unwrap_or_default();
    let runs = read_runs(fields, &mut termination);
    let (inputs, input_spans) = read_inputs(fields);
    let read = NodeFile {
        id: fields.read_text("id").or_else(|| fields.read_text("name")),
        stage: fields.read_text("stage").or_else(|| fields.read_text("loop")),
        prompt: fields.read_text("prompt"),
        description: fields.read_text("description"),
        provider: fields.read_spanned("provider"),
        model: fields.read_text("model"),
        context: fields.read_text("context"),
        runs,
        termination,
        inputs,
        input_spans,
        delay: fields.read_seconds("delay").map(|delay| delay.as_secs_f64()),
        commit: fields.read_flag("commit"),
        guardrails: WrittenGuardrails::read(fields),
        span,
    };
    let is_other_kind = fields.has_key("parallel") || fields.has_key("pipeline");
    if read.stage.is_none() && read.prompt.is_none() && !is_other_kind {
        let help = "write `stage: NAME`, or `prompt: TEXT` for an inline stage";
        fields.add_error("stage", "the node has neither `stage` nor `prompt`", help);
    }
    read
}

/// Refuses what a run would need and cannot do.
fn refuse_unbuilt(fields: &mut DocumentFields<'_>) {
    for (key, what) in [("parallel", "a parallel block"), ("pipeline", "a pipeline node")] {
        if fields.has_key(key) {
            let message = format!("{what} cannot be run yet");
            fields.add_error(key, message, "write its stages as nodes one after the other");
        }
    }
}

/// `runs` is a number, or a termination.
fn read_runs(fields: &mut DocumentFields<'_>, termination: &mut WrittenTermination) -> Option<u32> {
    if fields.node("runs")?.is_map() {
        let runs = WrittenTermination::read(fields, "runs")?;
        *termination = runs.overridden_by(std::mem::take(termination));
        return None;
    }
    read_positive(fields, "runs")
}

fn read_inputs(fields: &mut DocumentFields<'_>) -> (NodeInputs, Vec<SourceSpan>) {
    let Some(node) = fields.read_map("inputs", "write `inputs: {from: ID}`") else {
        return (NodeInputs::default(), Vec::new());
    };
    fields.read_inner(node, read_input_fields)
}

fn read_input_fields(inner: &mut DocumentFields<'_>) -> (NodeInputs, Vec<SourceSpan>) {
    inner.warn_unknown_keys(&split_words(INPUT_KEYS));
    if inner.has_key("from_parallel") {
        let help = "read the stages with `from` instead";
        inner.add_error("from_parallel", "a parallel block cannot be run yet", help);
    }
    let select = match inner.read_word("select", &SELECT_WORDS) {
        Some("all") => InputSelect::All,
        _ => InputSelect::Latest,
    };
    let names: Vec<&DocumentNode> = match inner.node("from") {
        Some(list) => list.items().map_or_else(|| vec![list], |items| items.iter().collect()),
        None => Vec::new(),
    };
    let from = match inner.node("from").and_then(DocumentNode::items) {
        Some(_) => inner.read_texts("from").unwrap_or_default(),
        None => inner.read_text("from").into_iter().collect(),
    };
    let spans = names.iter().map(|name| inner.span_of(name)).collect();
    let from_initial = inner.read_flag("from_initial").unwrap_or(true);
    (NodeInputs { from, select, from_initial }, spans)
}
