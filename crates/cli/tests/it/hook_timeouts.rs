//! Whatever a hook does, the reply comes within its timeout plus one second, and no process is
//! left.

use std::time::{Duration, Instant};

use crate::test_project::{BASH_LS, TestProject, processes_naming, text, wait_until};

/// Fires a hook with a timeout of one second, checks the time, and returns its trail step.
fn decide_in_time(script: &str) -> serde_json::Value {
    let project = TestProject::new();
    let path = project.script("hook.sh", script);
    project.guard("\"$CLAUDE_PROJECT_DIR\"/hook.sh", 1);
    let began = Instant::now();
    let decision = project.decide("claude", BASH_LS);
    // The limit is timeout + 1 s; process start and a busy machine get two seconds more.
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    wait_until("every process of the hook is gone", || processes_naming(&path).is_empty());
    decision["trail"][0].clone()
}

#[test]
fn kills_a_hook_that_hangs() {
    let step = decide_in_time("#!/bin/sh\nsleep 300\n");
    assert_eq!(step["outcome"], "late");
}

#[test]
fn kills_a_hook_that_ignores_term_and_forks() {
    let step = decide_in_time(
        "#!/bin/sh\ntrap '' TERM\n(trap '' TERM; sleep 300) &\n(setsid sleep 300 &)\nsleep 300\n",
    );
    assert_eq!(step["outcome"], "late");
}

#[test]
fn reports_a_child_that_keeps_the_output_open() {
    let step = decide_in_time("#!/bin/sh\nsleep 0.9 &\nexit 0\n");
    assert_eq!(step["outcome"], "exited");
    assert!(step["why"].as_str().unwrap().contains("leak"), "{step}");
}

#[test]
fn survives_a_hook_that_deletes_its_folder() {
    let step = decide_in_time("#!/bin/sh\nrm -rf \"$CLAUDE_PROJECT_DIR\"\nexit 0\n");
    assert_eq!(step["outcome"], "exited");
}

#[test]
fn reports_a_hook_that_is_not_executable() {
    let project = TestProject::new();
    project.file("hook.sh", "#!/bin/sh\nexit 0\n");
    project.guard("./hook.sh", 1);
    let decision = project.decide("claude", BASH_LS);
    assert_eq!(decision["ruling"], "silent");
    let step = &decision["trail"][0];
    assert!(step["outcome"] == "unstarted" || step["code"] == 126, "{step}");
    let strict = project.run(&["fire", "--from", "claude", "--strict"], BASH_LS.as_bytes());
    assert!(text(&strict.stdout).contains("\"deny\""), "{}", text(&strict.stdout));
}

#[test]
fn bounds_memory_for_300_megabytes_of_output() {
    let project = TestProject::new();
    project.guard("head -c 300000000 /dev/zero; exit 0", 60);
    let mut child = project.start(&["fire", "--from", "claude", "--json"], BASH_LS.as_bytes());
    let pid = child.id();
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        peak = peak.max(resident_kilobytes(pid));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(peak < 64 * 1024, "{peak} KiB");
    let output = child.wait_with_output().unwrap();
    let decision: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(decision["trail"][0]["outcome"], "exited");
}

fn resident_kilobytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

#[test]
fn accepts_hooks_that_do_not_read_a_large_event() {
    let project = TestProject::new();
    project.guard("exit 0", 5);
    let big = BASH_LS.replace("\"ls\"", &format!("\"{}\"", "x".repeat(5_000_000)));
    let decision = project.decide("claude", &big);
    assert_eq!(decision["trail"][0]["code"], 0, "{}", decision["trail"]);
}

#[test]
fn passes_a_five_megabyte_event_whole() {
    let project = TestProject::new();
    project.guard("wc -c > \"$CLAUDE_PROJECT_DIR/count\"", 10);
    let big = BASH_LS.replace("\"ls\"", &format!("\"{}\"", "x".repeat(5_000_000)));
    project.decide("claude", &big);
    let count: usize =
        std::fs::read_to_string(project.root.join("count")).unwrap().trim().parse().unwrap();
    assert!(count > 5_000_000, "{count}");
}

