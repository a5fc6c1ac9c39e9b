//! Whatever a hook does, the answer comes within its timeout and a second, and nothing is left.

use std::time::{Duration, Instant};

use crate::ground::{BASH_LS, Ground, processes_naming, text, until};

/// Fires at a hook with a timeout of one second; the answer must be there in time.
fn in_time(script: &str) -> serde_json::Value {
    let ground = Ground::new();
    let path = ground.script("hook.sh", script);
    ground.guard("\"$CLAUDE_PROJECT_DIR\"/hook.sh", 1);
    let began = Instant::now();
    let decision = ground.decide("claude", BASH_LS);
    // The promise is timeout + 1 s; process start and a busy machine get two more.
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    until("every process of the hook is gone", || processes_naming(&path).is_empty());
    decision["trail"][0].clone()
}

#[test]
fn a_hook_that_hangs() {
    let step = in_time("#!/bin/sh\nsleep 300\n");
    assert_eq!(step["outcome"], "late");
}

#[test]
fn a_hook_that_ignores_term_and_forks() {
    let step = in_time(
        "#!/bin/sh\ntrap '' TERM\n(trap '' TERM; sleep 300) &\n(setsid sleep 300 &)\nsleep 300\n",
    );
    assert_eq!(step["outcome"], "late");
}

#[test]
fn a_hook_that_leaves_a_child_with_its_output() {
    let step = in_time("#!/bin/sh\nsleep 0.9 &\nexit 0\n");
    assert_eq!(step["outcome"], "exited");
    assert!(step["why"].as_str().unwrap().contains("leak"), "{step}");
}

#[test]
fn a_hook_that_deletes_its_own_folder() {
    let step = in_time("#!/bin/sh\nrm -rf \"$CLAUDE_PROJECT_DIR\"\nexit 0\n");
    assert_eq!(step["outcome"], "exited");
}

#[test]
fn a_hook_that_is_not_executable() {
    let ground = Ground::new();
    ground.file("hook.sh", "#!/bin/sh\nexit 0\n");
    ground.guard("./hook.sh", 1);
    let decision = ground.decide("claude", BASH_LS);
    assert_eq!(decision["ruling"], "silent");
    let step = &decision["trail"][0];
    assert!(step["outcome"] == "unstarted" || step["code"] == 126, "{step}");
    let strict = ground.run(&["fire", "--from", "claude", "--strict"], BASH_LS.as_bytes());
    assert!(text(&strict.stdout).contains("\"deny\""), "{}", text(&strict.stdout));
}

