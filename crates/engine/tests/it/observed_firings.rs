//! An observer learns which hooks run, and every decision.

use std::sync::{Arc, Mutex};

use gambrel_engine::{FiringObserver, FiringProgress};
use gambrel_model::Hook;
use serde_json::json;

use crate::engine_fixture::EngineFixture;

fn names(hooks: &[Arc<Hook>]) -> String {
    hooks.iter().map(|hook| hook.title()).collect::<Vec<_>>().join("+")
}

#[test]
fn reports_hooks_that_run_and_the_decision() {
    let hook = |name: &str, event: &str| json!({"name": name, "event": event, "answer": {}});
    let mut fixture = EngineFixture::new(
        json!([hook("a", "at_once"), hook("b", "at_once"), hook("other", "in_order")]),
        json!([hook("c", "at_once")]),
    );
    let seen = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&seen);
    fixture.options.observer = Some(FiringObserver::new(move |progress| {
        record.lock().unwrap_or_else(|error| error.into_inner()).push(match progress {
            FiringProgress::HooksStarted(_, hooks) => format!("start {}", names(hooks)),
            FiringProgress::HooksEnded(_, hooks) => format!("end {}", names(hooks)),
            FiringProgress::Decided(event, decision) => {
                format!("decided {} with {} steps", event.name, decision.trail.len())
            }
            _ => "something new".to_owned(),
        });
    }));
    fixture.fire("at_once");
    let seen = seen.lock().expect("a list").clone();
    let expected = ["start a+b", "end a+b", "start c", "end c", "decided at_once with 3 steps"];
    assert_eq!(seen, expected);
}
