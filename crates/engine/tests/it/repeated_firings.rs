//! A firing with a key that is fired again uses the recorded outcomes of all its hooks.

use gambrel_engine::FireResult;
use gambrel_model::Ruling;
use serde_json::{Value, json};

use crate::engine_fixture::{EngineFixture, reason_of};

const REUSED: &str = "reused: this hook ran in an earlier firing with the same key";

fn hook(name: &str, event: &str, answer: Value) -> Value {
    json!({"name": name, "event": event, "answer": answer})
}

fn fire_with_key(fixture: &mut EngineFixture, event: &str, key: &str) -> FireResult {
    let input = json!({"command": "ls"});
    fixture.fire_native(&json!({"event": event, "input": input, "firing_key": key}))
}

#[test]
fn runs_no_hook_of_either_dialect_again() {
    let event = "in_order";
    let mut fixture = EngineFixture::new(
        json!([hook("a", event, json!({"message": "from a"}))]),
        json!([hook("b", event, json!({"ruling": "deny", "message": "from b"}))]),
    );
    let first = fire_with_key(&mut fixture, event, "k");
    let again = fire_with_key(&mut fixture, event, "k");
    assert_eq!(fixture.batches(), [["a"], ["b"]]);
    assert_eq!(first.decision.merged.ruling, Ruling::Deny);
    assert_eq!(again.decision.merged, first.decision.merged);
    assert_eq!(again.reply, first.reply);
    for name in ["a", "b"] {
        assert!(!reason_of(&first.decision, name).contains(REUSED), "{name}");
        assert!(reason_of(&again.decision, name).starts_with(REUSED), "{name}");
    }
    assert!(again.decision.trail.iter().all(|step| !step.ran));

    fire_with_key(&mut fixture, event, "another");
    assert_eq!(fixture.batches(), [["a"], ["b"], ["a"], ["b"]]);
}

#[test]
fn runs_no_hook_again_on_rewritten_input() {
    let event = "at_once";
    let rewrite = json!({"ruling": "allow", "input": {"ruling": "deny"}});
    let mut fixture = EngineFixture::new(
        json!([hook("a", event, json!("echo"))]),
        json!([hook("b", event, rewrite)]),
    );
    let first = fire_with_key(&mut fixture, event, "k");
    let again = fire_with_key(&mut fixture, event, "k");
    assert_eq!(fixture.batches(), [["a"], ["b"], ["a"]]);
    assert_eq!(first.decision.merged.ruling, Ruling::Deny);
    assert_eq!(again.decision.merged, first.decision.merged);
    let rechecks: Vec<bool> = again.decision.trail.iter().map(|step| step.recheck).collect();
    assert_eq!(rechecks, [false, false, true]);
}
