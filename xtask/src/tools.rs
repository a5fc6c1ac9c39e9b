//! Packages for comparison tests: a TypeScript compiler, bun, oh-my-pi, the official MCP client, and
//! the agents Claude Code, opencode and Gemini CLI. They are always installed in `target/tools`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::{machine, shell};

/// Exact versions, so that comparisons are repeatable.
const PACKAGES: &[&str] = &[
    "typescript@7.0.2",
    "bun@1.4.4",
    "@oh-my-pi/pi-coding-agent@18.2.3",
    "@modelcontextprotocol/sdk@1.32.2",
    "opencode-ai@1.18.33",
    "@google/gemini-cli@0.61.0",
];
/// A package that a registry may lack. Without it one test is skipped with a notice, in CI, too.
const PI_TEAMS: (&str, &str) = ("@tmustier/pi-agent-teams", "0.5.4");
const CLAUDE_CODE: &str = "@anthropic-ai/claude-code";
/// The first installable 2.1, one without `onFailure`, and one with it.
const CLAUDE_VERSIONS: &[&str] = &["2.1.0", "2.1.197", "2.1.325"];
/// Folder of the version that `--claude` names.
const REQUESTED_CLAUDE: &str = "claude-latest";
/// What is not tested without the packages.
const UNTESTED: &str = "types for module authors, agreement with the real hook runner, the official \
                        MCP client, hooks inside the real Claude Code, and runs with the real \
                        opencode and Gemini CLI";

/// One version of Claude Code, in its own folder, so that several can be installed.
struct ClaudeCode {
    folder: String,
    version: String,
}

impl ClaudeCode {
    fn with_version(version: &str) -> Self {
        let folder = format!("claude-{}", version.replace('.', "-"));
        Self { folder, version: version.to_owned() }
    }

    /// Asks npm for the version behind a tag such as `latest`.
    fn resolve_tag(word: &str) -> anyhow::Result<Self> {
        let package = format!("{CLAUDE_CODE}@{word}");
        let output = shell::read_output("npm", &["view", &package, "version"])?;
        let version = output.trim().to_owned();
        if version.is_empty() || version.contains(char::is_whitespace) {
            bail!("--claude {word}: not a single version of {CLAUDE_CODE}");
        }
        Ok(Self { folder: REQUESTED_CLAUDE.to_owned(), version })
    }

    fn package_spec(&self) -> String {
        format!("{}@npm:{CLAUDE_CODE}@{}", self.folder, self.version)
    }

    /// Starts the program. If npm did not run the package's install script, runs it first.
    fn check_program(&self, modules: &Path) -> anyhow::Result<()> {
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
        let output = shell::read_output(program, &[args, &["--version"]].concat())?;
        match output.split_whitespace().next() == Some(self.version.as_str()) {
            true => Ok(()),
            false => bail!("{program} printed {output:?}, expected {}", self.version),
        }
    }
}

/// Installs pi-teams in its own folder, if npm has it.
pub fn prepare_pi_teams() {
    let (name, version) = PI_TEAMS;
    let folder = tools_folder().join("pi-teams");
    if folder.join("node_modules").join(name).exists() || machine::find_program("npm").is_none() {
        return;
    }
    let manifest = fs::create_dir_all(&folder)
        .and_then(|()| fs::write(folder.join("package.json"), "{\"private\": true}\n"));
    if let Err(error) = manifest {
        eprintln!("not tested here: files that pi-teams and gambrel share ({error})");
        return;
    }
    let (place, package) = (folder.display().to_string(), format!("{name}@{version}"));
    let mut args = vec!["install", "--prefix", &place, "--no-audit", "--no-fund", "--no-save"];
    // Only its own files are used.
    args.extend(["--ignore-scripts", "--legacy-peer-deps", "--omit=peer", "--loglevel=silent"]);
    if let Err(error) = shell::run("npm", &[&args[..], &[&package]].concat()) {
        eprintln!("not tested here: files that pi-teams and gambrel share ({error:#})");
    }
}

/// Installs the packages, with the requested version of Claude Code. A failure is an error in CI or
/// with `--claude`, elsewhere a message.
pub fn prepare_packages(claude: Option<&str>) -> anyhow::Result<()> {
    let Err(error) = install_packages(claude) else { return Ok(()) };
    if std::env::var_os("CI").is_some() {
        return Err(error.context("CI needs all packages"));
    }
    if claude.is_some() {
        return Err(error.context("--claude needs this version of Claude Code"));
    }
    eprintln!("not tested here: {UNTESTED} ({error:#})");
    Ok(())
}

fn install_packages(claude: Option<&str>) -> anyhow::Result<()> {
    let mut versions: Vec<ClaudeCode> =
        CLAUDE_VERSIONS.iter().map(|version| ClaudeCode::with_version(version)).collect();
    if let Some(word) = claude {
        machine::find_program("npm").context("npm is not on PATH")?;
        versions.push(ClaudeCode::resolve_tag(word)?);
    }
    let mut packages: Vec<String> = PACKAGES.iter().map(|&package| package.to_owned()).collect();
    packages.extend(versions.iter().map(ClaudeCode::package_spec));

    let folder = tools_folder();
    let (stamp, wanted) = (folder.join("stamp"), packages.join("\n"));
    if fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(());
    }
    machine::find_program("npm").context("npm is not on PATH")?;
    fs::create_dir_all(&folder)?;
    // Without this manifest npm would use one of a parent folder.
    fs::write(folder.join("package.json"), "{\"private\": true}\n")?;
    let place = folder.display().to_string();
    let mut args = vec!["install", "--prefix", &place];
    args.extend(["--no-audit", "--no-fund", "--no-save", "--fetch-timeout=60000"]);
    args.extend(packages.iter().map(String::as_str));
    shell::run("npm", &args)?;

    let modules = folder.join("node_modules");
    check_programs(&modules, &versions)?;
    if claude.is_none() {
        remove_folder(&modules.join(REQUESTED_CLAUDE))?;
    }
    // Written last, so that an interrupted installation starts again.
    fs::write(&stamp, wanted).with_context(|| stamp.display().to_string())
}

fn check_programs(modules: &Path, versions: &[ClaudeCode]) -> anyhow::Result<()> {
    // Fails if npm did not run bun's install script.
    let bun = modules.join(".bin/bun").display().to_string();
    shell::read_output(&bun, &["--version"])?;
    // npm goes on without an optional package. Started, these agents would write into the home.
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let opencode = format!("opencode-linux-{machine}/bin/opencode");
    for program in [opencode.as_str(), "@google/gemini-cli/bundle/gemini.js"] {
        if !modules.join(program).exists() {
            bail!("npm did not install {program}");
        }
    }
    for version in versions {
        version.check_program(modules)?;
    }
    Ok(())
}

/// Removes a version that is no longer requested, because tests run every installed version.
fn remove_folder(folder: &Path) -> anyhow::Result<()> {
    match folder.exists() {
        true => fs::remove_dir_all(folder).with_context(|| folder.display().to_string()),
        false => Ok(()),
    }
}

fn tools_folder() -> PathBuf {
    shell::repository_root().join("target/tools")
}
