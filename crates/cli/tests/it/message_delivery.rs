//! Parallel events of one session deliver each message once. A process that is killed before its
//! reply delivers nothing.

use std::process::Child;

use gambrel_ledger::open_state_dir;
use gambrel_model::{Audience, Undelivered, Verdict};
use serde_json::{Value, json};

use crate::session_lock::LockHolder;
use crate::test_project::{TestProject, text, wait_until};

const PARALLEL_COUNT: usize = 8;
const PROMPT: &str = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"hi"}"#;

/// Few rounds, or all with `GAMBREL_TEST_FULL`.
fn rounds() -> usize {
    if std::env::var_os("GAMBREL_TEST_FULL").is_some() { 100 } else { 5 }
}

fn keep_messages(project: &TestProject, messages: &[String]) {
    let ledger = open_state_dir(project.base.join("state"));
    let session_key = format!("s@{}", project.root.display());
    for message in messages {
        let words = Verdict::with_only_message(Audience::AgentNow, message.clone());
        let undelivered = Undelivered::new(message.clone(), "a hook", words);
        ledger
            .update_session(&session_key, &mut |state| state.keep_undelivered(undelivered.clone()))
            .unwrap();
    }
}

fn start(project: &TestProject, event: &str) -> Child {
    project.start(&["fire", "--from", "claude"], event.as_bytes())
}

fn read_context(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let context = &reply["hookSpecificOutput"]["additionalContext"];
    context.as_str().map_or_else(|| text(&output.stdout), str::to_owned)
}

#[test]
fn eight_parallel_events_deliver_each_message_once() {
    let project = TestProject::new();
    for round in 0..rounds() {
        let messages: Vec<String> = (0..20).map(|n| format!("<message {round} {n}>")).collect();
        keep_messages(&project, &messages);
        let children: Vec<Child> = (0..PARALLEL_COUNT).map(|_| start(&project, PROMPT)).collect();
        let all: String = children.into_iter().map(read_context).collect();
        for message in &messages {
            assert_eq!(all.matches(message.as_str()).count(), 1, "{message} in {all:?}");
        }
    }
    assert_eq!(read_context(start(&project, PROMPT)), "", "nothing is left");
}

#[test]
fn delivers_again_only_after_the_first_process_is_killed() {
    let project = TestProject::new();
    let hook = json!({"type": "command", "command": "echo x > started; exec sleep 60"});
    let settings = json!({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}});
    project.file(".claude/settings.json", &settings.to_string());
    keep_messages(&project, &["<the build is green>".to_owned()]);
    let mut first = start(&project, PROMPT);
    wait_until("its hook runs", || project.root.join("started").exists());
    project.file(".claude/settings.json", "{}");
    assert!(
        !read_context(start(&project, PROMPT)).contains("green"),
        "the first process delivers it"
    );
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(read_context(start(&project, PROMPT)).contains("<the build is green>"));
    assert!(!read_context(start(&project, PROMPT)).contains("green"));
}

#[test]
fn runs_a_once_hook_once_in_eight_parallel_events() {
    let post = |tool: &str, input: Value| {
        json!({"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": tool,
               "tool_input": input, "tool_response": "ok"})
        .to_string()
    };
    for _ in 0..rounds() {
        let project = TestProject::new();
        let skill = "---\nhooks:\n  PostToolUse:\n    - hooks:\n        - {type: command, command: \"echo x >> runs\", once: true}\n---\n";
        project.file(".claude/skills/deploy/SKILL.md", skill);
        read_context(start(&project, &post("Skill", json!({"skill": "deploy"}))));
        let read = post("Read", json!({"file_path": "a"}));
        let children: Vec<Child> = (0..PARALLEL_COUNT).map(|_| start(&project, &read)).collect();
        children.into_iter().for_each(|child| drop(read_context(child)));
        let runs = std::fs::read_to_string(project.root.join("runs")).unwrap();
        assert_eq!(runs, "x\n");
    }
}

#[test]
fn delivers_later_when_the_reply_could_not_be_written() {
    for (line, stdout) in [
        ("\"$0\" fire --from claude >&-", "closed"),
        ("\"$0\" fire --from claude > /dev/full", "full"),
        // A pipe whose reader has ended.
        ("mkfifo p; : < p & exec 3> p; wait; \"$0\" fire --from claude >&3", "broken"),
    ] {
        let project = TestProject::new();
        keep_messages(&project, &["<the build is green>".to_owned()]);
        let output = project.run_in_shell(line, PROMPT.as_bytes());
        assert_eq!(output.status.code(), Some(1), "{stdout}: {}", text(&output.stderr));
        let stderr = text(&output.stderr);
        assert!(stderr.contains("the reply could not be written"), "{stdout}: {stderr}");
        assert!(context_of_next_event(&project).contains("<the build is green>"), "{stdout}");
        assert!(!context_of_next_event(&project).contains("green"), "{stdout}");
    }
}

#[test]
fn accepts_a_closed_output_without_a_reply() {
    let project = TestProject::new();
    let output = project.run_in_shell("\"$0\" fire --from claude >&-", PROMPT.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn delivers_a_detached_hooks_message_after_a_session_lock() {
    let project = TestProject::new();
    context_of_next_event(&project);
    let holder = LockHolder::of(&project);
    fire_with_detached_hook(&project);
    wait_until("its message is stored aside", || has_side_entry(&project));
    drop(holder);
    let all: String =
        (0..3).map(|_| text(&start(&project, PROMPT).wait_with_output().unwrap().stdout)).collect();
    assert_eq!(all.matches("<late words>").count(), 1, "{all}");
}

#[test]
fn logs_messages_of_detached_hooks_that_cannot_be_stored() {
    let project = TestProject::new();
    std::fs::create_dir(project.base.join("state")).unwrap();
    for name in ["sessions", "side-entries"] {
        std::fs::write(project.base.join("state").join(name), "no folder").unwrap();
    }
    fire_with_detached_hook(&project);
    let log = || text(&project.run(&["log", "-n", "1", "--json"], b"").stdout);
    wait_until("its end is recorded", || log().contains("\"outcome\":\"exited\""));
    let firing: Value = serde_json::from_str(&log()).unwrap();
    let troubles = firing["troubles"].to_string();
    assert!(troubles.contains("is lost (`<late words>`)"), "{troubles}");
}

/// Fires an event with a detached hook, and removes the hook.
fn fire_with_detached_hook(project: &TestProject) {
    let words = "echo '{\"systemMessage\":\"<late words>\"}'";
    let hook = json!({"type": "command", "command": words, "async": true});
    let settings = json!({"hooks": {"PostToolUse": [{"hooks": [hook]}]}});
    project.file(".claude/settings.json", &settings.to_string());
    let event = json!({"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Read",
                       "tool_input": {}, "tool_response": "ok"});
    read_context(start(project, &event.to_string()));
    project.file(".claude/settings.json", "{}");
}

fn has_side_entry(project: &TestProject) -> bool {
    let Ok(sessions) = std::fs::read_dir(project.base.join("state/side-entries")) else {
        return false;
    };
    let entries = sessions.flat_map(|session| std::fs::read_dir(session.unwrap().path()));
    let mut names = entries.flatten().map(|entry| entry.unwrap().file_name());
    names.any(|name| name.to_string_lossy().ends_with(".json"))
}

fn context_of_next_event(project: &TestProject) -> String {
    read_context(start(project, PROMPT))
}
