//! gambrel inherits ignored signals, limits and closed streams from the host. An ignored SIGCHLD must
//! not lose a hook's exit code, and a file size limit must not end gambrel with SIGXFSZ.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::test_project::{BASH_LS, TestProject, text};

fn fire_through(project: &TestProject, words: &[&str]) -> std::process::Output {
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .arg(crate::test_project::program())
        .args(["fire", "--from", "claude"]);
    command.env_clear().envs(project.env.clone()).current_dir(&project.root);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(BASH_LS.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn keeps_a_deny_when_the_host_ignores_sigchld() {
    let project = TestProject::new();
    for command in ["echo no >&2; exit 2", "sleep 0.2; echo no >&2; exit 2"] {
        project.guard(command, 10);
        let output = fire_through(&project, &["env", "--ignore-signal=CHLD"]);
        assert!(text(&output.stdout).contains("deny"), "{command}: {output:?}");
    }
}

#[test]
fn keeps_a_deny_under_a_file_size_limit() {
    let project = TestProject::new();
    project.guard("echo no >&2; exit 2", 10);
    let output = fire_through(&project, &["sh", "-c", "ulimit -f 0; exec \"$@\"", "sh"]);
    assert!(output.status.code().is_some(), "ended by a signal: {output:?}");
    assert!(text(&output.stdout).contains("deny"), "{output:?}");
    assert!(text(&output.stderr).contains("journal"), "{output:?}");
}

#[test]
fn resets_ignored_signals_for_hooks() {
    let project = TestProject::new();
    project.guard("grep SigIgn /proc/self/status > seen; exit 0", 10);
    fire_through(&project, &["env", "--ignore-signal=CHLD", "--ignore-signal=XFSZ"]);
    let seen = std::fs::read_to_string(project.root.join("seen")).unwrap();
    let mask = u64::from_str_radix(seen.split_whitespace().last().unwrap(), 16).unwrap();
    // 32 and 33 belong to the C library's threads.
    assert_eq!(mask & !(0b11 << 31), 0, "{seen}");
}

#[test]
fn writes_no_message_into_a_file_when_stderr_is_closed() {
    let project = TestProject::new();
    project.file(".claude/settings.json", "{ not JSON");
    let output = project.run_in_shell("\"$0\" fire --from claude 2>&-", BASH_LS.as_bytes());
    assert!(output.status.code().is_some(), "{output:?}");

    let journal = std::fs::read_to_string(project.base.join("state/spool.jsonl")).unwrap();
    assert!(!journal.is_empty() && journal.lines().all(|l| l.starts_with("{\"id\":")), "{journal}");
}
