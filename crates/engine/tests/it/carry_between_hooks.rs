//! What a hook passes to the next hook of its dialect.

use serde_json::{Value, json};

use crate::engine_fixture::EngineFixture;

#[test]
fn each_dialect_sees_the_result_of_its_own_previous_hook() {
    let hook =
        |name: &str, answer: &str| json!({"name": name, "event": "in_order", "answer": answer});
    let mut fixture = EngineFixture::new(
        json!([hook("a", "failure"), hook("b", "{}"), hook("c", "{}")]),
        json!([hook("d", "{}")]),
    );
    fixture.fire("in_order");
    let seen: Vec<Value> = fixture.bodies().iter().map(|body| body["previous"].clone()).collect();
    assert_eq!(seen, [Value::Null, json!(false), json!(true), Value::Null]);
}

#[test]
fn later_dialects_see_the_rewritten_input() {
    let mut fixture = EngineFixture::new(
        json!([{"name": "a", "event": "at_once", "answer": {"input": {"command": "true"}}}]),
        json!([{"name": "b", "event": "at_once", "answer": {}}]),
    );
    fixture.fire("at_once");
    assert_eq!(fixture.bodies()[1]["input"], json!({"command": "true"}));
}
