//! What tests need of the machine, installed where that is possible and said where it is not.

use std::path::PathBuf;

use anyhow::bail;

use crate::shell;

/// A program, the Debian package it comes from, and what goes untested without it.
pub struct Part {
    pub program: &'static str,
    pub package: &'static str,
    pub without: &'static str,
}

/// Everything that the tests use beyond Rust and a C compiler.
pub const PARTS: &[Part] = &[
    Part { program: "bash", package: "bash", without: "hooks in bash" },
    Part { program: "python3", package: "python3", without: "hooks in Python" },
    Part { program: "node", package: "nodejs", without: "team hooks in JavaScript" },
    Part { program: "chromium", package: "chromium", without: "the approvals page in a browser" },
    Part { program: "ip", package: "iproute2", without: "Claude Code without a network" },
    Part {
        program: "strace",
        package: "strace",
        without: "that no hook is started by a plain fork",
    },
];

/// Makes every part be there; in CI a missing one is an error, on a laptop a visible remark.
pub fn prepare(parts: &[Part]) -> anyhow::Result<()> {
    let missing: Vec<&Part> = parts.iter().filter(|part| find(part.program).is_none()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if find("apt-get").is_some() && is_root() {
        let mut args = vec!["install", "-y", "--no-install-recommends"];
        args.extend(missing.iter().map(|part| part.package));
        let installed =
            shell::run("apt-get", &["update"]).and_then(|()| shell::run("apt-get", &args));
        if let Err(error) = installed {
            eprintln!("{error:#}");
        }
    }
    for part in missing.iter().filter(|part| find(part.program).is_none()) {
        if std::env::var_os("CI").is_some() {
            bail!("{} is missing, and CI leaves nothing untested", part.program);
        }
        eprintln!("not tested here: {} (install {})", part.without, part.program);
    }
    Ok(())
}

/// Where a program is on PATH.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

fn is_root() -> bool {
    shell::read("id", &["-u"]).is_ok_and(|id| id.trim() == "0")
}
