//! The files of a run folder.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::plan::Plan;

/// The folder of a run, and the names in it.
#[derive(Debug, Clone)]
pub struct RunFolder {
    /// The folder.
    pub path: PathBuf,
}

/// The files of one iteration.
#[derive(Debug, Clone)]
pub struct IterationFiles {
    /// The folder.
    pub folder: PathBuf,
    /// What the agent reads.
    pub context: PathBuf,
    /// What the agent decides.
    pub status: PathBuf,
    /// What the agent did.
    pub result: PathBuf,
    /// What the agent prints.
    pub output: PathBuf,
    /// The session of an agent that has one.
    pub transcript: PathBuf,
    /// What the agent prints where it writes `output.md` itself.
    pub output_log: PathBuf,
}

/// Files that belong to one attempt at an iteration.
const ATTEMPT_FILES: [&str; 5] =
    ["status.json", "result.json", "output.md", "output.log", "transcript.jsonl"];

impl RunFolder {
    /// The run folder at a path.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// `plan.json`.
    pub fn plan_file(&self) -> PathBuf {
        self.path.join("plan.json")
    }

    /// `state.json`.
    pub fn state_file(&self) -> PathBuf {
        self.path.join("state.json")
    }

    /// `output.json`.
    pub fn output_file(&self) -> PathBuf {
        self.path.join("output.json")
    }

    /// The file that holds the run before its next iteration while it exists.
    pub fn pause_file(&self) -> PathBuf {
        self.path.join("pause")
    }

    /// The folder of a node.
    pub fn stage_folder(&self, plan: &Plan, node: usize) -> PathBuf {
        let id = plan.nodes.get(node).map(|node| node.id.as_str()).unwrap_or_default();
        self.path.join(format!("stage-{node:02}-{id}"))
    }

    /// The progress file of a node.
    pub fn progress_file(&self, plan: &Plan, node: usize) -> PathBuf {
        match plan.is_single_stage() {
            true => self.path.join(format!("progress-{}.md", plan.session.name)),
            false => self.stage_folder(plan, node).join("progress.md"),
        }
    }

    /// The files of an iteration.
    pub fn iteration_files(&self, plan: &Plan, node: usize, iteration: u32) -> IterationFiles {
        let iterations = self.stage_folder(plan, node).join("iterations");
        let folder = iterations.join(format!("{iteration:03}"));
        IterationFiles {
            context: folder.join("context.json"),
            status: folder.join("status.json"),
            result: folder.join("result.json"),
            output: folder.join("output.md"),
            transcript: folder.join("transcript.jsonl"),
            output_log: folder.join("output.log"),
            folder,
        }
    }

    /// The outputs of a node's iterations, oldest first.
    pub fn stage_outputs(&self, plan: &Plan, node: usize) -> Vec<PathBuf> {
        let iterations = self.stage_folder(plan, node).join("iterations");
        let entries = fs::read_dir(iterations).into_iter().flatten().flatten();
        let outputs = entries.map(|entry| entry.path().join("output.md"));
        let mut outputs: Vec<PathBuf> = outputs.filter(|path| path.is_file()).collect();
        outputs.sort_by_key(|path| (iteration_number(path), path.clone()));
        outputs
    }

    /// Creates the folder of a node and its progress file, and links `progress.md` to it.
    pub fn create_stage(&self, plan: &Plan, node: usize) -> io::Result<()> {
        fs::create_dir_all(self.stage_folder(plan, node).join("iterations"))?;
        let progress = self.progress_file(plan, node);
        if !progress.exists() {
            write_durably(&progress, progress_text(plan).as_bytes())?;
        }
        let link = self.path.join("progress.md");
        let target = progress.strip_prefix(&self.path).unwrap_or(&progress);
        if fs::read_link(&link).is_ok_and(|current| current == target) {
            return Ok(());
        }
        match fs::symlink_metadata(&link) {
            // An agent that saves by rename has put its own file here.
            Ok(known) if !known.is_symlink() => return Ok(()),
            Ok(_) => fs::remove_file(&link)?,
            Err(_) => {}
        }
        std::os::unix::fs::symlink(target, &link)
    }

    /// Creates the folder of an iteration. What an earlier attempt left is moved to `attempt-K`.
    pub fn create_iteration(&self, files: &IterationFiles) -> io::Result<()> {
        fs::create_dir_all(&files.folder)?;
        let left: Vec<&str> = ATTEMPT_FILES
            .into_iter()
            .filter(|name| files.folder.join(name).symlink_metadata().is_ok())
            .collect();
        if left.is_empty() {
            return Ok(());
        }
        let taken = |n: &u32| files.folder.join(format!("attempt-{n}")).exists();
        let number = (1..u32::MAX).find(|n| !taken(n)).unwrap_or(u32::MAX);
        let folder = files.folder.join(format!("attempt-{number}"));
        fs::create_dir_all(&folder)?;
        for name in left {
            fs::rename(files.folder.join(name), folder.join(name))?;
        }
        Ok(())
    }
}

/// The number of the iteration whose folder contains a file.
fn iteration_number(path: &Path) -> u32 {
    let name = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    name.and_then(|name| name.parse().ok()).unwrap_or(u32::MAX)
}

fn progress_text(plan: &Plan) -> String {
    match plan.is_single_stage() {
        true => format!(
            "# Progress: {}\n\nVerify: (none)\n\n## Codebase Patterns\n(Add patterns…)\n\n---\n",
            plan.session.name
        ),
        false => "# Stage Progress\n\n---\n".to_owned(),
    }
}

/// Writes a file so that it is either the old one or the new one after a crash of the machine.
pub fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_file(path, bytes, fs::File::sync_data)
}

/// Writes a file so that it is either the old one or the new one after a kill. For a view that can
/// be written again.
pub fn write_view(path: &Path, value: &Value) -> io::Result<()> {
    replace_file(path, &to_json_bytes(value)?, |_| Ok(()))
}

fn replace_file(
    path: &Path,
    bytes: &[u8],
    sync: impl FnOnce(&fs::File) -> io::Result<()>,
) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    let temporary = PathBuf::from(temporary);
    let mut file = fs::File::create(&temporary)?;
    file.write_all(bytes)?;
    sync(&file)?;
    fs::rename(&temporary, path)
}

/// Writes a value as indented JSON.
pub fn write_json(path: &Path, value: &Value) -> io::Result<()> {
    write_durably(path, &to_json_bytes(value)?)
}

fn to_json_bytes(value: &Value) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value).map_err(io::Error::other)?;
    text.push(b'\n');
    Ok(text)
}
