//! Hook answers that cannot be read completely: a refusal in them counts, and gambrel reports the
//! rest.

use serde_json::{Value, json};

use crate::test_project::{BASH_LS, TestProject};

const TEXT_OF_20_MB: &str = "head -c 20000000 /dev/zero | tr '\\0' x";

fn settings(event: &str, command: &str) -> String {
    json!({"hooks": {event: [{"hooks": [{"type": "command", "command": command}]}]}}).to_string()
}

fn decide_about(answer: &str) -> Value {
    let project = TestProject::new();
    project.file("answer.json", answer);
    project.file(".claude/settings.json", &settings("PreToolUse", "cat answer.json"));
    project.decide("claude", BASH_LS)
}

#[test]
fn counts_a_deny_beside_an_out_of_range_number() {
    let own = r#"{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}"#;
    for answer in [
        format!(r#"{{"cost":1e999,"hookSpecificOutput":{own}}}"#),
        format!(r#"{{"hookSpecificOutput":{own},"cost":[-1e999,{{"a":1e999}}]}}"#),
        r#"{"decision":"block","reason":"no","cost":1e999}"#.to_owned(),
    ] {
        let decision = decide_about(&answer);
        assert_eq!(decision["ruling"], "deny", "{answer}: {decision}");
        assert_eq!(decision["reasons"][0]["text"], "no", "{answer}: {decision}");
    }
}

#[test]
fn counts_only_refusals_beside_an_out_of_range_number() {
    let allow = r#"{"cost":1e999,"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}"#;
    for answer in [allow, r#"{"cost":1e999}"#] {
        let decision = decide_about(answer);
        assert_eq!(decision["ruling"], "silent", "{decision}");
        let notices = decision["notices"].to_string();
        assert!(notices.contains("gave no answer") && notices.contains("number"), "{notices}");
    }
    // Invalid JSON is still reported as such.
    let decision = decide_about(r#"{"decision":"block","cost":1e999,}"#);
    assert!(decision["notices"].to_string().contains("not valid JSON"), "{decision}");
}

#[test]
fn reports_plain_text_beyond_the_cap_without_denying() {
    let project = TestProject::new().with("GAMBREL_STRICT", "1");
    project.file(".claude/settings.json", &settings("PreToolUse", TEXT_OF_20_MB));
    let decision = project.decide("claude", BASH_LS);
    assert_eq!(decision["ruling"], "silent", "{}", decision["reasons"]);
    let notices = decision["notices"].to_string();
    assert!(notices.contains("16 MiB") && notices.contains("decides nothing"), "{notices}");
}

#[test]
fn a_decision_inside_plain_text_beyond_the_cap_is_a_gate_failure() {
    let project = TestProject::new().with("GAMBREL_STRICT", "1");
    // Beyond the first megabyte.
    let hidden = format!(
        "head -c 2000000 /dev/zero | tr '\\0' x; echo '{{\"decision\":\"block\"}}'; {TEXT_OF_20_MB}"
    );
    project.file(".claude/settings.json", &settings("PreToolUse", &hidden));
    let decision = project.decide("claude", BASH_LS);
    assert_eq!(decision["ruling"], "deny");
    assert!(decision["reasons"].to_string().contains("16 MiB"), "{}", decision["reasons"]);
}

#[test]
fn cuts_context_beyond_the_cap_and_reports_it() {
    let project = TestProject::new();
    project.file(".claude/settings.json", &settings("UserPromptSubmit", TEXT_OF_20_MB));
    let prompt = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"hi"}"#;
    let decision = project.decide("claude", prompt);
    let context = decision["context"].to_string();
    assert!(context.len() < 10_000 && context.contains("20000000 bytes"), "{}", context.len());
    let notices = decision["notices"].to_string();
    assert!(notices.contains("16 MiB") && notices.contains("its beginning"), "{notices}");
}
