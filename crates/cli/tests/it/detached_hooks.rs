//! Detached hooks: the caller returns at once, the journal records their end, the session's next
//! event delivers their messages, and their timeout holds after the caller has gone.

use std::time::{Duration, Instant};

use crate::test_project::{BASH_LS, TestProject, processes_naming, text, wait_until};

const PROMPT: &str = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"hi"}"#;

fn async_hook(project: &TestProject, command: &str, timeout: u32) {
    hook_with(project, command, timeout, "async");
}

fn hook_with(project: &TestProject, command: &str, timeout: u32, flag: &str) {
    let hook =
        serde_json::json!({"type": "command", "command": command, "timeout": timeout, flag: true});
    let settings = serde_json::json!({"hooks": {"PostToolUse": [{"hooks": [hook]}]}});
    project.file(".claude/settings.json", &settings.to_string());
}

fn tool_event() -> String {
    BASH_LS.replace("PreToolUse", "PostToolUse")
}

#[test]
fn returns_at_once_and_records_the_end() {
    let project = TestProject::new();
    async_hook(&project, "sleep 2; echo done > \"$CLAUDE_PROJECT_DIR/done\"", 30);
    let began = Instant::now();
    let decision = project.decide("claude", &tool_event());
    assert!(began.elapsed() < Duration::from_millis(1_900), "{:?}", began.elapsed());
    assert_eq!(decision["trail"][0]["outcome"], "detached");
    wait_until("it has done its work", || project.root.join("done").exists());
    let id = decision["id"].as_str().unwrap();
    wait_until("its end is recorded", || {
        project.json(&["show", id, "--json"])["late"][0]["outcome"] == "exited"
    });
}

#[test]
fn enforces_the_timeout_after_the_caller_ended() {
    let project = TestProject::new();
    let path = project.script("slow.sh", "#!/bin/sh\ntrap '' TERM\nsleep 300 & wait\n");
    async_hook(&project, "./slow.sh", 1);
    let decision = project.decide("claude", &tool_event());
    let id = decision["id"].as_str().unwrap();
    wait_until("it is recorded as late", || {
        project.json(&["show", id, "--json"])["late"][0]["outcome"] == "late"
    });
    wait_until("and gone", || processes_naming(&path).is_empty());
}

#[test]
fn delivers_context_with_the_next_event_that_accepts_it() {
    let project = TestProject::new();
    let words = r#"printf '{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"the build is green"}}'"#;
    async_hook(&project, words, 10);
    let decision = project.decide("claude", &tool_event());
    let id = decision["id"].as_str().unwrap().to_owned();
    wait_until("its end is recorded", || {
        project.json(&["show", &id, "--json"])["late"][0]["outcome"] == "exited"
    });
    let reply_to =
        |event: &str| text(&project.run(&["fire", "--from", "claude"], event.as_bytes()).stdout);
    wait_until("its message is delivered", || reply_to(BASH_LS).contains("the build is green"));
    assert!(!reply_to(PROMPT).contains("the build is green"), "delivered twice");
}

#[test]
fn async_rewake_reports_a_failure_to_the_agent() {
    for (flag, wakes) in [("asyncRewake", true), ("async", false)] {
        let project = TestProject::new();
        hook_with(&project, "echo the build is red >&2; exit 2", 10, flag);
        let decision = project.decide("claude", &tool_event());
        assert_eq!(
            (&decision["ruling"], &decision["trail"][0]["outcome"]),
            (&"silent".into(), &"detached".into())
        );
        let id = decision["id"].as_str().unwrap().to_owned();
        wait_until("its end is recorded", || {
            project.json(&["show", &id, "--json"])["late"][0]["outcome"] == "exited"
        });
        let reply = text(&project.run(&["fire", "--from", "claude"], PROMPT.as_bytes()).stdout);
        assert_eq!(reply.contains("the build is red"), wakes, "{flag}: {reply}");
    }
}

#[test]
fn async_rewake_uses_the_configured_message() {
    let project = TestProject::new();
    let hook = serde_json::json!({
        "type": "command", "command": "echo ignored; echo line 3 is red >&2; exit 2",
        "asyncRewake": true, "rewakeMessage": "The tests failed:", "rewakeSummary": "tests are\nred",
    });
    let settings = serde_json::json!({"hooks": {"PostToolUse": [{"hooks": [hook]}]}});
    project.file(".claude/settings.json", &settings.to_string());
    let decision = project.decide("claude", &tool_event());
    let id = decision["id"].as_str().unwrap().to_owned();
    wait_until("its end is recorded", || {
        project.json(&["show", &id, "--json"])["late"][0]["outcome"] == "exited"
    });
    let reply = text(&project.run(&["fire", "--from", "claude"], PROMPT.as_bytes()).stdout);
    let reply: serde_json::Value = serde_json::from_str(&reply).unwrap();
    assert_eq!(reply["hookSpecificOutput"]["additionalContext"], "The tests failed: line 3 is red");
    assert_eq!(reply["systemMessage"], "tests are red");
}

