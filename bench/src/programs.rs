//! Small static programs for floors and hooks, compiled at the start.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

/// Paths of the programs.
pub struct Programs {
    /// A program that does nothing.
    pub noop: PathBuf,
    /// A hook that reads its event and denies.
    pub hook: PathBuf,
    /// A program that writes a file through a pipe to the hook.
    pub push: PathBuf,
}

impl Programs {
    /// Compiles the programs into a folder.
    pub fn compile(folder: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            noop: compile_program(folder, "nothing", include_str!("true.c"))?,
            hook: compile_program(folder, "hook", include_str!("hook.c"))?,
            push: compile_program(folder, "push", include_str!("push.c"))?,
        })
    }
}

fn compile_program(folder: &Path, name: &str, text: &str) -> anyhow::Result<PathBuf> {
    let (source, program) = (folder.join(format!("{name}.c")), folder.join(name));
    fs::write(&source, text)?;
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-static", "-o"]).arg(&program).arg(&source);
    let status = cc.status().context("cannot run cc, which compiles the floors")?;
    ensure!(status.success(), "cc could not compile {name}.c");
    Ok(program)
}

/// Whether a program runs with `--version`.
pub fn is_installed(name: &str) -> bool {
    let mut command = Command::new(name);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
