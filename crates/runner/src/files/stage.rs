//! Reads a stage: `stage.yaml` or the older `loop.yaml`.

use std::collections::BTreeMap;
use std::path::Path;

use gambrel_document::{DocumentFields, DocumentNode, read_yaml_map};
use gambrel_model::text::split_words;
use gambrel_model::{Complaint, SourceSpan, SpannedText};

use super::guardrails::WrittenGuardrails;
use super::termination::WrittenTermination;
use crate::plan::PermissionDefault;

/// Seconds between two iterations of a stage that names none.
pub const DEFAULT_DELAY_SECONDS: f64 = 3.0;

/// The keys of a stage.
pub const STAGE_KEYS: &str = "\
    name description version termination completion min_iterations consensus provider model delay \
    commit check_before prompt context output_path commands items output_parse guardrails \
    permissions hooks disable_global_hooks";
/// The words of `permissions`.
pub const PERMISSION_WORDS: [&str; 3] = ["allow", "ask", "deny"];
/// Keys that are accepted and have no effect.
const UNUSED_KEYS: [&str; 2] = ["items", "output_parse"];

/// A stage as written.
#[derive(Debug, Clone, Default)]
pub struct StageFile {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// When it ends.
    pub termination: WrittenTermination,
    /// The agent.
    pub provider: Option<SpannedText>,
    /// The model.
    pub model: Option<String>,
    /// Seconds between two iterations.
    pub delay: Option<f64>,
    /// Whether each iteration is committed to git.
    pub commit: Option<bool>,
    /// The name of the prompt's file, and where it is written.
    pub prompt: Option<(String, SourceSpan)>,
    /// The value of `${CONTEXT}`.
    pub context: Option<String>,
    /// The value of `${OUTPUT_PATH}`.
    pub output_path: Option<String>,
    /// Named commands for the agent.
    pub commands: BTreeMap<String, String>,
    /// The limits at which it completes.
    pub guardrails: WrittenGuardrails,
    /// What happens to a tool call about which no hook decides.
    pub permissions: Option<PermissionDefault>,
}

/// Parses the text of a stage. Errors do not stop it.
pub fn parse_stage(path: &Path, text: &str) -> (StageFile, Vec<Complaint>) {
    let words = ("stage", "begin with `name:` and `termination:`");
    read_yaml_map(path, text, words, |fields| read_stage(fields, path))
}

fn read_stage(fields: &mut DocumentFields<'_>, path: &Path) -> StageFile {
    fields.warn_unknown_keys(&split_words(STAGE_KEYS));
    note_unused_keys(fields, &UNUSED_KEYS);
    let prompt = fields.read_spanned("prompt").map(|written| (written.text, written.spot));
    let mut stage = StageFile {
        name: fields.read_text("name").unwrap_or_default(),
        description: fields.read_text("description").unwrap_or_default(),
        termination: read_termination(fields),
        provider: fields.read_spanned("provider"),
        model: fields.read_text("model"),
        delay: fields.read_seconds("delay").map(|delay| delay.as_secs_f64()),
        commit: fields.read_flag("commit"),
        prompt,
        context: fields.read_text("context"),
        output_path: fields.read_text("output_path"),
        commands: read_commands(fields),
        guardrails: WrittenGuardrails::read(fields),
        permissions: read_permissions(fields),
    };
    check_name(&mut stage, fields, path);
    stage
}

/// The stage's name is that of its folder. A name that differs is a warning, a missing one an
/// error.
fn check_name(stage: &mut StageFile, fields: &mut DocumentFields<'_>, path: &Path) {
    let folder = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy());
    let folder = folder.unwrap_or_default();
    if stage.name.is_empty() {
        fields.add_error("name", "`name` is missing", "write the name of the stage's folder");
        stage.name = folder.into_owned();
        return;
    }
    let is_stage_folder = path.file_stem().is_some_and(|stem| stem == "stage" || stem == "loop");
    if is_stage_folder && stage.name != folder {
        let node = fields.node("name").map(|node| fields.span_of(node)).unwrap_or_default();
        let message = format!("the stage `{}` is in the folder `{folder}`", stage.name);
        let complaint = Complaint::warning(node, message);
        fields.complaints.push(complaint.with_help("give both the same name"));
    }
}

fn read_termination(fields: &mut DocumentFields<'_>) -> WrittenTermination {
    let old = WrittenTermination::read_old(fields);
    let check_before = fields.read_flag("check_before");
    let new = WrittenTermination::read(fields, "termination");

    let missing = new.as_ref().or(old.as_ref()).is_none_or(|written| written.kind.is_none());
    let is_reported = fields.has_key("termination") && !fields.complaints.is_empty();
    if missing && !is_reported {
        let help = "write `termination: {type: fixed, iterations: 3}`, or the type `judgment` or \
                    `queue`";
        fields.add_error("termination", "`termination.type` is missing", help);
    }
    let mut written = old.unwrap_or_default().overridden_by(new.unwrap_or_default());
    written.check_before = written.check_before.or(check_before);
    let judge = fields.node("termination").and_then(|node| node.get("judge"));
    if let Some(judge) = judge.filter(|node| !node.is_null()) {
        let span = fields.span_of(judge);
        fields.complaints.push(unused_note(span, "judge"));
    }
    written
}

/// The note about a key without effect.
pub fn unused_note(span: SourceSpan, key: &str) -> Complaint {
    Complaint::note(span, format!("`{key}` is not used by gambrel"))
}

/// Notes keys that are accepted and have no effect.
pub fn note_unused_keys(fields: &mut DocumentFields<'_>, keys: &[&str]) {
    for key in keys {
        if let Some(node) = fields.node(key) {
            let span = fields.span_of(node);
            fields.complaints.push(unused_note(span, key));
        }
    }
}

/// Reads `commands`: a name and a command each.
pub fn read_commands(fields: &mut DocumentFields<'_>) -> BTreeMap<String, String> {
    let Some(node) = fields.node("commands") else { return BTreeMap::new() };
    let pair = |(key, value): &(DocumentNode, DocumentNode)| {
        Some((key.text()?.to_owned(), value.text()?.to_owned()))
    };
    let pairs: Option<BTreeMap<_, _>> = node.entries().iter().map(pair).collect();
    match pairs.filter(|_| node.is_map()) {
        Some(pairs) => pairs,
        None => {
            let message = "`commands` should be a map of names and commands";
            fields.add_error("commands", message, "write `commands: {test: cargo test}`");
            BTreeMap::new()
        }
    }
}

/// Reads `permissions`.
pub fn read_permissions(fields: &mut DocumentFields<'_>) -> Option<PermissionDefault> {
    fields.read_word("permissions", &PERMISSION_WORDS).map(|word| match word {
        "ask" => PermissionDefault::Ask,
        "deny" => PermissionDefault::Deny,
        _ => PermissionDefault::Allow,
    })
}