/// One of two hooks times out and leaves a process in its own session, without environment and
/// parents. gambrel cannot tell which hook owns it, and kills it with the last hook.
#[test]
fn kills_hidden_processes_with_the_last_hook() {
    let project = TestProject::new();
    let hides = "(env -i setsid sh -c 'echo $$ > hidden; exec sleep 60' </dev/null >/dev/null 2>&1 &) & wait; sleep 60";
    let late = serde_json::json!({"type": "command", "command": hides, "timeout": 1});
    let other = serde_json::json!({"type": "command", "command": "sleep 1.2", "timeout": 2});
    let hooks = serde_json::json!({"hooks": {"PreToolUse": [{"hooks": [late, other]}]}});
    project.file(".claude/settings.json", &hooks.to_string());
    project.decide("claude", BASH_LS);
    let pid = std::fs::read_to_string(project.root.join("hidden")).unwrap();
    let stat = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    wait_until("the hidden one is gone", || !stat().contains("(sleep)"));
}

#[test]
fn kills_hooks_when_fire_is_killed() {
    let project = TestProject::new();
    let path = project.script("hook.sh", "#!/bin/sh\n: > started\nsleep 300 & wait\n");
    project.guard("./hook.sh", 300);
    let mut child = project.start(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    wait_until("the hook runs", || project.root.join("started").exists());
    // The watchdog starts for hooks that run longer than 50 ms.
    std::thread::sleep(Duration::from_millis(700));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the hook is gone too", || processes_naming(&path).is_empty());
}

#[test]
fn stops_recursive_firings() {
    let project = TestProject::new();
    let call = format!(
        "echo x >> \"$CLAUDE_PROJECT_DIR/runs\"; '{}' fire --from claude || true",
        crate::test_project::program()
    );
    project.guard(&call, 20);
    std::fs::write(project.root.join("event"), BASH_LS).unwrap();
    let decision = project.decide("claude", BASH_LS);
    assert_eq!(decision["trail"][0]["outcome"], "exited");
    let runs = std::fs::read_to_string(project.root.join("runs")).unwrap().lines().count();
    assert!(runs <= 3, "{runs}");
}

#[test]
fn runs_a_guard_when_the_events_folder_is_gone() {
    let project = TestProject::new();
    project.guard("exit 2", 5);
    let gone = BASH_LS.replace("\"session_id\"", "\"cwd\":\"/nowhere/at/all\",\"session_id\"");
    let output = project
        .run(&["-C", project.root.to_str().unwrap(), "fire", "--from", "claude"], gone.as_bytes());
    assert!(text(&output.stdout).contains("deny"), "{}", text(&output.stderr));
}

#[test]
fn replies_before_the_budget_ends() {
    let project = TestProject::new();
    project.guard("trap '' TERM; sleep 30; sleep 30", 600);
    let began = Instant::now();
    let output =
        project.run(&["fire", "--from", "claude", "--budget", "2", "--strict"], BASH_LS.as_bytes());
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert!(text(&output.stdout).contains("deny"));
}

#[test]
fn kills_hooks_on_sigterm() {
    let project = TestProject::new();
    let path = project.script("hook.sh", "#!/bin/sh\n: > started\nsleep 300 & wait\n");
    project.guard("./hook.sh", 300);
    let mut child = project.start(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    wait_until("the hook runs", || project.root.join("started").exists());
    let killed =
        std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(killed.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(143));
    wait_until("the hook is gone too", || processes_naming(&path).is_empty());
}

#[test]
fn replies_in_time_with_a_hundred_hanging_hooks() {
    let project = TestProject::new();
    let hook =
        |n: u32| serde_json::json!({"type": "command", "command": format!("sleep 300; : {n}")});
    let hooks: Vec<_> = (0..100).map(hook).collect();
    let settings = serde_json::json!({"hooks": {"PreToolUse": [{"hooks": hooks}]}});
    project.file(".claude/settings.json", &settings.to_string());
    let began = Instant::now();
    project.run(&["fire", "--from", "claude", "--budget", "5"], BASH_LS.as_bytes());
    // Before the budget ends; process starts and a busy machine get two seconds more.
    assert!(began.elapsed() < Duration::from_secs(7), "{:?}", began.elapsed());
}
