//! With `isolate`, no hook process outlives gambrel, the hook's timeout or the hook itself, even if
//! it hides. No later start of gambrel is needed.

use std::process::Child;
use std::time::{Duration, Instant};

use crate::processes::{TOKEN, full_count, kill, processes_with_command};
use crate::test_project::{
    BASH_LS, TestProject, processes_naming, report_missing_part, wait_until,
};

/// The caller that fires the hooks of a test.
#[derive(Clone, Copy)]
enum Caller {
    ClaudeCode,
    Pipelines,
}

/// A unique duration for `sleep`. It identifies processes without environment.
fn unique_sleep(name: &str) -> String {
    let digits: String = name.bytes().map(|byte| byte.to_string()).collect();
    format!("1000.{}{digits}", std::process::id())
}

fn count_sleeping(sleep: &str) -> usize {
    processes_naming(std::path::Path::new(sleep)).len()
}

/// Kills the processes that are left, and returns their number.
fn kill_and_count_left(sleep: &str) -> usize {
    let left = processes_naming(std::path::Path::new(sleep));
    left.iter().for_each(|pid| kill(*pid as i32));
    left.len()
}

/// Two generations without session, parents and environment, and one that stays with the hook.
fn escaping_command(sleep: &str) -> String {
    let hidden = format!("(sleep {sleep} &) ; (setsid sleep {sleep} &) ; sleep {sleep}");
    format!("(env -i setsid sh -c '{hidden}' >/dev/null 2>&1 </dev/null &) ; sleep {sleep} &")
}

impl Caller {
    fn start(self, project: &TestProject, command: &str, timeout: u32) -> Child {
        match self {
            Self::ClaudeCode => {
                project.guard(command, timeout);
                project.start(&["fire", "--from", "claude"], BASH_LS.as_bytes())
            }
            Self::Pipelines => {
                let action = format!(
                    "hooks:\n  on_iteration_start:\n    - type: shell\n      await: true\n      timeout: {timeout}\n      command: {}\n",
                    serde_json::json!(command)
                );
                project.file(".gambrel/hooks.yaml", &action);
                let point =
                    r#"{"hook_point":"on_iteration_start","vars":{"SESSION":"s","ITERATION":1}}"#;
                project.start(&["fire", "--from", "unified"], point.as_bytes())
            }
        }
    }
}

