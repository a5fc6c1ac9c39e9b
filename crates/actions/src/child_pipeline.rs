//! The action `spawn`: starts a child pipeline in its own directory and returns the content of its
//! `output.json`. The shell action runs and ends the process.

use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use gambrel_model::action::{Action, Job};
use gambrel_model::call::{Call, Program, SideFile};
use gambrel_model::outcome::{End, Outcome};
use gambrel_model::request::{SpawnRequestBody, from_body};
use serde_json::json;

use crate::shell::ShellAction;
use gambrel_process::settings::Settings;

/// The action's name.
const NAME: &str = "spawn";
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

    /// The call with its program, and its directory, which is created.
    fn prepare_call(&self, call: &Call) -> Result<(Call, PathBuf), String> {
        let spawn: SpawnRequestBody = from_body(&call.body).map_err(|error| error.to_string())?;
        let folder = create_child_dir(&spawn.children, &spawn.name)
            .map_err(|error| format!("{}: {error}", spawn.children.display()))?;
        let inputs = folder.join("inputs.json");
        let text = |path: &Path| path.display().to_string();
        let own = [
            spawn.pipeline.clone(),
            "--session-dir".to_owned(),
            text(&folder),
            "--inputs".to_owned(),
            text(&inputs),
        ];

        let mut call = call.clone();
        call.program = Program::Exec(self.runner.iter().cloned().chain(own).collect());
        let given = SideFile {
            path: inputs,
            text: Some(format!("{}\n", spawn.inputs)),
            temporary: false,
            lasting: false,
        };
        call.files.push(given);
        Ok((call, folder))
    }

    /// Runs one job. The directory is chosen before the call starts, so that children are numbered
    /// in the order of their calls.
    fn run_job(&self, job: &Job<'_>) -> Outcome {
        let (call, folder) = match self.prepare_call(job.call) {
            Ok(prepared) => prepared,
            Err(why) => return Outcome::from_end(End::FailedToStart(why)),
        };
        let ended = self.shell.run(&[Job { call: &call, record: job.record }]).pop();
        let mut outcome = ended.unwrap_or_else(|| {
            Outcome::from_end(End::FailedToStart("the call did not run".into()))
        });
        let (output, remark) = read_output(&folder);
        outcome.remarks.extend(remark);
        outcome.answer = Some(json!({"folder": folder.display().to_string(), "output": output}));
        outcome
    }
}

impl Action for ChildPipelineAction {
    fn name(&self) -> &'static str {
        NAME
    }

    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
        jobs.iter().map(|job| self.run_job(job)).collect()
    }
}

/// Creates a new directory: `name`, `name-2`, `name-3` …
fn create_child_dir(children: &Path, name: &str) -> std::io::Result<PathBuf> {
    let mut private = fs::DirBuilder::new();
    private.mode(0o700);
    private.recursive(true).create(children)?;
    private.recursive(false);

    for nth in 1..MAX_CHILD_SUFFIX {
        let folder = match nth {
            1 => children.join(name),
            _ => children.join(format!("{name}-{nth}")),
        };
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
