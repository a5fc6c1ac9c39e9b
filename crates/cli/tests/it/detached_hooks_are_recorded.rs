//! Hooks that nobody waits for: the caller returns at once, their end is recorded, their words
//! are told with the session's next event that can carry them, and their timeout holds after the caller has gone.

use std::time::{Duration, Instant};

use crate::ground::{BASH_LS, Ground, processes_naming, text, until};

const PROMPT: &str = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"hi"}"#;

fn async_hook(ground: &Ground, command: &str, timeout: u32) {
    hook_with(ground, command, timeout, "async");
}

fn hook_with(ground: &Ground, command: &str, timeout: u32, flag: &str) {
    let hook =
        serde_json::json!({"type": "command", "command": command, "timeout": timeout, flag: true});
    let settings = serde_json::json!({"hooks": {"PostToolUse": [{"hooks": [hook]}]}});
    ground.file(".claude/settings.json", &settings.to_string());
}

fn event() -> String {
    BASH_LS.replace("PreToolUse", "PostToolUse")
}

#[test]
fn the_caller_does_not_wait_and_the_end_is_in_the_journal() {
    let ground = Ground::new();
    async_hook(&ground, "sleep 2; echo done > \"$CLAUDE_PROJECT_DIR/done\"", 30);
    let began = Instant::now();
    let decision = ground.decide("claude", &event());
    assert!(began.elapsed() < Duration::from_millis(1_900), "{:?}", began.elapsed());
    assert_eq!(decision["trail"][0]["outcome"], "detached");
    until("it has done its work", || ground.root.join("done").exists());
    let id = decision["id"].as_str().unwrap();
    until("its end is recorded", || {
        ground.json(&["show", id, "--json"])["late"][0]["outcome"] == "exited"
    });
}

#[test]
fn its_timeout_holds_after_the_caller_has_gone() {
    let ground = Ground::new();
    let path = ground.script("slow.sh", "#!/bin/sh\ntrap '' TERM\nsleep 300 & wait\n");
    async_hook(&ground, "./slow.sh", 1);
    let decision = ground.decide("claude", &event());
    let id = decision["id"].as_str().unwrap();
    until("it is recorded as late", || {
        ground.json(&["show", id, "--json"])["late"][0]["outcome"] == "late"
    });
    until("and gone", || processes_naming(&path).is_empty());
}

#[test]
fn its_words_come_with_the_next_event_that_carries_words() {
    let ground = Ground::new();
    let words = r#"printf '{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"the build is green"}}'"#;
    async_hook(&ground, words, 10);
    let decision = ground.decide("claude", &event());
    let id = decision["id"].as_str().unwrap().to_owned();
    until("its end is recorded", || {
        ground.json(&["show", &id, "--json"])["late"][0]["outcome"] == "exited"
    });
    let told =
        |event: &str| text(&ground.run(&["fire", "--from", "claude"], event.as_bytes()).stdout);
    until("its words are told", || told(BASH_LS).contains("the build is green"));
    assert!(!told(PROMPT).contains("the build is green"), "told twice");
}

#[test]
fn one_that_wakes_the_agent_tells_it_why_it_failed() {
    for (flag, wakes) in [("asyncRewake", true), ("async", false)] {
        let ground = Ground::new();
        hook_with(&ground, "echo the build is red >&2; exit 2", 10, flag);
        let decision = ground.decide("claude", &event());
        assert_eq!(
            (&decision["ruling"], &decision["trail"][0]["outcome"]),
            (&"silent".into(), &"detached".into())
        );
        let id = decision["id"].as_str().unwrap().to_owned();
        until("its end is recorded", || {
            ground.json(&["show", &id, "--json"])["late"][0]["outcome"] == "exited"
        });
        let told = text(&ground.run(&["fire", "--from", "claude"], PROMPT.as_bytes()).stdout);
        assert_eq!(told.contains("the build is red"), wakes, "{flag}: {told}");
    }
}

#[test]
fn one_that_wakes_the_agent_uses_the_words_of_its_author() {
    let ground = Ground::new();
    let hook = serde_json::json!({
        "type": "command", "command": "echo ignored; echo line 3 is red >&2; exit 2",
        "asyncRewake": true, "rewakeMessage": "The tests failed:", "rewakeSummary": "tests are\nred",
    });
    let settings = serde_json::json!({"hooks": {"PostToolUse": [{"hooks": [hook]}]}});
    ground.file(".claude/settings.json", &settings.to_string());
    let decision = ground.decide("claude", &event());
    let id = decision["id"].as_str().unwrap().to_owned();
    until("its end is recorded", || {
        ground.json(&["show", &id, "--json"])["late"][0]["outcome"] == "exited"
    });
    let told = text(&ground.run(&["fire", "--from", "claude"], PROMPT.as_bytes()).stdout);
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["hookSpecificOutput"]["additionalContext"], "The tests failed: line 3 is red");
    assert_eq!(told["systemMessage"], "tests are red");
}

