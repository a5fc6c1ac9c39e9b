//! Packages that some tests compare with: a TypeScript compiler, bun, oh-my-pi and Claude Code.
//! They are in `target/tools`, wherever cargo builds.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::{machine, shell};

/// Exact versions: a comparison with something that moves is none.
const PACKAGES: &[&str] = &["typescript@7.0.2", "bun@1.4.4", "@oh-my-pi/pi-coding-agent@18.2.3"];
const CLAUDE_CODE: &str = "@anthropic-ai/claude-code";
/// The first 2.1 that can be installed, one that does not know `onFailure`, and one that does.
const CLAUDE_VERSIONS: &[&str] = &["2.1.0", "2.1.197", "2.1.325"];
/// The folder of the version that `--claude` names.
const CLAUDE_ASKED_FOR: &str = "claude-latest";
/// What goes untested without them.
const WITHOUT: &str = "types for module authors, agreement with the real hook runner, and hooks \
                       inside the real Claude Code";

/// One version of Claude Code under a name of its own, so that several can be installed.
struct ClaudeCode {
    folder: String,
    version: String,
}

impl ClaudeCode {
    fn pinned(version: &str) -> Self {
        let folder = format!("claude-{}", version.replace('.', "-"));
        Self { folder, version: version.to_owned() }
    }

    /// The version that a word such as `latest` stands for today.
    fn resolve(word: &str) -> anyhow::Result<Self> {
        let package = format!("{CLAUDE_CODE}@{word}");
        let told = shell::read("npm", &["view", &package, "version"])?;
        let version = told.trim().to_owned();
        if version.is_empty() || version.contains(char::is_whitespace) {
            bail!("--claude {word}: not one version of {CLAUDE_CODE}");
        }
        Ok(Self { folder: CLAUDE_ASKED_FOR.to_owned(), version })
    }

    fn package(&self) -> String {
        format!("{}@npm:{CLAUDE_CODE}@{}", self.folder, self.version)
    }

    /// Starts the program. Its native part comes by a script that npm may be told not to run.
    fn check(&self, modules: &Path) -> anyhow::Result<()> {
        let folder = modules.join(&self.folder);
        let native = folder.join("bin/claude.exe");
        if !native.exists() {
            return self.check_version("node", &[&folder.join("cli.js").display().to_string()]);
        }
        let program = native.display().to_string();
        if self.check_version(&program, &[]).is_ok() {
            return Ok(());
        }
        shell::run("node", &[&folder.join("install.cjs").display().to_string()])?;
        self.check_version(&program, &[])
    }

    fn check_version(&self, program: &str, args: &[&str]) -> anyhow::Result<()> {
        let told = shell::read(program, &[args, &["--version"]].concat())?;
        match told.split_whitespace().next() == Some(self.version.as_str()) {
            true => Ok(()),
            false => bail!("{program} says {told:?} and not {}", self.version),
        }
    }
}

/// Makes the packages be there, with one more version of Claude Code if one is asked for; in CI
/// their absence is an error, on a laptop a visible remark.
pub fn prepare(claude: Option<&str>) -> anyhow::Result<()> {
    let Err(error) = install(claude) else { return Ok(()) };
    if std::env::var_os("CI").is_some() {
        return Err(error.context("CI leaves nothing untested"));
    }
    if claude.is_some() {
        return Err(error.context("this version of Claude Code was asked for"));
    }
    eprintln!("not tested here: {WITHOUT} ({error:#})");
    Ok(())
}

fn install(claude: Option<&str>) -> anyhow::Result<()> {
    let mut versions: Vec<ClaudeCode> =
        CLAUDE_VERSIONS.iter().map(|version| ClaudeCode::pinned(version)).collect();
    if let Some(word) = claude {
        machine::find("npm").context("npm is not on PATH")?;
        versions.push(ClaudeCode::resolve(word)?);
    }
    let mut packages: Vec<String> = PACKAGES.iter().map(|&package| package.to_owned()).collect();
    packages.extend(versions.iter().map(ClaudeCode::package));

    let folder = folder();
    let (stamp, wanted) = (folder.join("stamp"), packages.join("\n"));
    if fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(());
    }
    machine::find("npm").context("npm is not on PATH")?;
    fs::create_dir_all(&folder)?;
    // Without a manifest of its own npm would look for one in the folders above.
    fs::write(folder.join("package.json"), "{\"private\": true}\n")?;
    let place = folder.display().to_string();
    let mut args = vec!["install", "--prefix", &place];
    args.extend(["--no-audit", "--no-fund", "--no-save", "--fetch-timeout=60000"]);
    args.extend(packages.iter().map(String::as_str));
    shell::run("npm", &args)?;
    let modules = folder.join("node_modules");
    check_programs(&modules, &versions)?;
    if claude.is_none() {
        remove_folder(&modules.join(CLAUDE_ASKED_FOR))?;
    }
    // The last thing written: an interrupted installation is begun again.
    fs::write(&stamp, wanted).with_context(|| stamp.display().to_string())
}

fn check_programs(modules: &Path, versions: &[ClaudeCode]) -> anyhow::Result<()> {
    // Its program comes by a script that npm may be told not to run.
    let bun = modules.join(".bin/bun").display().to_string();
    shell::read(&bun, &["--version"])?;
    for version in versions {
        version.check(modules)?;
    }
    Ok(())
}

/// Tests run every version that is there, so one that is not asked for any more goes.
fn remove_folder(folder: &Path) -> anyhow::Result<()> {
    match folder.exists() {
        true => fs::remove_dir_all(folder).with_context(|| folder.display().to_string()),
        false => Ok(()),
    }
}

fn folder() -> PathBuf {
    shell::root().join("target/tools")
}
