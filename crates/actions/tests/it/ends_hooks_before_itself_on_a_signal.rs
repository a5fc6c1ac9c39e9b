//! A host that is told to go takes its hooks with it, however young they are.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use gambrel_model::{Call, End};
use rustix::process::{Pid, Signal, kill_process};

use crate::stand::{Stand, eventually};

/// A host without a watchdog, so that nobody else can end its hooks, and with its signals as they
/// are at a terminal: tests that a shell runs in the background are told to ignore some.
fn alone(stand: &Stand, call: &Call) -> Child {
    through(&["env", "--default-signal=INT,HUP"], &stand.host_command(call, None))
}

/// The command started by another program that becomes it.
fn through(first: &[&str], command: &Command) -> Child {
    let mut whole = Command::new(first[0]);
    whole.args(&first[1..]).arg(command.get_program()).args(command.get_args()).env("ALONE", "1");
    whole.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    whole.stdin(Stdio::null()).spawn().unwrap()
}

fn send(host: &Child, signal: Signal) {
    kill_process(Pid::from_raw(host.id() as i32).unwrap(), signal).unwrap();
}

fn end_of(host: &mut Child) -> ExitStatus {
    let mut status = None;
    eventually("the end of the host", || {
        status = host.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap()
}

#[test]
fn ends_hooks_before_itself_on_a_signal() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let stand = Stand::new();
        let mut call = stand.sh(
            "trap '' TERM INT HUP; setsid sleep 1000 & (setsid sleep 1000 &); echo x > here; sleep 1000; sleep 1000",
        );
        call.limits.timeout = Duration::from_secs(600);
        let mut host = alone(&stand, &call);
        eventually("the hook", || stand.path("here").exists());
        send(&host, signal);
        assert_eq!(end_of(&mut host).code(), Some(code));
        assert!(!stand.path("outcome").exists(), "nothing is decided");
        stand.nobody_is_left();
    }
}

#[test]
fn a_polite_hook_may_clean_up_and_is_not_tried_again() {
    let stand = Stand::new();
    let mut call = stand
        .sh("trap 'echo bye >> said; exit 1' TERM; echo x >> here; while :; do sleep 0.02; done");
    call.limits.retries = 3;
    let mut host = alone(&stand, &call);
    eventually("the hook", || stand.path("here").exists());
    send(&host, Signal::TERM);
    assert_eq!(end_of(&mut host).code(), Some(143));
    let read = |name: &str| std::fs::read_to_string(stand.path(name)).unwrap();
    assert_eq!((read("here"), read("said")), ("x\n".to_owned(), "bye\n".to_owned()));
    stand.nobody_is_left();
}

#[test]
fn the_pause_before_another_attempt_is_not_waited_for() {
    let stand = Stand::new();
    let mut call = stand.sh("echo x >> here; exit 1");
    (call.limits.retries, call.limits.retry_delay) = (3, Duration::from_secs(3600));
    let mut host = alone(&stand, &call);
    eventually("the first attempt", || stand.path("here").exists());
    send(&host, Signal::INT);
    assert_eq!(end_of(&mut host).code(), Some(130));
    stand.nobody_is_left();
}

#[test]
fn a_signal_that_the_host_was_told_to_ignore_stays_ignored() {
    let stand = Stand::new();
    let call = stand.sh("echo x > here; while ! test -e go; do sleep 0.02; done; exit 3");
    let deaf = ["/bin/sh", "-c", "trap '' HUP; exec \"$0\" \"$@\""];
    let mut host = through(&deaf, &stand.host_command(&call, None));
    eventually("the hook", || stand.path("here").exists());
    send(&host, Signal::HUP);
    std::fs::write(stand.path("go"), "").unwrap();
    assert_eq!(end_of(&mut host).code(), Some(0));
    assert_eq!(stand.outcome(&stand.path("outcome")).end, End::Exited(3));
    stand.nobody_is_left();
}

#[test]
fn one_that_runs_nothing_dies_as_ever() {
    let stand = Stand::new();
    let mut command = stand.host_command(&stand.sh("true"), None);
    let mut host = command.env_remove("CALL_FILE").stdin(Stdio::piped()).spawn().unwrap();
    // It reads its call, which does not come.
    let asleep = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let call = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        stat.contains(") S ") && call.contains("supervisor")
    };
    eventually("the host", || asleep(host.id()));
    send(&host, Signal::TERM);
    assert_eq!(end_of(&mut host).signal(), Some(15));
    stand.nobody_is_left();
}
