//! Hostile repositories and commands cost bounded time and memory. They close gates instead of
//! hanging them.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::test_project::{BASH_LS, TestProject, text};

/// Fires in a process with limited address space.
fn fire_within(project: &TestProject, kilobytes: u64, event: &str) -> Value {
    use std::io::Write;
    let line = format!("ulimit -v {kilobytes}; exec \"$0\" fire --from claude --json");
    let mut shell = Command::new("sh");
    shell.args(["-c", &line, crate::test_project::program()]).env_clear().envs(project.env.clone());
    shell.current_dir(&project.root).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = shell.stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}: {}", output.status, text(&output.stderr)))
}

#[test]
fn every_rule_matches_a_command_that_exhausts_the_parser() {
    let project = TestProject::new();
    let rule =
        json!({"type": "command", "command": "echo no >&2; exit 2", "if": "Bash(git push *)"});
    let settings = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [rule]}]}});
    project.file(".claude/settings.json", &settings.to_string());
    for command in [
        format!("rm -rf build\n{}", "`${".repeat(40)),
        format!("rm -rf build\n{}", "`<()".repeat(60)),
        format!("rm -rf build\n{}", "}a=(`".repeat(60)),
        format!("rm -rf build; echo {}", "{a,".repeat(20_000)),
    ] {
        let event = BASH_LS.replace("\"ls\"", &json!(command).to_string());
        let began = Instant::now();
        let decision = project.decide("claude", &event);
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        assert_eq!(decision["ruling"], "deny", "an unparsable command matches: {decision}");
    }
}

#[test]
fn patterns_of_untrusted_hooks_are_not_compiled() {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    let group = |n: usize| {
        let matcher = format!("(a{{1,99}}){{1,99}}x{n}");
        json!({"matcher": matcher, "hooks": [{"type": "command", "command": "true"}]})
    };
    let groups: Vec<Value> = (0..2_000).map(group).collect();
    let settings = json!({"hooks": {"PreToolUse": groups}}).to_string();
    project.file(".claude/settings.json", &settings);
    let decision = fire_within(&project, 1_500_000, BASH_LS);
    assert_eq!(decision["trail"][0]["why"], "untrusted: run `gambrel trust` to look at it");
}

#[test]
fn a_pattern_that_is_too_large_is_a_gate_failure() {
    let project = TestProject::new();
    let matcher = "((a{1,99}){1,99}){1,99}";
    let settings = json!({"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [{"type": "command", "command": "true"}]}]}});
    project.file(".claude/settings.json", &settings.to_string());
    let decision = fire_within(&project, 1_500_000, BASH_LS);
    assert!(decision["trail"][0]["why"].as_str().unwrap().contains("not valid"), "{decision}");
    let strict = project.with("GAMBREL_STRICT", "1").decide("claude", BASH_LS);
    assert_eq!(strict["ruling"], "deny", "{strict}");
}

#[test]
fn limits_yaml_alias_expansion() {
    let project = TestProject::new();
    let aliases = vec!["*a"; 100_000].join(",");
    let yaml = format!("a: &a '{}'\nb: [{aliases}]\nhooks: {{}}\n", "x".repeat(20_000));
    project.file(".gambrel/hooks.yaml", &yaml);
    let decision = fire_within(&project, 1_500_000, BASH_LS);
    assert!(decision["complaints"].to_string().contains("aliases add more than"), "{decision}");
}

#[test]
fn hooks_beyond_the_cap_are_a_gate_failure() {
    let project = TestProject::new();
    let group = |n: usize| json!({"matcher": format!("T{n}"), "hooks": [{"type": "command", "command": "true"}]});
    let groups: Vec<Value> = (0..20_001).map(group).collect();
    project.file(".claude/settings.json", &json!({"hooks": {"PreToolUse": groups}}).to_string());
    let decision = project.decide("claude", BASH_LS);
    assert!(
        decision["notices"].to_string().contains("more than 20000 hooks"),
        "{}",
        decision["notices"]
    );
    let strict = project.with("GAMBREL_STRICT", "1").decide("claude", BASH_LS);
    assert_eq!(strict["ruling"], "deny");
}

#[test]
fn uses_all_of_ten_thousand_hooks() {
    let project = TestProject::new();
    let group = |n: usize| json!({"matcher": format!("T{n}"), "hooks": [{"type": "command", "command": "exit 2"}]});
    let groups: Vec<Value> = (0..10_000).map(group).collect();
    project.file(".claude/settings.json", &json!({"hooks": {"PreToolUse": groups}}).to_string());
    let decision = project.decide("claude", &BASH_LS.replace("Bash", "T9999"));
    assert_eq!(decision["ruling"], "deny");
    assert_eq!(decision["complaints"], json!([]));
}

#[test]
fn large_and_deep_events_are_read_up_to_their_limits() {
    let project = TestProject::new();
    project.guard("exit 2", 20);
    let large = BASH_LS.replace("\"ls\"", &format!("\"{}\"", "x".repeat(20 * 1024 * 1024)));
    assert_eq!(project.decide("claude", &large)["reasons"][0]["text"], "No stderr output");
    let nested = |levels: usize| {
        let deep = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        BASH_LS.replace("\"ls\"", &format!("\"ls\",\"deep\":{deep}"))
    };
    assert_eq!(project.decide("claude", &nested(900))["reasons"][0]["text"], "No stderr output");
    for event in [nested(1_100), BASH_LS.replace("\"ls\"", "\"ls\",\"n\":1e999")] {
        let decision = project.decide("claude", &event);
        assert_eq!(decision["ruling"], "deny");
        let reason = decision["reasons"][0]["text"].as_str().unwrap();
        assert!(reason.contains("could not read this event"), "{reason}");
    }
}

#[test]
fn thousands_of_hooks_for_one_event_keep_to_the_budget() {
    let project = TestProject::new();
    let hook = |n: usize| json!({"type": "command", "command": format!("true #{n}")});
    let hooks: Vec<Value> = (0..9_000).map(hook).collect();
    let settings = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": hooks}]}});
    project.file(".claude/settings.json", &settings.to_string());
    let args = ["fire", "--from", "claude", "--json", "--budget", "2"];
    let began = Instant::now();
    let output = project.run(&args, BASH_LS.as_bytes());
    // Far more than the budget, for a busy machine; without a check an idle one needs 24 s.
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    let decision: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(decision["trail"].as_array().unwrap().len(), 9_000);
    assert!(
        decision["notices"].to_string().contains("no time was left"),
        "{}",
        decision["notices"]
    );
    let output = project.run(&[&args[..], &["--strict"]].concat(), BASH_LS.as_bytes());
    let decision: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(decision["ruling"], "deny");
    assert!(decision["reasons"].as_array().unwrap().len() <= 101);
    let log = project.json(&["log", "--json", "-n", "1"]);
    assert!(
        log.to_string().contains("steps are not in the journal"),
        "the journal reports the omission"
    );
}