#[test]
fn its_message_for_the_person_comes_with_the_next_event() {
    let ground = Ground::new();
    async_hook(&ground, r#"printf '{"systemMessage":"the build is red"}'"#, 10);
    let decision = ground.decide("claude", &event());
    let id = decision["id"].as_str().unwrap().to_owned();
    until("its end is recorded", || {
        ground.json(&["show", &id, "--json"])["late"][0]["outcome"] == "exited"
    });
    ground.file(".claude/settings.json", "{}");
    // An event that shows nothing pays nothing.
    let deaf = r#"{"hook_event_name":"Notification","session_id":"s","message":"m","notification_type":"idle_prompt"}"#;
    ground.run(&["fire", "--from", "claude"], deaf.as_bytes());
    let told = |g: &Ground| text(&g.run(&["fire", "--from", "claude"], BASH_LS.as_bytes()).stdout);
    let wanted = "{\"systemMessage\":\"the build is red\"}\n";
    until("its words are told", || told(&ground) == wanted);
    assert_eq!(told(&ground), "", "told twice");
}

#[test]
fn words_for_two_ears_are_told_once_each() {
    let ground = Ground::new();
    let words = r#"printf '{"systemMessage":"red","hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"line 3"}}'"#;
    async_hook(&ground, words, 10);
    ground.decide("claude", &event());
    ground.file(".claude/settings.json", "{}");
    let told =
        |event: &str| text(&ground.run(&["fire", "--from", "claude"], event.as_bytes()).stdout);
    // One that only shows, then one that also tells.
    let show = r#"{"hook_event_name":"PreCompact","session_id":"s","trigger":"auto","custom_instructions":""}"#;
    until("the person is told", || told(show) == "{\"systemMessage\":\"red\"}\n");
    assert_eq!(told(show), "", "told twice");
    let prompted = told(PROMPT);
    assert!(prompted.contains("line 3") && !prompted.contains("red"), "{prompted}");
    assert_eq!(told(PROMPT), "", "told twice");
}

#[test]
fn one_that_asks_on_its_first_line_is_left_at_once() {
    let ground = Ground::new();
    ground.script(
        "hook.sh",
        concat!(
            "#!/bin/sh\ncat > /dev/null\necho '{\"async\":true,\"asyncTimeout\":20000}'\n",
            "while [ ! -e go ]; do sleep 0.05; done\necho done > made\n",
            "echo '{\"systemMessage\":\"made\",\"decision\":\"block\",\"reason\":\"too late\"}'\nexit 2\n",
        ),
    );
    ground.guard("./hook.sh", 300);
    let decision = ground.decide("claude", BASH_LS);
    let step = &decision["trail"][0];
    assert_eq!((&decision["ruling"], &step["outcome"]), (&"silent".into(), &"detached".into()));
    assert!(step["why"].as_str().unwrap().contains("left running"), "{step}");
    assert!(!ground.root.join("made").exists(), "the answer came first");
    ground.file("go", "");
    until("it has done its work", || ground.root.join("made").exists());
    let id = decision["id"].as_str().unwrap();
    until("its end is recorded", || {
        ground.json(&["show", id, "--json"])["late"][0]["outcome"] == "ended"
    });
    ground.file(".claude/settings.json", "{}");
    let told = || text(&ground.run(&["fire", "--from", "claude"], BASH_LS.as_bytes()).stdout);
    until("its words are told", || told() == "{\"systemMessage\":\"made\"}\n");
}

#[test]
fn a_unified_action_that_is_not_awaited_is_started() {
    let ground = Ground::new();
    let hooks = "hooks:\n  on_iteration_complete:\n    - type: shell\n      command: \"sleep 1; echo ${SESSION} > late.txt\"\n";
    ground.file(".gambrel/hooks.yaml", hooks);
    let point =
        r#"{"hook_point":"on_iteration_complete","vars":{"SESSION":"night run","ITERATION":3}}"#;
    let output = ground.run(&["fire", "--from", "unified"], point.as_bytes());
    let reply: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reply["actions"][0]["status"], "started");
    assert_eq!(reply["vars"]["LAST_HOOK_STATUS"], "success");
    let late = ground.root.join("late.txt");
    until("it has run", || std::fs::read_to_string(&late).is_ok_and(|t| t == "night run\n"));
}
