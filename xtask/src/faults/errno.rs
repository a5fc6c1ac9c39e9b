//! Row `errno`: lets each system call of a firing fail once. The firing must be denied. Without
//! `--strict` a gate may open only with a message to the user.

use std::collections::BTreeMap;

use super::project::{TestProject, guard_settings, tool_event};
use super::random::Random;
use super::strace;
use super::{GoalState, Measured, Options};

const CALLS: &[&str] = &[
    "openat",
    "read",
    "write",
    "statx",
    "newfstatat",
    "readlink",
    "getdents64",
    "pread64",
    "fcntl",
    "flock",
    "mmap",
    "pipe2",
    "clone",
    "clone3",
    "vfork",
    "poll",
    "ppoll",
    "waitid",
    "wait4",
    "rename",
    "unlink",
    "mkdir",
    "pidfd_open",
    "dup2",
    "lseek",
    "ftruncate",
    "getcwd",
    "close",
];
const ERRORS: &[&str] = &["EIO", "ENOSPC", "EINTR", "EACCES", "EMFILE", "ENOMEM"];
const GOAL_WITH_MESSAGE: &str = "denied, or exit code other than 0, or the user is told";
const GOAL_STRICT: &str = "denied, or exit code other than 0";

/// The file with the hook that denies.
#[derive(Clone, Copy)]
enum GuardFile {
    ClaudeCode,
    HooksYaml,
}

/// One fault: a system call, its number, and the error.
struct Fault {
    guard: GuardFile,
    options: Vec<String>,
    name: String,
}

pub fn attack(options: &Options) -> anyhow::Result<Vec<Measured>> {
    let modes = [
        ("a system call fails", false, GOAL_WITH_MESSAGE),
        ("the same with --strict", true, GOAL_STRICT),
    ];
    let mut rows = Vec::new();
    for (what, strict, goal) in modes {
        let what = what.to_owned();
        rows.push(match strace::is_allowed() {
            true => inject_faults(options, what, goal, strict)?,
            false => {
                let measured = "ptrace is not allowed".to_owned();
                Measured { what, goal, count: 0, measured, held: GoalState::NotRun }
            }
        });
    }
    Ok(rows)
}

fn prepare_project(options: &Options, guard: GuardFile) -> anyhow::Result<TestProject> {
    let project = TestProject::new(options)?.with_trust_store();
    let (claude, yaml) = match guard {
        GuardFile::ClaudeCode => ("echo no >&2; exit 2", "true"),
        GuardFile::HooksYaml => ("true", "echo no >&2; exit 1"),
    };
    project.write_file(".claude/settings.json", &guard_settings(claude, 20))?;
    let yaml = format!(
        "hooks:\n  on_tool_before:\n    - type: shell\n      await: true\n      \
         on_failure: abort\n      command: \"{yaml}\"\n"
    );
    project.write_file(".gambrel/hooks.yaml", &yaml)?;
    project.trust_all()?;
    anyhow::ensure!(
        project.fire(&tool_event("before"))?.denies(),
        "a firing without a fault is not denied"
    );
    Ok(project)
}

/// Lists all faults: each system call of an untouched firing with each error.
fn list_faults(project: &TestProject, guard: GuardFile) -> anyhow::Result<Vec<Fault>> {
    let event = tool_event("counted").to_string();
    let trace = format!("trace={}", CALLS.join(","));
    let args = ["fire", "--from", "claude"];
    let traced = strace::run_traced(project, &["-e", &trace], &args, event.as_bytes())?;

    let mut uses = BTreeMap::<&str, usize>::new();
    for line in &traced.lines {
        if let Some(call) = CALLS.iter().find(|call| line.starts_with(&format!("{call}("))) {
            *uses.entry(call).or_default() += 1;
        }
    }
    anyhow::ensure!(uses.len() > 5, "strace shows no calls: {:?}", traced.ended.stderr);

    let mut faults = Vec::new();
    for error in ERRORS {
        for (call, count) in &uses {
            for at in 1..=*count {
                let inject = format!("inject={call}:error={error}:when={at}");
                let options = ["-e".into(), format!("trace={call}"), "-e".into(), inject].into();
                faults.push(Fault { guard, options, name: format!("{call} {at} {error}") });
            }
        }
        // The new process calls `execve` for the hook; strace selects it by path.
        let inject = format!("inject=execve:error={error}");
        let options = ["-f", "-P", "/bin/sh", "-e", "trace=execve", "-e", &inject];
        let options = options.map(str::to_owned).into();
        faults.push(Fault { guard, options, name: format!("execve of the hook {error}") });
    }
    Ok(faults)
}

fn inject_faults(
    options: &Options,
    what: String,
    goal: &'static str,
    strict: bool,
) -> anyhow::Result<Measured> {
    let claude = prepare_project(options, GuardFile::ClaudeCode)?;
    let yaml = prepare_project(options, GuardFile::HooksYaml)?;
    let mut faults = list_faults(&claude, GuardFile::ClaudeCode)?;
    faults.extend(list_faults(&yaml, GuardFile::HooksYaml)?);
    let all = faults.len();
    Random::new(options.seed).shuffle(&mut faults);
    faults.truncate(options.row_count(150, all));
    let count = faults.len();

    let (mut denied, mut failed, mut reported, mut open) = (0, 0, 0, Vec::new());
    for (n, fault) in faults.iter().enumerate() {
        let project = match fault.guard {
            GuardFile::ClaudeCode => &claude,
            GuardFile::HooksYaml => &yaml,
        };
        let event = tool_event(&format!("fault-{n}")).to_string();
        let mut args = vec!["fire", "--from", "claude"];
        args.extend(strict.then_some("--strict"));
        let flags: Vec<&str> = fault.options.iter().map(String::as_str).collect();
        let ended = strace::run_traced(project, &flags, &args, event.as_bytes())?.ended;
        let has_message =
            !ended.reply()["systemMessage"].is_null() || !ended.stderr.trim().is_empty();
        match () {
            () if ended.denies() => denied += 1,
            () if ended.code() != Some(0) => failed += 1,
            () if has_message && !strict => reported += 1,
            () => open.push(fault.name.clone()),
        }
        if n % 500 == 499 {
            eprintln!("faults: errno: {} of {count}", n + 1);
        }
    }

    for project in [&claude, &yaml] {
        if !project.fire(&tool_event("after"))?.denies() {
            open.push("a firing after all faults".into());
        }
    }
    for name in &open {
        eprintln!("faults: errno: open{} at {name}", if strict { " (strict)" } else { "" });
    }

    let measured = format!(
        "of {all} faults: {denied} denied, {failed} failed, {reported} told, {} open{}",
        open.len(),
        if strict { "" } else { " without a word" }
    );
    Ok(Measured { what, goal, count, measured, held: open.is_empty().into() })
}