#[test]
fn a_hook_that_writes_300_megabytes() {
    let ground = Ground::new();
    ground.guard("head -c 300000000 /dev/zero; exit 0", 60);
    let mut child = ground.start(&["fire", "--from", "claude", "--json"], BASH_LS.as_bytes());
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
fn a_five_megabyte_event_that_nobody_reads() {
    let ground = Ground::new();
    ground.guard("exit 0", 5);
    let big = BASH_LS.replace("\"ls\"", &format!("\"{}\"", "x".repeat(5_000_000)));
    let decision = ground.decide("claude", &big);
    assert_eq!(decision["trail"][0]["code"], 0, "{}", decision["trail"]);
}

#[test]
fn a_five_megabyte_event_arrives_whole() {
    let ground = Ground::new();
    ground.guard("wc -c > \"$CLAUDE_PROJECT_DIR/count\"", 10);
    let big = BASH_LS.replace("\"ls\"", &format!("\"{}\"", "x".repeat(5_000_000)));
    ground.decide("claude", &big);
    let count: usize =
        std::fs::read_to_string(ground.root.join("count")).unwrap().trim().parse().unwrap();
    assert!(count > 5_000_000, "{count}");
}

/// Of two hooks one leaves a process that made a session of its own, emptied its environment and
/// lost its parents, and is late: it cannot be told whose that is, and it ends all the same.
#[test]
fn what_hides_from_two_hooks_ends_with_the_last() {
    let ground = Ground::new();
    let hides = "(env -i setsid sh -c 'echo $$ > hidden; exec sleep 60' </dev/null >/dev/null 2>&1 &) & wait; sleep 60";
    let late = serde_json::json!({"type": "command", "command": hides, "timeout": 1});
    let other = serde_json::json!({"type": "command", "command": "sleep 1.2", "timeout": 2});
    let hooks = serde_json::json!({"hooks": {"PreToolUse": [{"hooks": [late, other]}]}});
    ground.file(".claude/settings.json", &hooks.to_string());
    ground.decide("claude", BASH_LS);
    let pid = std::fs::read_to_string(ground.root.join("hidden")).unwrap();
    let stat = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    until("the hidden one is gone", || !stat().contains("(sleep)"));
}

#[test]
fn killing_the_caller_leaves_nothing() {
    let ground = Ground::new();
    let path = ground.script("hook.sh", "#!/bin/sh\n: > started\nsleep 300 & wait\n");
    ground.guard("./hook.sh", 300);
    let mut child = ground.start(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    until("the hook runs", || ground.root.join("started").exists());
    // A watchdog stands by for hooks that live longer than 50 ms.
    std::thread::sleep(Duration::from_millis(700));
    child.kill().unwrap();
    child.wait().unwrap();
    until("the hook is gone too", || processes_naming(&path).is_empty());
}

#[test]
fn a_hook_that_fires_hooks_that_fire_hooks_comes_to_an_end() {
    let ground = Ground::new();
    let call = format!(
        "echo x >> \"$CLAUDE_PROJECT_DIR/runs\"; '{}' fire --from claude || true",
        env!("CARGO_BIN_EXE_gambrel")
    );
    ground.guard(&call, 20);
    std::fs::write(ground.root.join("event"), BASH_LS).unwrap();
    let decision = ground.decide("claude", BASH_LS);
    assert_eq!(decision["trail"][0]["outcome"], "exited");
    let runs = std::fs::read_to_string(ground.root.join("runs")).unwrap().lines().count();
    assert!(runs <= 3, "{runs}");
}

#[test]
fn a_guard_is_asked_also_when_the_folder_is_gone() {
    let ground = Ground::new();
    ground.guard("exit 2", 5);
    let gone = BASH_LS.replace("\"session_id\"", "\"cwd\":\"/nowhere/at/all\",\"session_id\"");
    let output = ground
        .run(&["-C", ground.root.to_str().unwrap(), "fire", "--from", "claude"], gone.as_bytes());
    assert!(text(&output.stdout).contains("deny"), "{}", text(&output.stderr));
}

#[test]
fn the_answer_comes_before_the_budget_ends() {
    let ground = Ground::new();
    ground.guard("trap '' TERM; sleep 30; sleep 30", 600);
    let began = Instant::now();
    let output =
        ground.run(&["fire", "--from", "claude", "--budget", "2", "--strict"], BASH_LS.as_bytes());
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert!(text(&output.stdout).contains("deny"));
}

#[test]
fn a_signal_ends_the_hooks_too_from_the_first_moment() {
    let ground = Ground::new();
    let path = ground.script("hook.sh", "#!/bin/sh\n: > started\nsleep 300 & wait\n");
    ground.guard("./hook.sh", 300);
    let mut child = ground.start(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    until("the hook runs", || ground.root.join("started").exists());
    let killed =
        std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(killed.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(143));
    until("the hook is gone too", || processes_naming(&path).is_empty());
}

#[test]
fn a_hundred_hooks_that_hang_together() {
    let ground = Ground::new();
    let hook =
        |n: u32| serde_json::json!({"type": "command", "command": format!("sleep 300; : {n}")});
    let hooks: Vec<_> = (0..100).map(hook).collect();
    let settings = serde_json::json!({"hooks": {"PreToolUse": [{"hooks": hooks}]}});
    ground.file(".claude/settings.json", &settings.to_string());
    let began = Instant::now();
    ground.run(&["fire", "--from", "claude", "--budget", "5"], BASH_LS.as_bytes());
    // Before the budget ends; process starts and a busy machine get two seconds more.
    assert!(began.elapsed() < Duration::from_secs(7), "{:?}", began.elapsed());
}
