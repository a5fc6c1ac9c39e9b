//! A rewrite of the input: the other gate hooks run again on the new input.

use gambrel_model::{Ruling, Slot};
use serde_json::json;

use crate::engine_fixture::EngineFixture;

#[test]
fn rechecks_gates_after_a_rewrite() {
    let input = json!({"command": "rm x"});
    let mut fixture = EngineFixture::new(
        json!([{"name": "a", "event": "at_once", "answer": {"ruling": "allow"}}]),
        json!([{"name": "b", "event": "at_once", "answer": {"ruling": "allow", "input": input}}]),
    );
    let fired = fixture.fire("at_once");
    assert_eq!(fixture.batches(), [["a"], ["b"], ["a"]]);
    let seen: Vec<_> = fixture.bodies().iter().map(|body| body["input"].clone()).collect();
    assert_eq!(seen, [json!({"command": "ls"}), json!({"command": "ls"}), input.clone()]);
    assert_eq!(fired.decision.merged.ruling, Ruling::Allow);
    assert_eq!(fired.decision.merged.patch.get(&Slot::Input), Some(&input));
    let rechecks: Vec<bool> = fired.decision.trail.iter().map(|step| step.recheck).collect();
    assert_eq!(rechecks, [false, false, true]);
}

#[test]
fn a_hook_that_saw_the_final_input_does_not_run_again() {
    let mut fixture = EngineFixture::new(
        json!([{"name": "a", "event": "at_once", "answer": {"input": {"command": "true"}}}]),
        json!([{"name": "b", "event": "at_once", "answer": {"ruling": "allow"}}]),
    );
    let fired = fixture.fire("at_once");
    assert_eq!(fixture.batches(), [["a"], ["b"]]);
    assert_eq!(fixture.bodies()[1]["input"], json!({"command": "true"}));
    assert_eq!(fired.decision.merged.ruling, Ruling::Allow);
}

#[test]
fn the_last_configured_rewrite_counts() {
    let rewrite = |name: &str| json!({"name": name, "event": "at_once", "answer": {"input": name}});
    let mut fixture = EngineFixture::new(json!([rewrite("a"), rewrite("b")]), json!([]));
    let fired = fixture.fire("at_once");
    assert_eq!(fired.decision.merged.patch.get(&Slot::Input), Some(&json!("b")));
    let losses: Vec<&str> = fired.decision.losses.iter().map(|loss| loss.what.as_str()).collect();
    assert_eq!(losses, ["rewrite", "rewrite"]);
}

#[test]
fn a_rewrite_that_the_event_does_not_take_asks_instead_of_allowing() {
    let answer = json!({"ruling": "allow", "input": {"command": "ls -l"}});
    let hook = json!({"name": "a", "event": "until_refused", "answer": answer});
    let mut fixture = EngineFixture::new(json!([hook]), json!([]));
    let decision = fixture.fire("until_refused").decision;
    assert_eq!(decision.merged.ruling, Ruling::Ask);
    assert!(decision.merged.patch.is_empty());
    assert_eq!(decision.trail[0].verdict, Ruling::Ask);
    let losses: Vec<&str> = decision.losses.iter().map(|loss| loss.what.as_str()).collect();
    assert_eq!(losses, ["rewrite"]);
}
