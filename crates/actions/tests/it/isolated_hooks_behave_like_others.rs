//! In a PID namespace a hook has the same streams, directory, environment and exit code, and all
//! its processes end with it.

use std::time::{Duration, Instant};

use gambrel_model::{AsyncMarker, Call, End, Outcome};

use crate::hook_fixture::{HookFixture, assert_in_time, host_program, stdout_text, wait_until};

fn isolated_fixture() -> HookFixture {
    let mut fixture = HookFixture::new();
    fixture.settings.isolate = true;
    fixture
}

/// Shell text that leaves its session, its parents and its environment, in two generations.
fn escaping_sleep(sleep: &str) -> String {
    format!(
        "(env -i setsid sh -c '(sleep {sleep} &) ; sleep {sleep}' >/dev/null 2>&1 </dev/null &)"
    )
}

/// A duration that no other process sleeps for.
fn unique_duration(index: u32) -> String {
    format!("1000.{}{index}", std::process::id())
}

fn pids_with_argument(word: &str) -> Vec<u32> {
    let pids = std::fs::read_dir("/proc").unwrap();
    let pids = pids.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(word)
    })
    .collect()
}

#[test]
fn keeps_streams_directory_environment_and_exit_code() {
    let fixture = HookFixture::new();
    let script = fixture.write_script("hook", "#!/bin/sh\ncat; echo \"$1 $COLOUR\" >&2; exit 7\n");
    let calls = [
        fixture.sh_call("cat; pwd; echo \"$COLOUR\"; id -u; id -g; echo no >&2; exit 3"),
        fixture.exec_call(&[script.to_str().unwrap(), "a  b"]),
        fixture.exec_call(&["env"]),
        fixture.sh_call(
            "ulimit -n; umask; readlink /proc/self/fd/0 | cut -c1-4; ls /proc/self/fd | wc -l",
        ),
        fixture.sh_call("trap 'echo told; exit 5' TERM; kill -TERM $$; sleep 5"),
        fixture.sh_call("cat <(echo a) 2>/dev/null || echo b"),
        fixture.exec_call(&["/nonexistent/program"]),
        fixture.sh_call("exec 2>&1; cat /nonexistent/file; head -c 300000 /dev/zero | wc -c"),
    ];
    let calls = calls.map(|call| Call {
        stdin: Some(b"{\"event\": 1}\n".to_vec().into()),
        env: call
            .env
            .iter()
            .cloned()
            .chain([("COLOUR".into(), "b\u{e9}ige ' $x".into())])
            .collect(),
        ..call
    });
    // The tag differs from run to run.
    let comparable = |outcome: Outcome| {
        let lines = stdout_text(&outcome);
        let kept = lines.lines().filter(|line| !line.starts_with("GAMBREL_CALL"));
        let kept: Vec<String> = kept.map(str::to_owned).collect();
        (outcome.end, kept, outcome.stderr.to_text(), outcome.command)
    };
    let usual: Vec<_> = fixture.run_all(&calls).into_iter().map(comparable).collect();
    let mut other = HookFixture::new();
    other.settings.isolate = true;
    let isolated: Vec<_> = other.run_all(&calls).into_iter().map(comparable).collect();
    for (usual, isolated) in usual.into_iter().zip(isolated) {
        assert_eq!(usual, isolated);
    }
}

#[test]
fn an_isolated_hook_has_pid_1() {
    let fixture = isolated_fixture();
    assert_eq!(stdout_text(&fixture.run(&fixture.sh_call("echo $$; :"))), "1\n");
    assert_ne!(stdout_text(&HookFixture::new().run(&fixture.sh_call("echo $$; :"))), "1\n");
}

#[test]
fn kills_leftovers_at_once() {
    let fixture = isolated_fixture();
    let sleep = unique_duration(1);
    let outcome =
        fixture.run(&fixture.sh_call(&format!("{}; sleep 0.3; exit 4", escaping_sleep(&sleep))));
    assert_eq!(outcome.end, End::Exited(4));
    assert_eq!(pids_with_argument(&sleep), Vec::<u32>::new());
    assert_eq!(outcome.remarks, Vec::<String>::new());
}

