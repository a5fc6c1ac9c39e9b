//! Programs that the tests need: installs missing ones, or reports them.

use std::path::PathBuf;

use anyhow::bail;

use crate::shell;

/// A program, its Debian package, and what is not tested without it.
pub struct RequiredProgram {
    pub program: &'static str,
    pub package: &'static str,
    pub without: &'static str,
}

/// Everything that the tests use beyond Rust and a C compiler.
pub const REQUIRED_PROGRAMS: &[RequiredProgram] = &[
    RequiredProgram { program: "bash", package: "bash", without: "hooks in bash" },
    RequiredProgram { program: "python3", package: "python3", without: "hooks in Python" },
    RequiredProgram { program: "node", package: "nodejs", without: "team hooks in JavaScript" },
    RequiredProgram {
        program: "chromium",
        package: "chromium",
        without: "the approvals page in a browser",
    },
    RequiredProgram {
        program: "ip",
        package: "iproute2",
        without: "Claude Code without a network",
    },
    RequiredProgram {
        program: "strace",
        package: "strace",
        without: "that no hook is started by a plain fork",
    },
];

/// Installs missing programs. In CI a program that is still missing is an error, elsewhere a
/// message.
pub fn install_missing(parts: &[RequiredProgram]) -> anyhow::Result<()> {
    let missing: Vec<&RequiredProgram> =
        parts.iter().filter(|part| find_program(part.program).is_none()).collect();
    if missing.is_empty() {
        return Ok(());
    }

    if find_program("apt-get").is_some() && is_root() {
        let mut args = vec!["install", "-y", "--no-install-recommends"];
        args.extend(missing.iter().map(|part| part.package));
        let installed =
            shell::run("apt-get", &["update"]).and_then(|()| shell::run("apt-get", &args));
        if let Err(error) = installed {
            eprintln!("{error:#}");
        }
    }

    for part in missing.iter().filter(|part| find_program(part.program).is_none()) {
        if std::env::var_os("CI").is_some() {
            bail!("{} is missing, and CI needs every program", part.program);
        }
        eprintln!("not tested here: {} (install {})", part.without, part.program);
    }
    Ok(())
}

/// Finds a program on PATH.
pub fn find_program(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

fn is_root() -> bool {
    shell::read_output("id", &["-u"]).is_ok_and(|id| id.trim() == "0")
}
