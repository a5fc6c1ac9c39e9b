//! The action `spawn`: starts a child pipeline in a folder of its own and brings back what it left
//! in `output.json`. How the process is run and ended is the shell action's matter.

use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use gambrel_model::action::{Action, Job};
use gambrel_model::call::{Call, Program, SideFile};
use gambrel_model::outcome::{End, Outcome};
use gambrel_model::request::{SpawnRequestBody, from_body};
use serde_json::json;

use crate::settings::Settings;
use crate::shell::ShellAction;

/// Its word.
const NAME: &str = "spawn";
/// So many children may bear one name.
const SAME: u32 = 10_000;
/// What is read of a child's output.
const OUTPUT: u64 = 1 << 20;

/// Starts child pipelines.
pub struct SpawnAction {
    runner: Vec<String>,
    shell: ShellAction,
}

impl SpawnAction {
    /// With the words that run a pipeline: the program, and what comes before the pipeline.
    pub fn new(settings: Settings, runner: Vec<String>) -> Self {
        Self { runner, shell: ShellAction::new(settings) }
    }

    /// The call with its program and its folder; the folder is made.
    fn prepared(&self, call: &Call) -> Result<(Call, PathBuf), String> {
        let spawn: SpawnRequestBody = from_body(&call.body)?;
        let folder = fresh(&spawn.children, &spawn.name)
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

    /// The folder is chosen before a call is sent away, so that children are numbered in the order
    /// in which they were asked for.
    fn one(&self, job: &Job<'_>) -> Outcome {
        let (call, folder) = match self.prepared(job.call) {
            Ok(prepared) => prepared,
            Err(why) => return Outcome::from_end(End::FailedToStart(why)),
        };
        let ended = self.shell.run(&[Job { call: &call, record: job.record }]).pop();
        let mut outcome =
            ended.unwrap_or_else(|| Outcome::from_end(End::FailedToStart("not run".into())));
        let (output, remark) = output(&folder);
        outcome.remarks.extend(remark);
        outcome.answer = Some(json!({"folder": folder.display().to_string(), "output": output}));
        outcome
    }
}

impl Action for SpawnAction {
    fn name(&self) -> &'static str {
        NAME
    }

    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
        jobs.iter().map(|job| self.one(job)).collect()
    }
}

/// A folder that nobody had before: `name`, `name-2`, `name-3` …
fn fresh(children: &Path, name: &str) -> std::io::Result<PathBuf> {
    let mut private = fs::DirBuilder::new();
    private.mode(0o700);
    private.recursive(true).create(children)?;
    private.recursive(false);
    for nth in 1..SAME {
        let folder = match nth {
            1 => children.join(name),
            _ => children.join(format!("{name}-{nth}")),
        };
        match private.create(&folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|()| folder),
        }
    }
    Err(std::io::Error::other("too many children of one name"))
}

/// What a child left, as text; and what is wrong with it, if anything.
fn output(folder: &Path) -> (String, Option<String>) {
    let path = folder.join("output.json");
    let Ok(file) = fs::File::open(&path) else { return (String::new(), None) };
    let mut bytes = Vec::new();
    if let Err(error) = file.take(OUTPUT + 1).read_to_end(&mut bytes) {
        return (String::new(), Some(format!("output.json: {error}")));
    }
    if bytes.len() as u64 > OUTPUT {
        return (String::new(), Some(format!("output.json has more than {OUTPUT} bytes")));
    }
    (String::from_utf8_lossy(&bytes).trim_end().to_owned(), None)
}
