//! The action `spawn`: starts a child pipeline in its own directory and returns the content of its
//! `output.json`. The shell action runs and ends the process.

use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use gambrel_model::action::{Action, Job};
use gambrel_model::call::{Call, Program, SideFile};
use gambrel_model::outcome::{End, Outcome};
use gambrel_model::request::{BodyError, SpawnRequestBody, from_body};
use serde_json::{Value, json};

use crate::parent_pause::ParentPause;
use crate::shell::ShellAction;
use gambrel_process::settings::Settings;

/// The action's name.
const NAME: &str = "spawn";
/// Names the firing that started a child.
const PARENT_FILE: &str = "parent.json";
/// The most children with one name.
const MAX_CHILD_SUFFIX: u32 = 10_000;
/// The most bytes of a child's output.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;

/// Starts child pipelines.
pub struct ChildPipelineAction {
    runner: Vec<String>,
    shell: ShellAction,
}

impl ChildPipelineAction {
    /// Creates the action. `runner` is the program that runs a pipeline, and its first arguments.
    pub fn new(settings: Settings, runner: Vec<String>) -> Self {
        Self { runner, shell: ShellAction::new(settings) }
    }

    /// The call with its program, and its directory.
    fn prepare_call(&self, call: &Call) -> Result<PreparedChild, ChildError> {
        let spawn: SpawnRequestBody = from_body(&call.body)?;
        let key = spawn.firing_key.as_deref();
        let known = key.and_then(|key| find_child(&spawn.children, &spawn.name, key));
        let is_resumed = known.is_some();
        let folder = match known {
            Some(folder) => folder,
            None => create_child_dir(&spawn.children, &spawn.name).map_err(|source| {
                ChildError::Folder { path: spawn.children.display().to_string(), source }
            })?,
        };
        let inputs = folder.join("inputs.json");
        let text = |path: &Path| path.display().to_string();
        let mut own = vec![
            spawn.pipeline.clone(),
            "--session-dir".to_owned(),
            text(&folder),
            "--inputs".to_owned(),
            text(&inputs),
        ];
        own.extend(is_resumed.then(|| "--resume".to_owned()));

        let mut call = call.clone();
        call.program = Program::Exec(self.runner.iter().cloned().chain(own).collect());
        let file = |path: PathBuf, value: &Value| SideFile {
            path,
            text: Some(format!("{value}\n")),
            temporary: false,
            lasting: true,
        };
        call.files.push(file(inputs, &spawn.inputs));
        let parent = key.map(|key| json!({"firing_key": key}));
        call.files.extend(parent.map(|parent| file(folder.join(PARENT_FILE), &parent)));
        let is_complete = is_resumed && is_complete(&folder);
        Ok(PreparedChild { call, folder, is_complete, is_in_run: key.is_some() })
    }

    /// Runs one job. The directory is chosen before the call starts, so that children are numbered
    /// in the order of their calls.
    fn run_job(&self, job: &Job<'_>) -> Outcome {
        let PreparedChild { call, folder, is_complete, is_in_run } =
            match self.prepare_call(job.call) {
                Ok(prepared) => prepared,
                Err(error) => return Outcome::failed_to_start(error),
            };
        // A child that has ended is not run again.
        let ended = match is_complete {
            true => Some(Outcome::from_end(End::Exited(0))),
            false => {
                let waits = is_in_run && call.limits.blocking;
                let _pause = waits.then(|| begin_pause(&folder));
                self.shell.run(&[Job { call: &call, record: job.record }]).pop()
            }
        };
        let mut outcome = ended.unwrap_or_else(|| Outcome::failed_to_start("the call did not run"));
        let (output, remark) = read_output(&folder);
        outcome.remarks.extend(remark);
        outcome.answer = Some(json!({"folder": folder.display().to_string(), "output": output}));
        outcome
    }
}

/// A call that runs a child.
struct PreparedChild {
    call: Call,
    folder: PathBuf,
    /// Whether the child has ended already.
    is_complete: bool,
    /// Whether its parent is a run of gambrel.
    is_in_run: bool,
}

/// Marks the parent as paused while it waits for the child in `folder`.
fn begin_pause(folder: &Path) -> Option<ParentPause> {
    let parent = folder.parent()?.parent()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    ParentPause::begin(parent, folder, u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}

/// Why a child cannot be started.
#[derive(Debug, thiserror::Error)]
enum ChildError {
    #[error(transparent)]
    Body(#[from] BodyError),
    #[error("{path}: {source}")]
    Folder { path: String, source: std::io::Error },
}

impl Action for ChildPipelineAction {
    fn name(&self) -> &'static str {
        NAME
    }

    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
        jobs.iter().map(|job| self.run_job(job)).collect()
    }
}

/// The directory of the child that an earlier firing with this key started.
fn find_child(children: &Path, name: &str, key: &str) -> Option<PathBuf> {
    (1..MAX_CHILD_SUFFIX)
        .map(|nth| child_dir(children, name, nth))
        .take_while(|folder| folder.is_dir())
        .find(|folder| read_json(&folder.join(PARENT_FILE))["firing_key"] == key)
}

/// Whether a child has ended well.
fn is_complete(folder: &Path) -> bool {
    read_json(&folder.join("state.json"))["status"] == "complete"
}

fn read_json(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn child_dir(children: &Path, name: &str, nth: u32) -> PathBuf {
    match nth {
        1 => children.join(name),
        _ => children.join(format!("{name}-{nth}")),
    }
}

/// Creates a new directory: `name`, `name-2`, `name-3` …
fn create_child_dir(children: &Path, name: &str) -> std::io::Result<PathBuf> {
    let mut private = fs::DirBuilder::new();
    private.mode(0o700);
    private.recursive(true).create(children)?;
    private.recursive(false);

    for nth in 1..MAX_CHILD_SUFFIX {
        let folder = child_dir(children, name, nth);
        match private.create(&folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|()| folder),
        }
    }
    Err(std::io::Error::other("too many children with one name"))
}

/// The child's output as text, and a remark if it is not usable.
fn read_output(folder: &Path) -> (String, Option<String>) {
    let path = folder.join("output.json");
    let Ok(file) = fs::File::open(&path) else { return (String::new(), None) };
    let mut bytes = Vec::new();
    if let Err(error) = file.take(MAX_OUTPUT_BYTES + 1).read_to_end(&mut bytes) {
        return (String::new(), Some(format!("output.json: {error}")));
    }
    if bytes.len() as u64 > MAX_OUTPUT_BYTES {
        return (
            String::new(),
            Some(format!("output.json has more than {MAX_OUTPUT_BYTES} bytes")),
        );
    }
    (String::from_utf8_lossy(&bytes).trim_end().to_owned(), None)
}
