//! Every hook that does not run has a reason.

use gambrel_engine::TrustMode;
use serde_json::{Value, json};

use crate::engine_fixture::{EngineFixture, reason_of};

fn hook(more: Value) -> Value {
    let mut hook = json!({"name": "a", "event": "at_once", "answer": {}});
    for (key, value) in more.as_object().expect("an object") {
        hook[key] = value.clone();
    }
    hook
}

/// The reason of one skipped hook of the first dialect.
fn skip_reason(more: Value, prepare: fn(&mut EngineFixture)) -> String {
    let mut fixture = EngineFixture::new(json!([hook(more)]), json!([]));
    prepare(&mut fixture);
    let fired = fixture.fire("at_once");
    assert!(fixture.batches().concat().is_empty(), "it ran");
    reason_of(&fired.decision, "a")
}

#[test]
fn names_why_a_hook_does_not_run() {
    let nothing: fn(&mut EngineFixture) = |_| {};
    let reasons = [
        (json!({"off": "switched off"}), nothing, "switched off"),
        (json!({"matcher": "edit"}), nothing, "matcher `edit` is not met"),
        (json!({}), |f| f.options.hosted = true, "hosted: the host runs its own hooks"),
        (json!({}), |f| f.options.only = vec!["second".into()], "left out by --only"),
    ];
    for (more, prepare, expected) in reasons {
        assert_eq!(skip_reason(more, prepare), expected);
    }
}

#[test]
fn skips_untrusted_hooks() {
    let why = skip_reason(json!({}), |fixture| fixture.options.trust = TrustMode::default());
    assert!(why.contains("trust"), "{why}");
}

#[test]
fn runs_the_first_of_two_equal_hooks() {
    let same = |name: &str| hook(json!({"name": name, "same": "key"}));
    let mut fixture = EngineFixture::new(json!([same("a"), same("b")]), json!([]));
    let fired = fixture.fire("at_once");
    assert_eq!(fixture.batches(), [["a"]]);
    let why = reason_of(&fired.decision, "b");
    assert!(why.starts_with("shadowed by first-") && why.ends_with(": the same command"), "{why}");
}

#[test]
fn runs_a_once_hook_once_in_a_session() {
    let mut fixture = EngineFixture::new(json!([hook(json!({"once": true}))]), json!([]));
    fixture.fire("at_once");
    let again = fixture.fire("at_once");
    assert_eq!(fixture.batches().concat(), ["a"]);
    assert_eq!(reason_of(&again.decision, "a"), "once: it has run in this session");
}

#[test]
fn a_replaced_hook_runs_only_where_its_replacement_does_not() {
    let replaced = hook(json!({"name": "b", "replaced_by_line": 1}));
    let mut fixture = EngineFixture::new(json!([hook(json!({})), replaced.clone()]), json!([]));
    let fired = fixture.fire("at_once");
    assert_eq!(fixture.batches(), [["a"]]);
    let why = reason_of(&fired.decision, "b");
    assert!(why.starts_with("shadowed by ") && why.ends_with("first.json:1"), "{why}");

    let off = hook(json!({"off": "switched off"}));
    let mut fixture = EngineFixture::new(json!([off, replaced]), json!([]));
    fixture.fire("at_once");
    assert_eq!(fixture.batches(), [["b"]]);
}

#[test]
fn each_pass_of_an_end_runs_its_own_hooks() {
    let hooks = |name: &str| {
        json!([
            hook(json!({"name": name, "event": "turn_ends"})),
            hook(json!({"name": name, "event": "in_order"}))
        ])
    };
    let cases = [
        ("turn_ends", "all", "a b"),
        ("turn_ends", "veto", "b"),
        ("turn_ends", "notify", "a"),
        ("in_order", "veto", "a b"),
        ("in_order", "notify", "a b"),
    ];
    for (event, pass, ran) in cases {
        let mut fixture = EngineFixture::new(hooks("a"), hooks("b"));
        let fired = fixture.fire_native(&json!({"event": event, "pass": pass}));
        assert_eq!(fixture.batches().concat().join(" "), ran, "{event} {pass}");
        let left_out = match ran {
            "b" => Some(("a", "runs when the iteration has ended")),
            "a" => Some(("b", "ran before the iteration ended")),
            _ => None,
        };
        if let Some((name, why)) = left_out {
            assert_eq!(reason_of(&fired.decision, name), why);
        }
    }
}