/// Kills `fire` at every age up to 250 ms, and counts the processes 2 s after the last kill.
fn count_left_after_kills(caller: Caller, sleep: &str, count: usize) -> usize {
    let command = format!("{} sleep {sleep}; sleep {sleep}", escaping_command(sleep));
    let mut projects = Vec::new();
    for round in 0..count {
        // Its own state folder, so that no round is the next start of another.
        let project = TestProject::new().with("GAMBREL_ISOLATE", "1");
        let mut child = caller.start(&project, &command, 600);
        std::thread::sleep(Duration::from_millis((250 * round / count) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        projects.push(project);
    }
    std::thread::sleep(Duration::from_secs(2));
    kill_and_count_left(sleep)
}

#[test]
fn a_killed_fire_leaves_nothing() {
    let count = full_count(20, 1_000);
    let attacks = [(Caller::ClaudeCode, unique_sleep("c")), (Caller::Pipelines, unique_sleep("p"))];
    let left: Vec<usize> = std::thread::scope(|scope| {
        let attacks: Vec<_> = attacks
            .iter()
            .map(|(caller, sleep)| {
                scope.spawn(move || count_left_after_kills(*caller, sleep, count))
            })
            .collect();
        attacks.into_iter().map(|attack| attack.join().unwrap()).collect()
    });
    eprintln!("isolated: {count} kills each of Claude Code and agent-pipelines, left {left:?}");
    assert_eq!(left, [0, 0]);
}

#[test]
fn a_timeout_leaves_nothing() {
    for (caller, name) in [(Caller::ClaudeCode, "d"), (Caller::Pipelines, "q")] {
        let sleep = unique_sleep(name);
        let project = TestProject::new().with("GAMBREL_ISOLATE", "1");
        let command =
            format!("trap '' TERM; {} sleep {sleep}; sleep {sleep}", escaping_command(&sleep));
        let begun = Instant::now();
        caller.start(&project, &command, 1).wait_with_output().unwrap();
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
        assert_eq!(kill_and_count_left(&sleep), 0);
    }
}

#[test]
fn a_hook_that_ends_leaves_nothing() {
    for (caller, name) in [(Caller::ClaudeCode, "e"), (Caller::Pipelines, "r")] {
        let sleep = unique_sleep(name);
        let project = TestProject::new().with("GAMBREL_ISOLATE", "1");
        let command = format!("{} sleep 0.3; exit 0", escaping_command(&sleep));
        caller.start(&project, &command, 60).wait_with_output().unwrap();
        assert_eq!(kill_and_count_left(&sleep), 0);
    }
}

/// A detached hook ends with its supervisor.
#[test]
fn a_killed_supervisor_leaves_nothing() {
    for round in 0..full_count(3, 50) {
        let (sleep, token) = (
            unique_sleep(&format!("s{round}")),
            format!("supervised-{}-{round}", std::process::id()),
        );
        let project = TestProject::new().with("GAMBREL_ISOLATE", "1").with(TOKEN, &token);
        let command = format!("{} sleep {sleep}; sleep {sleep}", escaping_command(&sleep));
        let hook = serde_json::json!({"type": "command", "command": command, "async": true});
        let settings =
            serde_json::json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}});
        project.file(".claude/settings.json", &settings.to_string());
        project.run(&["fire", "--from", "claude"], BASH_LS.as_bytes());
        wait_until("all of it runs", || count_sleeping(&sleep) >= 5);
        processes_with_command(&token, "__watchdog").into_iter().for_each(kill);
        processes_with_command(&token, "__supervise").into_iter().for_each(kill);
        let killed = Instant::now();
        while count_sleeping(&sleep) > 0 && killed.elapsed() < Duration::from_secs(2) {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(kill_and_count_left(&sleep), 0);
    }
}

/// Killed after the hook process started, but before it set its parent-death signal.
#[test]
fn a_fire_that_is_killed_in_the_middle_of_a_start_leaves_nothing() {
    let project = TestProject::new().with("GAMBREL_ISOLATE", "1");
    project.guard("touch ran; sleep 1000", 600);
    let trace = project.root.join("trace");
    let mut command = std::process::Command::new("strace");
    // Delays the first `prctl` of each process. The hook's first one sets the parent-death signal.
    command.args(["-f", "-e", "trace=prctl", "-e", "inject=prctl:delay_enter=1500000:when=1"]);
    command.arg("-o").arg(&trace).arg(crate::test_project::program());
    command.args(["fire", "--from", "claude"]).current_dir(&project.root);
    command.env_clear().envs(project.env.clone());
    let event = project.file("event.json", BASH_LS);
    command.stdin(std::fs::File::open(event).unwrap());
    let Ok(mut strace) = command.spawn() else {
        report_missing_part("strace");
        return;
    };
    let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap_or_default();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !read(&trace).contains("PR_SET_PDEATHSIG") {
        if strace.try_wait().unwrap().is_some() {
            report_missing_part("the right to trace");
            return;
        }
        assert!(Instant::now() < deadline, "it never started its hook: {}", read(&trace));
        std::thread::sleep(Duration::from_millis(20));
    }
    // The first process in the trace is `fire`.
    let fire = read(&trace).split_whitespace().next().unwrap().parse().unwrap();
    kill(fire);
    // strace follows the hook to its end.
    wait_until("the hook has ended", || {
        rustix::process::test_kill_process(rustix::process::Pid::from_raw(fire).unwrap()).is_err()
    });
    strace.wait().unwrap();
    assert!(!project.root.join("ran").exists(), "the hook ran: {}", read(&trace));
    assert!(read(&trace).contains("exited with 127"), "{}", read(&trace));
}
