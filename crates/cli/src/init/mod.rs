//! `gambrel init`: writes commented files to start with. Files that exist stay; `--force` replaces
//! generated types and schemas.

mod starters;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, ValueEnum};
use serde_json::json;

use self::starters::{StarterFile, next_steps, starter_files};
use crate::args::UsageError;
use crate::{open, printer};

/// Arguments of `init`.
#[derive(Debug, Args)]
#[command(after_help = "hooks     .gambrel/hooks.yaml and its JSON Schema for editors
claude    .claude/settings.json and a hook script
pipeline  a pipeline or stage for `gambrel run`: ralph, refine or tdd
omp       types, an example module and a tsconfig for .omp/hooks

Your files are never replaced. Project hooks run after you trust them: see `gambrel trust`.")]
pub struct InitArgs {
    /// Write files of this kind.
    #[arg(value_name = "hooks|claude|omp|pipeline")]
    pub dialect: InitTarget,
    /// Write this starter (for `pipeline`).
    pub name: Option<PipelineStarter>,
    /// Replace existing types, schemas and tsconfig; nothing else is replaced.
    #[arg(long)]
    pub force: bool,
    /// Print what happened to each file as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Kinds of files to start with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InitTarget {
    /// oh-my-pi and pi: TypeScript modules.
    Omp,
    /// The hooks of every agent: .gambrel/hooks.yaml.
    Hooks,
    /// Claude Code: settings and a hook script.
    Claude,
    /// A pipeline or stage for `gambrel run`.
    Pipeline,
}

/// Pipelines and stages to start with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PipelineStarter {
    /// One task per iteration, until no task is open.
    Ralph,
    /// A draft, then reviews until they find nothing.
    Refine,
    /// A failing test, the code, a clean-up.
    Tdd,
}

impl PipelineStarter {
    /// The name of the run.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ralph => "ralph",
            Self::Refine => "refine",
            Self::Tdd => "tdd",
        }
    }
}

/// What happened to a file.
#[derive(Clone, Copy, PartialEq)]
enum InitResult {
    Written,
    Replaced,
    Same,
    Kept,
}

impl InitResult {
    fn as_str(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Replaced => "replaced",
            Self::Same => "same",
            Self::Kept => "kept",
        }
    }
}

/// A file and what happened to it.
struct InitFile {
    shown: String,
    path: PathBuf,
    result: InitResult,
    is_generated: bool,
}

/// Writes the missing files.
pub fn run(folder: Option<PathBuf>, args: &InitArgs) -> anyhow::Result<u8> {
    check_args(args)?;
    let setup = open::build_setup(folder, None)?;
    let root = open::project_folder(&setup);
    // In a subfolder of the project a relative name would point to the wrong file.
    let elsewhere = setup.folder.is_none() && root != setup.project_root(None);

    let mut files = Vec::new();
    for StarterFile { path: name, text, is_generated } in starter_files(args.dialect, args.name) {
        let path = root.join(name);
        let result = write_file(&path, &text, args.force && is_generated)
            .with_context(|| path.display().to_string())?;
        let shown = if elsewhere { path.display().to_string() } else { name.to_owned() };
        files.push(InitFile { shown, path, result, is_generated });
    }

    print_results(args, &files);
    Ok(0)
}

/// A name belongs to `pipeline`, which needs one.
fn check_args(args: &InitArgs) -> Result<(), UsageError> {
    let message = match (args.dialect, args.name) {
        (InitTarget::Pipeline, None) => {
            "name a starter: `gambrel init pipeline ralph`, `refine` or `tdd`"
        }
        (InitTarget::Pipeline, Some(_)) | (_, None) => return Ok(()),
        (_, Some(_)) => "only `init pipeline` takes the name of a starter",
    };
    Err(UsageError(message.to_owned()))
}

fn write_file(path: &Path, text: &str, replace: bool) -> anyhow::Result<InitResult> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    match fs::File::create_new(path) {
        Ok(mut file) => {
            std::io::Write::write_all(&mut file, text.as_bytes())?;
            Ok(InitResult::Written)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            if fs::read(path).is_ok_and(|there| there == text.as_bytes()) {
                return Ok(InitResult::Same);
            }
            if !replace {
                return Ok(InitResult::Kept);
            }
            fs::write(path, text)?;
            Ok(InitResult::Replaced)
        }
        Err(error) => Err(error.into()),
    }
}

fn print_results(args: &InitArgs, files: &[InitFile]) {
    if args.json {
        let files =
            files.iter().map(|file| json!({"file": file.path, "fate": file.result.as_str()}));
        return printer::print_json(&json!({"files": files.collect::<Vec<_>>()}));
    }

    for file in files {
        let more = match (file.result, file.is_generated) {
            (InitResult::Kept, true) => "  (differs; --force replaces it)",
            (InitResult::Kept, false) => "  (your file stays as it is)",
            _ => "",
        };
        printer::print(&format!("{:<9} {}{more}\n", file.result.as_str(), file.shown));
    }
    let is_new = |file: &InitFile| !file.is_generated && file.result == InitResult::Written;
    if files.iter().any(is_new) {
        printer::print(&format!("\n{}\n", next_steps(args.dialect, args.name)));
    }
}
