//! Other ways to run a guard or a hook for one event, each started cold: guards in common
//! interpreters, and the hook runners of git and prek.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::ensure;

use super::GoalContext;
use super::cold::program_candidate;
use crate::meter::Candidate;
use crate::programs::{can_measure, is_installed, peers_folder};

/// The guard that goal 3 compares a rule with.
pub const BASH_CASE: &str = "`bash -c` with a `case`";
const GIT: &str = "`git hook run`";
const PREK: &str = "`prek run`";

/// The program of a guard, and its arguments. Each guard looks for the word `question` in the event
/// and exits 2.
const GUARDS: &[(&str, &str, &[&str])] = &[
    (BASH_CASE, "bash", &["-c", "read -r event; case $event in *question*) exit 2;; esac"]),
    (
        "bash with `jq`",
        "jq",
        &[
            "bash",
            "-c",
            "jq -r .tool_input.content | { read -r text; [[ $text != *question* ]] || exit 2; }",
        ],
    ),
    (
        "python",
        "python3",
        &[
            "-c",
            "import json, sys\nevent = json.load(sys.stdin)\nsys.exit(2 if 'question' in event['tool_input']['content'] else 0)",
        ],
    ),
    (
        "node",
        "node",
        &[
            "-e",
            "const event = JSON.parse(require('fs').readFileSync(0, 'utf8')); process.exit(event.tool_input.content.includes('question') ? 2 : 0)",
        ],
    ),
];

/// Whether a candidate runs a hook program, as gambrel does, and is no guard itself.
pub fn is_hook_runner(name: &str) -> bool {
    [GIT, PREK].contains(&name)
}

/// Prepares every candidate whose program is installed, and names the others.
pub fn start_all(
    context: &GoalContext<'_>,
    event: &[u8],
) -> anyhow::Result<Vec<(&'static str, Candidate<'static>)>> {
    let line = [event, b"\n"].concat();
    let mut candidates = Vec::new();
    let is_there = |(name, needed, _): &&(&str, &str, _)| can_measure(name, is_installed(needed));
    for (name, needed, args) in GUARDS.iter().filter(is_there) {
        let program = if *needed == "jq" { None } else { Some(*needed) };
        let argv = program.iter().chain(args.iter()).copied();
        let argv: Vec<String> = argv.map(str::to_owned).collect();
        candidates.push((*name, program_candidate(&find_program(&argv)?, &[], &line, refuses)?));
    }
    let repository = context.folder.join("repository");
    if can_measure(GIT, is_installed("git")) {
        create_repository(&repository, &context.programs.hook)?;
        let folder = repository.display().to_string();
        let argv = ["git", "-C", &folder, "hook", "run", "pre-commit"].map(str::to_owned);
        candidates.push((GIT, program_candidate(&find_program(&argv)?, &[], &line, refuses)?));
    }
    let prek = peers_folder().join("prek/bin/prek");
    if can_measure(PREK, prek.is_file() && repository.is_dir()) {
        candidates.push((PREK, prek_candidate(&repository, &prek)?));
    }
    Ok(candidates)
}

fn refuses(ended: &crate::floor::BareResult) -> bool {
    ended.code == 2
}

/// The absolute path of the program, because `posix_spawn` looks at no PATH.
fn find_program(argv: &[String]) -> anyhow::Result<Vec<String>> {
    let mut argv = argv.to_vec();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found: Option<PathBuf> = std::env::split_paths(&path)
        .map(|folder| folder.join(&argv[0]))
        .find(|file| file.is_file());
    ensure!(found.is_some(), "{} is not on PATH", argv[0]);
    argv[0] = found.unwrap_or_default().display().to_string();
    Ok(argv)
}

/// A repository whose hook before a commit is the hook of the benchmark.
fn create_repository(folder: &Path, hook: &Path) -> anyhow::Result<()> {
    run_git(
        folder.parent().unwrap_or(folder),
        &["init", "--quiet", &folder.display().to_string()],
    )?;
    fs::copy(hook, folder.join(".git/hooks/pre-commit"))?;
    let entry = hook.display();
    let config = format!(
        "repos:\n  - repo: local\n    hooks:\n      - id: guard\n        name: guard\n        \
         language: system\n        entry: {entry}\n        always_run: true\n        pass_filenames: false\n"
    );
    fs::write(folder.join(".pre-commit-config.yaml"), config)?;
    run_git(folder, &["add", ".pre-commit-config.yaml"])
}

fn run_git(folder: &Path, args: &[&str]) -> anyhow::Result<()> {
    let status =
        Command::new("git").current_dir(folder).args(args).stdout(Stdio::null()).status()?;
    ensure!(status.success(), "git {args:?} failed");
    Ok(())
}

/// prek exits 1 when a hook fails, and says which.
fn prek_candidate(repository: &Path, prek: &Path) -> anyhow::Result<Candidate<'static>> {
    let folder = repository.display().to_string();
    let argv = [&prek.display().to_string(), "run", "--cd", &folder, "--color", "never"];
    program_candidate(&argv.map(str::to_owned), &[], b"", |ended| {
        ended.code == 1 && String::from_utf8_lossy(&ended.stdout).contains("guard")
    })
}
