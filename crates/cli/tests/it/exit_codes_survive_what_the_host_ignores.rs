//! What a host ignores or limits is inherited by us: an ignored SIGCHLD must not lose the exit code
//! of a hook, and a limit on files must not end us with SIGXFSZ.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::ground::{BASH_LS, Ground, text};

fn fire_through(ground: &Ground, words: &[&str]) -> std::process::Output {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(env!("CARGO_BIN_EXE_gambrel")).args(["fire", "--from", "claude"]);
    command.env_clear().envs(ground.env.clone()).current_dir(&ground.root);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(BASH_LS.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_deny_holds_when_the_host_ignores_sigchld() {
    let ground = Ground::new();
    for command in ["echo no >&2; exit 2", "sleep 0.2; echo no >&2; exit 2"] {
        ground.guard(command, 10);
        let output = fire_through(&ground, &["env", "--ignore-signal=CHLD"]);
        assert!(text(&output.stdout).contains("deny"), "{command}: {output:?}");
    }
}

#[test]
fn a_deny_holds_when_no_file_may_grow() {
    let ground = Ground::new();
    ground.guard("echo no >&2; exit 2", 10);
    let output = fire_through(&ground, &["sh", "-c", "ulimit -f 0; exec \"$@\"", "sh"]);
    assert!(output.status.code().is_some(), "ended by a signal: {output:?}");
    assert!(text(&output.stdout).contains("deny"), "{output:?}");
    assert!(text(&output.stderr).contains("journal"), "{output:?}");
}

#[test]
fn a_hook_gets_signals_as_they_are_by_default() {
    let ground = Ground::new();
    ground.guard("grep SigIgn /proc/self/status > seen; exit 0", 10);
    fire_through(&ground, &["env", "--ignore-signal=CHLD", "--ignore-signal=XFSZ"]);
    let seen = std::fs::read_to_string(ground.root.join("seen")).unwrap();
    let mask = u64::from_str_radix(seen.split_whitespace().last().unwrap(), 16).unwrap();
    // 32 and 33 belong to the C library's threads.
    assert_eq!(mask & !(0b11 << 31), 0, "{seen}");
}
