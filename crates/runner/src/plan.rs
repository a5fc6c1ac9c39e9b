//! The plan of a run: what a pipeline, a stage or a prompt was compiled to. It is stored as
//! `plan.json`, so that a resumed run needs no other file. It must not know how it is executed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gambrel_model::digest::sha256;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of `plan.json`.
pub const PLAN_VERSION: u32 = 1;

/// A compiled plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The version of the format.
    pub version: u32,
    /// The file that the plan was compiled from.
    pub source: PlanSource,
    /// The session that runs it.
    pub session: PlanSession,
    /// The pipeline.
    pub pipeline: PipelineInfo,
    /// What happens to a tool call about which no hook decides.
    #[serde(default)]
    pub permissions: PermissionDefault,
    /// The nodes, in order.
    pub nodes: Vec<PlanNode>,
}

impl Plan {
    /// Whether the plan is one stage that was run alone.
    pub fn is_single_stage(&self) -> bool {
        self.pipeline.kind == RunKind::Loop
    }
}

/// The file that a plan was compiled from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanSource {
    /// Its path; empty for a prompt on the command line.
    pub path: PathBuf,
    /// The hash of that file.
    pub sha256: String,
    /// Every file that was read, with its hash.
    #[serde(default)]
    pub files: BTreeMap<PathBuf, String>,
}

impl PlanSource {
    /// Whether a file differs from what was compiled.
    pub fn has_changed(&self) -> bool {
        let hash = |path: &PathBuf| std::fs::read(path).map(|bytes| hash_text(&bytes));
        self.files.iter().any(|(path, known)| hash(path).map_or(true, |now| now != *known))
    }
}

/// The SHA-256 of some bytes as text.
pub fn hash_text(bytes: &[u8]) -> String {
    sha256(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The session of a plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanSession {
    /// Its name.
    pub name: String,
    /// Distinguishes this run from earlier ones in the same folder.
    #[serde(default)]
    pub run_id: String,
    /// When the plan was compiled, as UTC text.
    pub created_at: String,
    /// Files that every node receives, as absolute paths.
    pub inputs: Vec<PathBuf>,
    /// The values that a parent run passed with `--inputs`.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub from_parent: Value,
}

/// Whether a run is a stage alone or a pipeline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    /// One stage.
    #[default]
    Loop,
    /// A pipeline of nodes.
    Pipeline,
}

/// The pipeline of a plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PipelineInfo {
    /// Its name; the stage's name for a stage alone.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether it is a stage alone.
    pub kind: RunKind,
    /// Named commands for the agent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub commands: BTreeMap<String, String>,
    /// The file whose `hooks:` belong to the whole run, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook_file: Option<PlanFile>,
}

/// A file of a plan that may contain hooks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanFile {
    /// The file.
    pub path: PathBuf,
    /// Whether it was found by name, so that its hooks and commands need trust.
    pub by_name: bool,
}

/// What happens to a tool call about which no hook decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PermissionDefault {
    /// It runs.
    #[default]
    Allow,
    /// A person is asked.
    Ask,
    /// It is refused.
    Deny,
}

/// One node of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanNode {
    /// Its position in the plan: `0`, `1`.
    pub path: String,
    /// Its id, which is also the name of its stage in variables.
    pub id: String,
    /// Always `stage`.
    pub kind: String,
    /// The name of the stage folder; empty for an inline prompt.
    #[serde(default, rename = "ref", skip_serializing_if = "String::is_empty")]
    pub stage: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// When it ends.
    pub termination: Termination,
    /// What it reads of other nodes.
    #[serde(default)]
    pub inputs: NodeInputs,
    /// The agent.
    pub provider: NodeProvider,
    /// The file of the prompt; none for an inline prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_path: Option<PathBuf>,
    /// The text of the prompt, with its variables.
    pub prompt: String,
    /// The value of `${CONTEXT}`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// The value of `${OUTPUT_PATH}`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output_path: String,
    /// Seconds between two iterations.
    pub delay: f64,
    /// Whether each iteration is committed to git.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub commit: bool,
    /// Seconds after which the agent is ended and the stage completes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_runtime_seconds: Option<f64>,
    /// The cost in US dollars at which the stage completes after an iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
    /// The tokens at which the stage completes after an iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Named commands for the agent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub commands: BTreeMap<String, String>,
    /// The spec that the agent works through, for a spec file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<SpecText>,
    /// The stage's own file, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook_file: Option<PlanFile>,
}

/// A spec file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SpecText {
    /// Its path.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// What the user adds to the prompt with `--extra`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub extra: String,
}

/// When a node ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Termination {
    /// The rule.
    #[serde(rename = "type")]
    pub kind: TerminationKind,
    /// The most iterations.
    pub max: u32,
    /// The number of iterations of a fixed stage, where it differs from the maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u32>,
    /// The first iteration after which a judgment counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_iterations: Option<u32>,
    /// How many iterations in a row must decide `stop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consensus: Option<u32>,
    /// The command that lists what is left in a queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Whether the queue is asked before the first iteration too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub check_before: bool,
}

/// The rule by which a node ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TerminationKind {
    /// After a number of iterations.
    Fixed,
    /// After some iterations in a row that decide `stop`.
    Judgment,
    /// When a command prints nothing.
    Queue,
    /// When the agent calls the tool `session-complete`.
    Session,
}

/// What a node reads of other nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeInputs {
    /// The ids of earlier nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<String>,
    /// Which of their outputs.
    pub select: InputSelect,
    /// Whether it receives the inputs of the run.
    pub from_initial: bool,
}

impl Default for NodeInputs {
    fn default() -> Self {
        Self { from: Vec::new(), select: InputSelect::Latest, from_initial: true }
    }
}

/// Which outputs of an earlier node a node reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InputSelect {
    /// The newest.
    #[default]
    Latest,
    /// All of them.
    All,
}

/// The agent of a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeProvider {
    /// The name or SPEC as written.
    #[serde(rename = "type")]
    pub name: String,
    /// The model; empty where the agent chooses.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The SPEC in use: `command:…`, `script:…` or `acp:…`.
    pub spec: String,
    /// Whether the project's files name a command, so that it needs trust.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_project: bool,
}