#[test]
fn delivers_a_user_message_with_the_next_event() {
    let project = TestProject::new();
    async_hook(&project, r#"printf '{"systemMessage":"the build is red"}'"#, 10);
    let decision = project.decide("claude", &tool_event());
    let id = decision["id"].as_str().unwrap().to_owned();
    wait_until("its end is recorded", || {
        project.json(&["show", &id, "--json"])["late"][0]["outcome"] == "exited"
    });
    project.file(".claude/settings.json", "{}");
    // An event without a reply delivers nothing.
    let silent = r#"{"hook_event_name":"Notification","session_id":"s","message":"m","notification_type":"idle_prompt"}"#;
    project.run(&["fire", "--from", "claude"], silent.as_bytes());
    let next_reply =
        |g: &TestProject| text(&g.run(&["fire", "--from", "claude"], BASH_LS.as_bytes()).stdout);
    let wanted = "{\"systemMessage\":\"the build is red\"}\n";
    wait_until("its message is delivered", || next_reply(&project) == wanted);
    assert_eq!(next_reply(&project), "", "delivered twice");
}

#[test]
fn delivers_messages_for_agent_and_user_once_each() {
    let project = TestProject::new();
    let words = r#"printf '{"systemMessage":"red","hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"line 3"}}'"#;
    async_hook(&project, words, 10);
    project.decide("claude", &tool_event());
    project.file(".claude/settings.json", "{}");
    let reply_to =
        |event: &str| text(&project.run(&["fire", "--from", "claude"], event.as_bytes()).stdout);
    // An event that reaches only the user, then one that also reaches the agent.
    let show = r#"{"hook_event_name":"PreCompact","session_id":"s","trigger":"auto","custom_instructions":""}"#;
    wait_until("the user is told", || reply_to(show) == "{\"systemMessage\":\"red\"}\n");
    assert_eq!(reply_to(show), "", "delivered twice");
    let prompted = reply_to(PROMPT);
    assert!(prompted.contains("line 3") && !prompted.contains("red"), "{prompted}");
    assert_eq!(reply_to(PROMPT), "", "delivered twice");
}

#[test]
fn detaches_a_hook_that_requests_it() {
    let project = TestProject::new();
    project.script(
        "hook.sh",
        concat!(
            "#!/bin/sh\ncat > /dev/null\necho '{\"async\":true,\"asyncTimeout\":20000}'\n",
            "while [ ! -e go ]; do sleep 0.05; done\necho done > made\n",
            "echo '{\"systemMessage\":\"made\",\"decision\":\"block\",\"reason\":\"too late\"}'\nexit 2\n",
        ),
    );
    project.guard("./hook.sh", 300);
    let decision = project.decide("claude", BASH_LS);
    let step = &decision["trail"][0];
    assert_eq!((&decision["ruling"], &step["outcome"]), (&"silent".into(), &"detached".into()));
    assert!(step["why"].as_str().unwrap().contains("left running"), "{step}");
    assert!(!project.root.join("made").exists(), "the answer came first");
    project.file("go", "");
    wait_until("it has done its work", || project.root.join("made").exists());
    let id = decision["id"].as_str().unwrap();
    wait_until("its end is recorded", || {
        project.json(&["show", id, "--json"])["late"][0]["outcome"] == "ended"
    });
    project.file(".claude/settings.json", "{}");
    let next_reply =
        || text(&project.run(&["fire", "--from", "claude"], BASH_LS.as_bytes()).stdout);
    wait_until("its message is delivered", || next_reply() == "{\"systemMessage\":\"made\"}\n");
}

#[test]
fn starts_a_unified_action_without_await() {
    let project = TestProject::new();
    let hooks = "hooks:\n  on_iteration_complete:\n    - type: shell\n      command: \"sleep 1; echo ${SESSION} > late.txt\"\n";
    project.file(".gambrel/hooks.yaml", hooks);
    let point =
        r#"{"hook_point":"on_iteration_complete","vars":{"SESSION":"night run","ITERATION":3}}"#;
    let output = project.run(&["fire", "--from", "unified"], point.as_bytes());
    let reply: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reply["actions"][0]["status"], "started");
    assert_eq!(reply["vars"]["LAST_HOOK_STATUS"], "success");
    let late = project.root.join("late.txt");
    wait_until("it has run", || std::fs::read_to_string(&late).is_ok_and(|t| t == "night run\n"));
}
