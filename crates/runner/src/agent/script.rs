//! A scripted agent, for demos and tests: a file says what it prints, writes, calls and decides at
//! each prompt.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gambrel_document::{Document, DocumentFields, DocumentLanguage, DocumentNode};
use gambrel_model::Complaint;
use gambrel_model::text::split_words;
use serde_json::{Value, json};

use super::{AgentJob, TurnEnd};
use crate::context::RunContext;

const TURN_KEYS: &str = "echo say sleep write tools decision reason summary status fail";
const INTERRUPT_CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// A tool call of an agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolUse {
    /// The id of the call, for hooks.
    pub id: String,
    /// The id of the call within its iteration, for keys.
    pub key: String,
    /// The kind or name of the tool.
    pub tool: String,
    /// The agent's own name of the tool, where it differs.
    pub name: String,
    /// Its arguments.
    pub args: Value,
    /// What it returns.
    pub output: Option<String>,
    /// Why it fails.
    pub error: Option<String>,
}

/// How a tool call of a scripted agent ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolUseEnd {
    /// It ran.
    Ran,
    /// It ran, and hooks rewrote its output.
    Rewritten(String),
    /// It was refused, or the task board did, and why.
    Refused(String),
}

/// Plays the entry of the script for this prompt. The last entry repeats.
pub fn run_script(
    context: &RunContext<'_>,
    file: &str,
    job: &AgentJob,
    use_tool: &mut dyn FnMut(&ToolUse) -> ToolUseEnd,
) -> TurnEnd {
    let path = job.cwd.join(file);
    let turn = match read_turn(&path, job.position) {
        Ok(turn) => turn,
        Err(why) => return TurnEnd::Failed(why.to_string()),
    };
    if !wait_for(context, turn.sleep, job.timeout) {
        let is_interrupted = (context.interrupted)().is_some();
        return if is_interrupted { TurnEnd::Interrupted } else { TurnEnd::TimedOut };
    }
    match turn.play(job, use_tool) {
        Ok(()) => turn.fail.map_or(TurnEnd::Completed, TurnEnd::Failed),
        Err(error) => TurnEnd::Failed(format!("the scripted agent cannot write: {error}")),
    }
}

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
enum ScriptError {
    #[error("the scripted agent {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Mistake(Box<Complaint>),
    #[error("{}: `turns` has no entries", .0.display())]
    NoTurns(PathBuf),
}

impl From<Complaint> for ScriptError {
    fn from(complaint: Complaint) -> Self {
        Self::Mistake(Box::new(complaint))
    }
}

#[derive(Default)]
struct ScriptTurn {
    echoes: bool,
    say: Option<String>,
    sleep: Duration,
    write: Vec<(String, String)>,
    tools: Vec<ToolUse>,
    status: Option<String>,
    fail: Option<String>,
}

impl ScriptTurn {
    fn play(
        &self,
        job: &AgentJob,
        use_tool: &mut dyn FnMut(&ToolUse) -> ToolUseEnd,
    ) -> std::io::Result<()> {
        let print = |text: &str| -> std::io::Result<()> {
            let mut file = fs::File::options().create(true).append(true).open(&job.output)?;
            writeln!(file, "{text}")
        };
        if self.echoes {
            print(&job.blocks().join("\n\n"))?;
        }
        if let Some(text) = &self.say {
            print(text)?;
        }
        for tool in &self.tools {
            match use_tool(tool) {
                ToolUseEnd::Ran => {}
                ToolUseEnd::Rewritten(output) => print(&format!("[{}: {output}]", tool.tool))?,
                ToolUseEnd::Refused(reason) => {
                    print(&format!("[{} was refused: {reason}]", tool.tool))?;
                }
            }
        }
        for (path, text) in &self.write {
            let path = job.cwd.join(path);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(path, text)?;
        }
        match &self.status {
            Some(status) => fs::write(&job.status, status),
            None => Ok(()),
        }
    }
}

/// Waits; false when the run was interrupted or the time is over.
fn wait_for(context: &RunContext<'_>, sleep: Duration, timeout: Option<Duration>) -> bool {
    let is_too_long = timeout.is_some_and(|timeout| sleep > timeout);
    let end = Instant::now() + timeout.map_or(sleep, |timeout| sleep.min(timeout));
    while Instant::now() < end {
        if (context.interrupted)().is_some() {
            return false;
        }
        let left = end.saturating_duration_since(Instant::now());
        std::thread::sleep(left.min(INTERRUPT_CHECK_INTERVAL));
    }
    !is_too_long
}

fn read_turn(path: &Path, position: usize) -> Result<ScriptTurn, ScriptError> {
    let text = fs::read_to_string(path)
        .map_err(|source| ScriptError::Unreadable { path: path.to_path_buf(), source })?;
    let document = Document::parse(path, &text, DocumentLanguage::Yaml)?;
    let turns = document.root.get("turns").and_then(DocumentNode::items).unwrap_or_default();
    let Some(node) = turns.get(position).or(turns.last()) else {
        return Err(ScriptError::NoTurns(path.to_path_buf()));
    };
    let mut fields = DocumentFields::new(&document, node);
    fields.warn_unknown_keys(&split_words(TURN_KEYS));
    let turn = ScriptTurn {
        echoes: fields.read_flag("echo").unwrap_or(false),
        say: fields.read_text("say"),
        sleep: fields.read_seconds("sleep").unwrap_or_default(),
        write: read_pairs(&fields),
        tools: read_tools(&fields),
        status: read_status(&mut fields),
        fail: fields.read_text("fail"),
    };
    match fields.complaints.first() {
        Some(complaint) => Err(complaint.clone().into()),
        None => Ok(turn),
    }
}

fn read_pairs(fields: &DocumentFields<'_>) -> Vec<(String, String)> {
    let entries = fields.node("write").map(DocumentNode::entries).unwrap_or_default();
    let pair = |(key, value): &(DocumentNode, DocumentNode)| {
        Some((key.text()?.to_owned(), value.text()?.to_owned()))
    };
    entries.iter().filter_map(pair).collect()
}

fn read_tools(fields: &DocumentFields<'_>) -> Vec<ToolUse> {
    let items = fields.node("tools").and_then(DocumentNode::items).unwrap_or_default();
    let text = |item: &DocumentNode, key: &str| item.get(key)?.text().map(str::to_owned);
    let tool = |item: &DocumentNode| ToolUse {
        tool: text(item, "tool").unwrap_or_else(|| "shell".to_owned()),
        args: item.get("args").map(DocumentNode::to_value).unwrap_or_default(),
        output: text(item, "output"),
        error: text(item, "error"),
        ..ToolUse::default()
    };
    items.iter().map(tool).collect()
}

/// What the agent writes to `status.json`: `status` as it is, else the decision.
fn read_status(fields: &mut DocumentFields<'_>) -> Option<String> {
    if let Some(raw) = fields.read_text("status") {
        return Some(raw);
    }
    let decision = fields.read_word("decision", &["continue", "stop", "error", "none"]);
    let decision = decision.unwrap_or("continue");
    let status = json!({
        "decision": decision,
        "reason": fields.read_text("reason").unwrap_or_default(),
        "summary": fields.read_text("summary").unwrap_or_default(),
    });
    (decision != "none").then(|| status.to_string())
}
