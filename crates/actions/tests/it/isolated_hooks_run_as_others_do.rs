//! In a PID namespace a hook has the same streams, folder, environment and exit code, and everything
//! that it started ends with it.

use std::time::{Duration, Instant};

use gambrel_model::{AsyncMarker, Call, End, Outcome};

use crate::stand::{Stand, eventually, host, in_time, text};

fn isolated() -> Stand {
    let mut stand = Stand::new();
    stand.settings.isolate = true;
    stand
}

/// Leaves its session, its parents and its environment, in two generations.
fn escape(sleep: &str) -> String {
    format!(
        "(env -i setsid sh -c '(sleep {sleep} &) ; sleep {sleep}' >/dev/null 2>&1 </dev/null &)"
    )
}

/// A length of sleep that no other process has.
fn unique(index: u32) -> String {
    format!("1000.{}{index}", std::process::id())
}

fn running(word: &str) -> Vec<u32> {
    let pids = std::fs::read_dir("/proc").unwrap();
    let pids = pids.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(word)
    })
    .collect()
}

#[test]
fn streams_folder_environment_and_exit_code_are_the_same() {
    let stand = Stand::new();
    let script = stand.script("hook", "#!/bin/sh\ncat; echo \"$1 $COLOUR\" >&2; exit 7\n");
    let calls = [
        stand.sh("cat; pwd; echo \"$COLOUR\"; id -u; id -g; echo no >&2; exit 3"),
        stand.exec(&[script.to_str().unwrap(), "a  b"]),
        stand.exec(&["env"]),
        stand
            .sh("ulimit -n; umask; readlink /proc/self/fd/0 | cut -c1-4; ls /proc/self/fd | wc -l"),
        stand.sh("trap 'echo told; exit 5' TERM; kill -TERM $$; sleep 5"),
        stand.sh("cat <(echo a) 2>/dev/null || echo b"),
        stand.exec(&["/nonexistent/program"]),
        stand.sh("exec 2>&1; cat /nonexistent/file; head -c 300000 /dev/zero | wc -c"),
    ];
    let calls = calls.map(|call| Call {
        stdin: Some(b"{\"event\": 1}\n".to_vec()),
        env: call
            .env
            .iter()
            .cloned()
            .chain([("COLOUR".into(), "b\u{e9}ige ' $x".into())])
            .collect(),
        ..call
    });
    // The mark tells hooks apart, so it differs from run to run.
    let told = |outcome: Outcome| {
        let lines = text(&outcome);
        let kept = lines.lines().filter(|line| !line.starts_with("GAMBREL_CALL"));
        let kept: Vec<String> = kept.map(str::to_owned).collect();
        (outcome.end, kept, outcome.stderr.text(), outcome.command)
    };
    let usual: Vec<_> = stand.run_all(&calls).into_iter().map(told).collect();
    let mut other = Stand::new();
    other.settings.isolate = true;
    let isolated: Vec<_> = other.run_all(&calls).into_iter().map(told).collect();
    for (usual, isolated) in usual.into_iter().zip(isolated) {
        assert_eq!(usual, isolated);
    }
}

#[test]
fn it_is_the_first_process_of_its_own() {
    let stand = isolated();
    assert_eq!(text(&stand.run(&stand.sh("echo $$; :"))), "1\n");
    assert_ne!(text(&Stand::new().run(&stand.sh("echo $$; :"))), "1\n");
}

#[test]
fn what_it_leaves_ends_at_once() {
    let stand = isolated();
    let sleep = unique(1);
    let outcome = stand.run(&stand.sh(&format!("{}; sleep 0.3; exit 4", escape(&sleep))));
    assert_eq!(outcome.end, End::Exited(4));
    assert_eq!(running(&sleep), Vec::<u32>::new());
    assert_eq!(outcome.remarks, Vec::<String>::new());
}

#[test]
fn what_holds_its_output_does_not_delay_the_answer() {
    let stand = isolated();
    let begun = Instant::now();
    let sleep = unique(2);
    let outcome = stand.run(&stand.sh(&format!("setsid sleep {sleep} & sleep 0.1; echo done")));
    assert_eq!((outcome.end.clone(), text(&outcome)), (End::Exited(0), "done\n".to_owned()));
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(running(&sleep), Vec::<u32>::new());
}

#[test]
fn a_late_one_ends_with_everything_whatever_it_ignores() {
    let stand = isolated();
    let sleep = unique(3);
    for start in ["", "trap '' TERM HUP INT; ", "kill -STOP $$; "] {
        let text = format!("{start}{}; sleep {sleep}; sleep {sleep}", escape(&sleep));
        let mut call = stand.sh(&text);
        call.limits.timeout = Duration::from_millis(400);
        let outcome = stand.run(&call);
        assert_eq!(outcome.end, End::TimedOut, "{text}");
        in_time(&outcome, &call);
        assert_eq!(running(&sleep), Vec::<u32>::new(), "{text}");
    }
}

#[test]
fn runs_sixty_four_at_once() {
    let stand = isolated();
    let calls: Vec<Call> =
        (0..64).map(|code| stand.sh(&format!("sleep 0.1; exit {code}"))).collect();
    let ends: Vec<End> = stand.run_all(&calls).into_iter().map(|outcome| outcome.end).collect();
    assert_eq!(ends, (0..64).map(End::Exited).collect::<Vec<_>>());
}

/// A hook that may go on alone would end with us, so it is waited for.
#[test]
fn one_that_asks_to_go_on_alone_is_waited_for() {
    let stand = isolated();
    let mut call = stand.sh("echo '{\"async\":true}'; sleep 0.5; touch done");
    call.async_marker =
        Some(AsyncMarker { flag: "async".to_owned(), millis: "asyncTimeout".to_owned() });
    let outcome = stand.run(&call);
    assert_eq!(outcome.end, End::Exited(0));
    assert!(stand.path("done").exists());
    assert!(outcome.remarks.iter().any(|remark| remark.contains("isolate")), "{outcome:?}");
}

/// Its supervisor has no settings of ours but those that come with the call.
#[test]
fn one_that_nobody_waits_for_is_isolated_too() {
    let stand = isolated();
    let mut call = stand.sh("echo $$ > draft; mv draft number");
    call.limits.blocking = false;
    assert_eq!(stand.run(&call).end, End::Detached);
    eventually("its number", || stand.path("number").exists());
    assert_eq!(std::fs::read_to_string(stand.path("number")).unwrap(), "1\n");
    stand.nobody_is_left();
}

/// As within an isolated hook: our numbers are not those of `/proc`, and nobody is signalled by them.
#[test]
fn numbers_of_another_namespace_are_not_used() {
    let stand = Stand::new();
    let mut call = stand.sh("setsid sleep 1000 & sleep 1000; sleep 1000");
    call.limits.timeout = Duration::from_millis(400);
    let usual = stand.host_command(&call, None);
    for (isolate, told) in [(false, true), (true, false)] {
        let mut inside = std::process::Command::new("unshare");
        inside.args(["--user", "--map-root-user", "--pid", "--fork", "--kill-child"]).arg(host());
        inside.args(usual.get_args());
        inside.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
        inside.envs(isolate.then_some(("ISOLATE", "1")));
        if !inside.status().is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED: `unshare` makes no PID namespace here");
            return;
        }
        let outcome = stand.outcome(&stand.path("outcome"));
        assert_eq!(outcome.end, End::TimedOut);
        let remarks = outcome.remarks.join("; ");
        assert!(!remarks.contains("cannot be killed"), "{remarks}");
        assert_eq!(remarks.contains("another PID namespace"), told, "{remarks}");
        stand.nobody_is_left();
    }
}
