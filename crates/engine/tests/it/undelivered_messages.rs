//! Messages that a caller cannot receive are stored for the session and delivered once.

use gambrel_model::Ruling;
use serde_json::{Value, json};

use crate::engine_fixture::EngineFixture;

fn fixture_with(answer: Value) -> EngineFixture {
    EngineFixture::new(json!([{"name": "a", "event": "turn_ends", "answer": answer}]), json!([]))
}

#[test]
fn delivers_undelivered_messages_once() {
    let mut fixture = fixture_with(json!({"next": "for later"}));
    assert_eq!(fixture.fire("turn_ends").reply.stdout, b"");
    assert_eq!(fixture.fire("turn_begins").reply.stdout, b"for later");
    assert_eq!(fixture.fire("turn_begins").reply.stdout, b"");
}

#[test]
fn delivers_again_when_the_reply_did_not_arrive() {
    let mut fixture = fixture_with(json!({"next": "for later"}));
    fixture.fire("turn_ends");
    let lost = fixture.fire_native(&json!({"event": "turn_begins"}));
    assert_eq!(lost.reply.stdout, b"for later");
    fixture.release(&lost.decision);
    assert_eq!(fixture.fire("turn_begins").reply.stdout, b"for later");
}

#[test]
fn a_halt_that_the_caller_cannot_receive_stops_the_next_event() {
    let mut fixture = fixture_with(json!({"ruling": "halt"}));
    assert_eq!(fixture.fire("turn_ends").decision.for_caller.ruling, Ruling::Deny);
    let next = fixture.fire("turn_begins");
    assert_eq!(next.decision.for_caller.ruling, Ruling::Halt);
    let reasons = next.decision.for_caller.ruling_reasons();
    assert_eq!(reasons, ["a hook stopped this session: because"]);
    assert_eq!(fixture.fire("turn_begins").decision.for_caller.ruling, Ruling::Silent);
}
