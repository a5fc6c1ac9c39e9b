//! A host that gets a signal ends its hooks first, however short they have run.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use gambrel_model::{Call, End};
use rustix::process::{Pid, Signal, kill_process};

use crate::hook_fixture::{HookFixture, wait_until};

/// A host without a watchdog, so that no other process can kill its hooks, and with default
/// signals: a shell lets background processes ignore some.
fn spawn_alone(fixture: &HookFixture, call: &Call) -> Child {
    spawn_through(&["env", "--default-signal=INT,HUP"], &fixture.host_command(call, None))
}

/// Starts the command through another program that executes it.
fn spawn_through(first: &[&str], command: &Command) -> Child {
    let mut whole = Command::new(first[0]);
    whole.args(&first[1..]).arg(command.get_program()).args(command.get_args()).env("ALONE", "1");
    whole.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    whole.stdin(Stdio::null()).spawn().unwrap()
}

fn send_signal(host: &Child, signal: Signal) {
    kill_process(Pid::from_raw(host.id() as i32).unwrap(), signal).unwrap();
}

fn wait_for_exit(host: &mut Child) -> ExitStatus {
    let mut status = None;
    wait_until("the end of the host", || {
        status = host.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap()
}

#[test]
fn ends_hooks_before_itself_on_a_signal() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let fixture = HookFixture::new();
        let mut call = fixture.sh_call(
            "trap '' TERM INT HUP; setsid sleep 1000 & (setsid sleep 1000 &); echo x > here; sleep 1000; sleep 1000",
        );
        call.limits.timeout = Duration::from_secs(600);
        let mut host = spawn_alone(&fixture, &call);
        wait_until("the hook", || fixture.path("here").exists());
        send_signal(&host, signal);
        assert_eq!(wait_for_exit(&mut host).code(), Some(code));
        assert!(!fixture.path("outcome").exists(), "no outcome is written");
        fixture.assert_no_processes_left();
    }
}

#[test]
fn lets_a_hook_clean_up_and_does_not_retry() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call(
        "trap 'echo bye >> output; exit 1' TERM; echo x >> here; while :; do sleep 0.02; done",
    );
    call.limits.retries = 3;
    let mut host = spawn_alone(&fixture, &call);
    wait_until("the hook", || fixture.path("here").exists());
    send_signal(&host, Signal::TERM);
    assert_eq!(wait_for_exit(&mut host).code(), Some(143));
    let read = |name: &str| std::fs::read_to_string(fixture.path(name)).unwrap();
    assert_eq!((read("here"), read("output")), ("x\n".to_owned(), "bye\n".to_owned()));
    fixture.assert_no_processes_left();
}

#[test]
fn skips_the_retry_delay_on_a_signal() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call("echo x >> here; exit 1");
    (call.limits.retries, call.limits.retry_delay) = (3, Duration::from_secs(3600));
    let mut host = spawn_alone(&fixture, &call);
    wait_until("the first attempt", || fixture.path("here").exists());
    send_signal(&host, Signal::INT);
    assert_eq!(wait_for_exit(&mut host).code(), Some(130));
    fixture.assert_no_processes_left();
}

#[test]
fn keeps_ignored_signals_ignored() {
    let fixture = HookFixture::new();
    let call = fixture.sh_call("echo x > here; while ! test -e go; do sleep 0.02; done; exit 3");
    let deaf = ["/bin/sh", "-c", "trap '' HUP; exec \"$0\" \"$@\""];
    let mut host = spawn_through(&deaf, &fixture.host_command(&call, None));
    wait_until("the hook", || fixture.path("here").exists());
    send_signal(&host, Signal::HUP);
    std::fs::write(fixture.path("go"), "").unwrap();
    assert_eq!(wait_for_exit(&mut host).code(), Some(0));
    assert_eq!(fixture.wait_for_outcome(&fixture.path("outcome")).end, End::Exited(3));
    fixture.assert_no_processes_left();
}

#[test]
fn a_host_without_hooks_ends_by_the_signal() {
    let fixture = HookFixture::new();
    let mut command = fixture.host_command(&fixture.sh_call("true"), None);
    let mut host = command.env_remove("CALL_FILE").stdin(Stdio::piped()).spawn().unwrap();
    // It waits for its call on stdin.
    let asleep = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let call = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        stat.contains(") S ") && call.contains("supervisor")
    };
    wait_until("the host", || asleep(host.id()));
    send_signal(&host, Signal::TERM);
    assert_eq!(wait_for_exit(&mut host).signal(), Some(15));
    fixture.assert_no_processes_left();
}
