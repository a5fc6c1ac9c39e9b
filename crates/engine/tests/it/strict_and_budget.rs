//! Hooks without an answer, under `--strict`, and hooks without time.

use std::time::Duration;

use gambrel_model::Ruling;
use serde_json::{Value, json};

use crate::engine_fixture::{EngineFixture, reason_of};

fn fixture_with(event: &str, answer: &str) -> EngineFixture {
    EngineFixture::new(json!([{"name": "a", "event": event, "answer": answer}]), json!([]))
}

#[test]
fn strict_denies_at_a_gate_when_a_hook_gives_no_answer() {
    for answer in ["timeout", "missing"] {
        let mut lenient = fixture_with("at_once", answer);
        let fired = lenient.fire("at_once");
        assert_eq!(fired.decision.merged.ruling, Ruling::Silent, "{answer}");
        assert_eq!(fired.decision.merged.gate_failures.len(), 1, "{answer}");

        let mut strict = fixture_with("at_once", answer);
        strict.options.strict = true;
        let fired = strict.fire("at_once");
        assert_eq!(fired.decision.merged.ruling, Ruling::Deny, "{answer}");
        assert!(fired.decision.merged.ruling_reasons()[0].starts_with("strict: "));
    }
}

#[test]
fn strict_never_denies_the_end_of_a_turn() {
    let mut fixture = fixture_with("turn_ends", "timeout");
    fixture.options.strict = true;
    assert_eq!(fixture.fire("turn_ends").decision.merged.ruling, Ruling::Silent);
}

#[test]
fn runs_no_hook_when_the_budget_is_over() {
    let mut fixture = fixture_with("at_once", "{}");
    fixture.options.budget = Some(Duration::ZERO);
    let fired = fixture.fire("at_once");
    assert!(fixture.batches().concat().is_empty());
    let why = reason_of(&fired.decision, "a");
    assert_eq!(why, "budget: the host will not wait any longer");
}

#[test]
fn a_hook_that_takes_the_whole_budget_leaves_none_for_the_next() {
    let hook = |name: &str, answer: &str| -> Value {
        json!({"name": name, "event": "until_refused", "answer": answer})
    };
    let hooks = json!([hook("a", "slow"), hook("b", "{}")]);
    let mut fixture = EngineFixture::new(hooks, json!([hook("c", "{}")]));
    fixture.options.budget = Some(Duration::from_secs(3));
    let decision = fixture.fire("until_refused").decision;
    assert_eq!(fixture.batches(), [["a"]]);
    for name in ["b", "c"] {
        let why = reason_of(&decision, name);
        assert_eq!(why, "budget: the host will not wait any longer");
        assert!(decision.merged.gate_failures.contains(&format!("{name}: {why}")));
    }
    assert_eq!(decision.merged.ruling, Ruling::Silent);
}

#[test]
fn lets_an_end_through_after_too_many_refusals_in_a_row() {
    let refuse = json!({"name": "a", "event": "turn_ends", "answer": {"ruling": "deny"}, "cap": 2});
    let mut fixture = EngineFixture::new(json!([refuse]), json!([]));
    let rulings: Vec<Ruling> =
        (0..3).map(|_| fixture.fire("turn_ends").decision.merged.ruling).collect();
    assert_eq!(rulings, [Ruling::Deny, Ruling::Deny, Ruling::Silent]);
}