#[test]
fn answers_while_a_leftover_holds_the_output() {
    let fixture = isolated_fixture();
    let begun = Instant::now();
    let sleep = unique_duration(2);
    let outcome =
        fixture.run(&fixture.sh_call(&format!("setsid sleep {sleep} & sleep 0.1; echo done")));
    assert_eq!((outcome.end.clone(), stdout_text(&outcome)), (End::Exited(0), "done\n".to_owned()));
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(pids_with_argument(&sleep), Vec::<u32>::new());
}

#[test]
fn kills_a_late_hook_whatever_it_ignores() {
    let fixture = isolated_fixture();
    let sleep = unique_duration(3);
    for start in ["", "trap '' TERM HUP INT; ", "kill -STOP $$; "] {
        let text = format!("{start}{}; sleep {sleep}; sleep {sleep}", escaping_sleep(&sleep));
        let mut call = fixture.sh_call(&text);
        call.limits.timeout = Duration::from_millis(400);
        let outcome = fixture.run(&call);
        assert_eq!(outcome.end, End::TimedOut, "{text}");
        assert_in_time(&outcome, &call);
        assert_eq!(pids_with_argument(&sleep), Vec::<u32>::new(), "{text}");
    }
}

#[test]
fn runs_64_isolated_hooks_at_once() {
    let fixture = isolated_fixture();
    let calls: Vec<Call> =
        (0..64).map(|code| fixture.sh_call(&format!("sleep 0.1; exit {code}"))).collect();
    let ends: Vec<End> = fixture.run_all(&calls).into_iter().map(|outcome| outcome.end).collect();
    assert_eq!(ends, (0..64).map(End::Exited).collect::<Vec<_>>());
}

/// A detached hook would end with this process, so the batch waits for it.
#[test]
fn waits_for_a_hook_that_asks_to_detach() {
    let fixture = isolated_fixture();
    let mut call = fixture.sh_call("echo '{\"async\":true}'; sleep 0.5; touch done");
    call.async_marker =
        Some(AsyncMarker { flag: "async".to_owned(), millis: "asyncTimeout".to_owned() });
    let outcome = fixture.run(&call);
    assert_eq!(outcome.end, End::Exited(0));
    assert!(fixture.path("done").exists());
    assert!(outcome.remarks.iter().any(|remark| remark.contains("isolate")), "{outcome:?}");
}

/// Its supervisor has only the settings that come with the call.
#[test]
fn isolates_detached_hooks() {
    let fixture = isolated_fixture();
    let mut call = fixture.sh_call("echo $$ > draft; mv draft number");
    call.limits.blocking = false;
    assert_eq!(fixture.run(&call).end, End::Detached);
    wait_until("its number", || fixture.path("number").exists());
    assert_eq!(std::fs::read_to_string(fixture.path("number")).unwrap(), "1\n");
    fixture.assert_no_processes_left();
}

/// Like inside an isolated hook: `/proc` shows other process ids, and none of them is signalled.
#[test]
fn never_signals_pids_of_another_namespace() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call("setsid sleep 1000 & sleep 1000; sleep 1000");
    call.limits.timeout = Duration::from_millis(400);
    let usual = fixture.host_command(&call, None);
    for (isolate, remarked) in [(false, true), (true, false)] {
        let mut inside = std::process::Command::new("unshare");
        inside
            .args(["--user", "--map-root-user", "--pid", "--fork", "--kill-child"])
            .arg(host_program());
        inside.args(usual.get_args());
        inside.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
        inside.envs(isolate.then_some(("ISOLATE", "1")));
        if !inside.status().is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED: `unshare` makes no PID namespace here");
            return;
        }
        let outcome = fixture.wait_for_outcome(&fixture.path("outcome"));
        assert_eq!(outcome.end, End::TimedOut);
        let remarks = outcome.remarks.join("; ");
        assert!(!remarks.contains("cannot be killed"), "{remarks}");
        assert_eq!(remarks.contains("another PID namespace"), remarked, "{remarks}");
        fixture.assert_no_processes_left();
    }
}
