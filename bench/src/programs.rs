//! Small static programs for floors and hooks, compiled at the start.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

/// The compiler of programs without the start costs of glibc. `cargo xtask bench` installs it.
const MUSL_COMPILER: &str = "musl-gcc";

/// Paths of the programs.
pub struct Programs {
    /// A program that does nothing, with musl: the floor of every start.
    pub noop: PathBuf,
    /// The same with glibc.
    pub noop_glibc: PathBuf,
    /// A hook that reads its event and denies.
    pub hook: PathBuf,
    /// A program that writes a file through a pipe to the hook.
    pub push: PathBuf,
}

impl Programs {
    /// Compiles the programs into a folder.
    pub fn compile(folder: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            noop: compile_program(MUSL_COMPILER, folder, "nothing", include_str!("true.c"))?,
            noop_glibc: compile_program("cc", folder, "nothing-glibc", include_str!("true.c"))?,
            hook: compile_program(MUSL_COMPILER, folder, "hook", include_str!("hook.c"))?,
            push: compile_program("cc", folder, "push", include_str!("push.c"))?,
        })
    }
}

fn compile_program(
    compiler: &str,
    folder: &Path,
    name: &str,
    text: &str,
) -> anyhow::Result<PathBuf> {
    let (source, program) = (folder.join(format!("{name}.c")), folder.join(name));
    fs::write(&source, text)?;
    let mut cc = Command::new(compiler);
    cc.args(["-O2", "-static", "-o"]).arg(&program).arg(&source);
    let status =
        cc.status().with_context(|| format!("cannot run {compiler}, which compiles the floors"))?;
    ensure!(status.success(), "{compiler} could not compile {name}.c");
    Ok(program)
}

/// Where `cargo xtask bench --peers` installs other hook runners.
pub fn peers_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/peers")
}

/// Whether a peer can be measured. Says so if not: its row will be missing.
pub fn can_measure(peer: &str, is_there: bool) -> bool {
    if !is_there {
        println!("not measured: {peer}");
    }
    is_there
}

/// Whether a program runs with `--version`.
pub fn is_installed(name: &str) -> bool {
    let mut command = Command::new(name);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
