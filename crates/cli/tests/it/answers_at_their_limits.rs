//! A hook's answer that cannot be read as a whole: a refusal in it counts, and nothing of it gets lost
//! without a word.

use serde_json::{Value, json};

use crate::ground::{BASH_LS, Ground};

const TEXT_OF_20_MB: &str = "head -c 20000000 /dev/zero | tr '\\0' x";

fn settings(event: &str, command: &str) -> String {
    json!({"hooks": {event: [{"hooks": [{"type": "command", "command": command}]}]}}).to_string()
}

fn decide_about(answer: &str) -> Value {
    let ground = Ground::new();
    ground.file("answer.json", answer);
    ground.file(".claude/settings.json", &settings("PreToolUse", "cat answer.json"));
    ground.decide("claude", BASH_LS)
}

#[test]
fn a_deny_beside_a_number_that_cannot_be_held_counts() {
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
fn nothing_but_a_refusal_counts_beside_a_number_that_cannot_be_held() {
    let allow = r#"{"cost":1e999,"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}"#;
    for answer in [allow, r#"{"cost":1e999}"#] {
        let decision = decide_about(answer);
        assert_eq!(decision["ruling"], "silent", "{decision}");
        let told = decision["notices"].to_string();
        assert!(told.contains("gave no answer") && told.contains("number"), "{told}");
    }
    // What is no JSON at all is read as before.
    let decision = decide_about(r#"{"decision":"block","cost":1e999,}"#);
    assert!(decision["notices"].to_string().contains("not valid JSON"), "{decision}");
}

#[test]
fn plain_text_beyond_the_cap_is_no_lost_answer_at_a_gate_and_is_reported() {
    let ground = Ground::new().with("GAMBREL_STRICT", "1");
    ground.file(".claude/settings.json", &settings("PreToolUse", TEXT_OF_20_MB));
    let decision = ground.decide("claude", BASH_LS);
    assert_eq!(decision["ruling"], "silent", "{}", decision["reasons"]);
    let told = decision["notices"].to_string();
    assert!(told.contains("16 MiB") && told.contains("decides nothing"), "{told}");
}

#[test]
fn a_decision_inside_plain_text_beyond_the_cap_is_a_gate_failure() {
    let ground = Ground::new().with("GAMBREL_STRICT", "1");
    // Beyond the first megabyte.
    let hidden = format!(
        "head -c 2000000 /dev/zero | tr '\\0' x; echo '{{\"decision\":\"block\"}}'; {TEXT_OF_20_MB}"
    );
    ground.file(".claude/settings.json", &settings("PreToolUse", &hidden));
    let decision = ground.decide("claude", BASH_LS);
    assert_eq!(decision["ruling"], "deny");
    assert!(decision["reasons"].to_string().contains("16 MiB"), "{}", decision["reasons"]);
}

#[test]
fn cuts_context_beyond_the_cap_and_reports_it() {
    let ground = Ground::new();
    ground.file(".claude/settings.json", &settings("UserPromptSubmit", TEXT_OF_20_MB));
    let prompt = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"hi"}"#;
    let decision = ground.decide("claude", prompt);
    let context = decision["context"].to_string();
    assert!(context.len() < 10_000 && context.contains("20000000 bytes"), "{}", context.len());
    let told = decision["notices"].to_string();
    assert!(told.contains("16 MiB") && told.contains("its beginning"), "{told}");
}
