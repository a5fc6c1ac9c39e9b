//! Hooks run by dialect in the order of the table, and inside a dialect in the order of the event.

use gambrel_model::Ruling;
use serde_json::{Value, json};

use crate::engine_fixture::{EngineFixture, reason_of};

fn hook(name: &str, event: &str, answer: Value) -> Value {
    json!({"name": name, "event": event, "answer": answer})
}

#[test]
fn runs_dialects_in_the_order_of_the_table() {
    let mut fixture = EngineFixture::new(
        json!([hook("a", "in_order", json!({}))]),
        json!([hook("b", "in_order", json!({}))]),
    );
    fixture.fire_native(&json!({"event": "in_order", "from": "second"}));
    assert_eq!(fixture.batches(), [["a"], ["b"]]);
}

#[test]
fn runs_a_parallel_group_at_once_and_a_sequential_one_by_one() {
    let hooks = |event| json!([hook("a", event, json!({})), hook("b", event, json!({}))]);
    let mut at_once = EngineFixture::new(hooks("at_once"), json!([]));
    at_once.fire("at_once");
    assert_eq!(at_once.batches(), [["a", "b"]]);

    let mut in_order = EngineFixture::new(hooks("in_order"), json!([]));
    in_order.fire("in_order");
    assert_eq!(in_order.batches(), [["a"], ["b"]]);
}

#[test]
fn merges_a_parallel_group_in_configured_order() {
    let says = |name: &str| hook(name, "at_once", json!({"message": name}));
    let mut fixture = EngineFixture::new(json!([says("a"), says("b")]), json!([says("c")]));
    let fired = fixture.fire("at_once");
    assert_eq!(fired.reply.stdout, b"a\nb\nc");
}

#[test]
fn stops_at_a_refusal_where_the_event_says_so() {
    let event = "until_refused";
    let mut fixture = EngineFixture::new(
        json!([
            hook("a", event, json!({})),
            hook("b", event, json!({"ruling": "deny"})),
            hook("c", event, json!({})),
        ]),
        json!([]),
    );
    let fired = fixture.fire(event);
    assert_eq!(fired.decision.merged.ruling, Ruling::Deny);
    assert_eq!(fixture.batches(), [["a"], ["b"]]);
    assert_eq!(reason_of(&fired.decision, "c"), "denied already by b");
}

#[test]
fn a_refusal_at_a_gate_skips_the_groups_that_have_not_started() {
    let deny = json!({"ruling": "deny"});
    let mut fixture = EngineFixture::new(
        json!([hook("a", "at_once", deny.clone()), hook("b", "at_once", json!({}))]),
        json!([hook("c", "at_once", json!({}))]),
    );
    let fired = fixture.fire("at_once");
    assert_eq!(fixture.batches(), [["a", "b"]]);
    assert_eq!(reason_of(&fired.decision, "c"), "denied already by a");
}

#[test]
fn a_refusal_at_a_report_skips_nothing() {
    let mut fixture = EngineFixture::new(
        json!([hook("a", "in_order", json!({"ruling": "deny"}))]),
        json!([hook("b", "in_order", json!({}))]),
    );
    fixture.fire("in_order");
    assert_eq!(fixture.batches(), [["a"], ["b"]]);
}
