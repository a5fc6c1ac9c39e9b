//! Events of one session at the same time tell each message once; a process that is killed before
//! its reply is out has told nothing.

use std::process::Child;

use gambrel::ledger::{LocalLedger, Redactor};
use gambrel::model::{Audience, Ledger, Undelivered, Verdict};
use serde_json::{Value, json};

use crate::ground::{Ground, text, until};
use crate::session_lock::LockHolder;

const PARALLEL_COUNT: usize = 8;
const PROMPT: &str = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"hi"}"#;

/// Few rounds unless all are asked for.
fn rounds() -> usize {
    if std::env::var_os("GAMBREL_TEST_FULL").is_some() { 100 } else { 5 }
}

fn keep(ground: &Ground, messages: &[String]) {
    let ledger = LocalLedger::open(ground.base.join("state"), Redactor::default());
    let memory = format!("s@{}", ground.root.display());
    for message in messages {
        let words = Verdict::with_only_message(Audience::AgentNow, message.clone());
        let debt = Undelivered::new(message.clone(), "a hook", words);
        ledger.update_session(&memory, &mut |state| state.keep_undelivered(debt.clone())).unwrap();
    }
}

fn start(ground: &Ground, event: &str) -> Child {
    ground.start(&["fire", "--from", "claude"], event.as_bytes())
}

fn told(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let told = &reply["hookSpecificOutput"]["additionalContext"];
    told.as_str().map_or_else(|| text(&output.stdout), str::to_owned)
}

#[test]
fn by_eight_events_at_once() {
    let ground = Ground::new();
    for round in 0..rounds() {
        let messages: Vec<String> = (0..20).map(|n| format!("<message {round} {n}>")).collect();
        keep(&ground, &messages);
        let children: Vec<Child> = (0..PARALLEL_COUNT).map(|_| start(&ground, PROMPT)).collect();
        let all: String = children.into_iter().map(told).collect();
        for message in &messages {
            assert_eq!(all.matches(message.as_str()).count(), 1, "{message} in {all:?}");
        }
    }
    assert_eq!(told(start(&ground, PROMPT)), "", "nothing is left");
}

#[test]
fn again_after_a_kill_and_by_nobody_else_before() {
    let ground = Ground::new();
    let hook = json!({"type": "command", "command": "echo x > started; exec sleep 60"});
    let settings = json!({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}});
    ground.file(".claude/settings.json", &settings.to_string());
    keep(&ground, &["<the build is green>".to_owned()]);
    let mut first = start(&ground, PROMPT);
    until("its hook runs", || ground.root.join("started").exists());
    ground.file(".claude/settings.json", "{}");
    assert!(!told(start(&ground, PROMPT)).contains("green"), "the first one tells it");
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(told(start(&ground, PROMPT)).contains("<the build is green>"));
    assert!(!told(start(&ground, PROMPT)).contains("green"));
}

#[test]
fn a_hook_that_runs_once_runs_once_in_eight_events() {
    let post = |tool: &str, input: Value| {
        json!({"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": tool,
               "tool_input": input, "tool_response": "ok"})
        .to_string()
    };
    for _ in 0..rounds() {
        let ground = Ground::new();
        let skill = "---\nhooks:\n  PostToolUse:\n    - hooks:\n        - {type: command, command: \"echo x >> runs\", once: true}\n---\n";
        ground.file(".claude/skills/deploy/SKILL.md", skill);
        told(start(&ground, &post("Skill", json!({"skill": "deploy"}))));
        let read = post("Read", json!({"file_path": "a"}));
        let children: Vec<Child> = (0..PARALLEL_COUNT).map(|_| start(&ground, &read)).collect();
        children.into_iter().for_each(|child| drop(told(child)));
        let runs = std::fs::read_to_string(ground.root.join("runs")).unwrap();
        assert_eq!(runs, "x\n");
    }
}

#[test]
fn later_where_the_reply_could_not_be_written() {
    for (line, stdout) in [
        ("\"$0\" fire --from claude >&-", "closed"),
        ("\"$0\" fire --from claude > /dev/full", "full"),
        // Nobody reads: the pipe's reader ends at once.
        ("mkfifo p; : < p & exec 3> p; wait; \"$0\" fire --from claude >&3", "broken"),
    ] {
        let ground = Ground::new();
        keep(&ground, &["<the build is green>".to_owned()]);
        let output = ground.run_in_shell(line, PROMPT.as_bytes());
        assert_eq!(output.status.code(), Some(1), "{stdout}: {}", text(&output.stderr));
        let told = text(&output.stderr);
        assert!(told.contains("the reply could not be written"), "{stdout}: {told}");
        assert!(user_messages_of_next_event(&ground).contains("<the build is green>"), "{stdout}");
        assert!(!user_messages_of_next_event(&ground).contains("green"), "{stdout}");
    }
}

#[test]
fn a_closed_output_is_no_fault_where_there_is_nothing_to_say() {
    let ground = Ground::new();
    let output = ground.run_in_shell("\"$0\" fire --from claude >&-", PROMPT.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn of_a_detached_hook_whose_session_is_locked() {
    let ground = Ground::new();
    user_messages_of_next_event(&ground);
    let holder = LockHolder::of(&ground);
    fire_with_detached_hook(&ground);
    until("its words are stored aside", || has_side_entry(&ground));
    drop(holder);
    let all: String =
        (0..3).map(|_| text(&start(&ground, PROMPT).wait_with_output().unwrap().stdout)).collect();
    assert_eq!(all.matches("<late words>").count(), 1, "{all}");
}

#[test]
fn the_log_tells_those_of_a_detached_hook_that_can_be_stored_nowhere() {
    let ground = Ground::new();
    std::fs::create_dir(ground.base.join("state")).unwrap();
    for name in ["sessions", "side-entries"] {
        std::fs::write(ground.base.join("state").join(name), "no folder").unwrap();
    }
    fire_with_detached_hook(&ground);
    let log = || text(&ground.run(&["log", "-n", "1", "--json"], b"").stdout);
    until("its end is recorded", || log().contains("\"outcome\":\"exited\""));
    let firing: Value = serde_json::from_str(&log()).unwrap();
    let troubles = firing["troubles"].to_string();
    assert!(troubles.contains("is lost (`<late words>`)"), "{troubles}");
}

/// Fires an event whose hook nobody waits for, and takes the hook away.
fn fire_with_detached_hook(ground: &Ground) {
    let words = "echo '{\"systemMessage\":\"<late words>\"}'";
    let hook = json!({"type": "command", "command": words, "async": true});
    let settings = json!({"hooks": {"PostToolUse": [{"hooks": [hook]}]}});
    ground.file(".claude/settings.json", &settings.to_string());
    let event = json!({"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Read",
                       "tool_input": {}, "tool_response": "ok"});
    told(start(ground, &event.to_string()));
    ground.file(".claude/settings.json", "{}");
}

fn has_side_entry(ground: &Ground) -> bool {
    let Ok(sessions) = std::fs::read_dir(ground.base.join("state/side-entries")) else {
        return false;
    };
    let entries = sessions.flat_map(|session| std::fs::read_dir(session.unwrap().path()));
    let mut names = entries.flatten().map(|entry| entry.unwrap().file_name());
    names.any(|name| name.to_string_lossy().ends_with(".json"))
}

fn user_messages_of_next_event(ground: &Ground) -> String {
    told(start(ground, PROMPT))
}
