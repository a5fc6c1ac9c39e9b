//! The programs that floors and hooks are made of: small, static, compiled when they are needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

/// Where they are.
pub struct Programs {
    /// Does nothing.
    pub nothing: PathBuf,
    /// Reads its event and refuses.
    pub hook: PathBuf,
    /// Pushes a file through a pipe to the hook.
    pub push: PathBuf,
}

impl Programs {
    /// Compiles them into a folder.
    pub fn compile(folder: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            nothing: compile(folder, "nothing", include_str!("true.c"))?,
            hook: compile(folder, "hook", include_str!("hook.c"))?,
            push: compile(folder, "push", include_str!("push.c"))?,
        })
    }
}

fn compile(folder: &Path, name: &str, text: &str) -> anyhow::Result<PathBuf> {
    let (source, program) = (folder.join(format!("{name}.c")), folder.join(name));
    fs::write(&source, text)?;
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-static", "-o"]).arg(&program).arg(&source);
    let status = cc.status().context("cc, which compiles the floors")?;
    ensure!(status.success(), "cc could not compile {name}.c");
    Ok(program)
}

/// Whether a program answers when it is asked for its version.
pub fn present(name: &str) -> bool {
    let mut command = Command::new(name);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
