//! Dialogs: every kind, the answers of a host without a person, and the paused clock.

use std::sync::Arc;
use std::time::Duration;

use gambrel_model::End;
use gambrel_script::{Ask, AskKind, ScriptSettings};
use serde_json::{Value, json};

use crate::stand::{Stand, bash};

fn stand(ask: impl Fn(&Ask) -> Option<Value> + Send + Sync + 'static) -> Stand {
    Stand::with(ScriptSettings { ask: Some(Arc::new(ask)), ..Default::default() })
}

fn with_ui(stand: &Stand, code: &str) -> gambrel_model::Outcome {
    let text = format!(
        "export default (pi) => {{ pi.on('tool_call', async (event, ctx) => {{ {code} }}); }};"
    );
    stand.write("m.ts", &text);
    let mut body = bash("ls");
    body["ctx"]["hasUI"] = json!(true);
    stand.call("m.ts", body)
}

const ALL: &str = "return { has: ctx.hasUI, s: await ctx.ui.select('S', ['x', { label: 'y' }]), c: await ctx.ui.confirm('C', 'm'),
    i: await ctx.ui.input('I', 'p'), e: await ctx.ui.editor('E', 'text'), u: await ctx.ui.custom(() => 1) };";

#[test]
fn every_dialog_reaches_the_person() {
    let stand = stand(|ask| {
        Some(match ask.kind {
            AskKind::Select => json!(ask.options[1]),
            AskKind::Confirm => json!(ask.message.as_deref() == Some("m")),
            AskKind::Input | AskKind::Editor => json!(ask.placeholder),
        })
    });
    let answer = with_ui(&stand, ALL).answer.unwrap();
    let expected = json!({"has": true, "s": "y", "c": true, "i": "p", "e": "text"});
    assert_eq!(answer["results"][0], expected);
}

#[test]
fn without_a_person_the_answers_are_no() {
    let expected = json!({"has": false, "c": false});
    assert_eq!(with_ui(&Stand::new(), ALL).answer.unwrap()["results"][0], expected);
    let expected = json!({"has": true, "c": false});
    assert_eq!(with_ui(&stand(|_| None), ALL).answer.unwrap()["results"][0], expected);
    let wrong = stand(|_| Some(json!({"odd": 1})));
    assert_eq!(with_ui(&wrong, ALL).answer.unwrap()["results"][0], expected);
    let panics = stand(|_| panic!("the asker's own fault"));
    assert_eq!(
        with_ui(&panics, "return { c: 1, x: await ctx.ui.confirm('C').catch(() => 'failed') };")
            .end,
        End::Answered
    );
}

#[test]
fn the_clock_stands_still_while_a_person_thinks() {
    let slow = |_: &Ask| {
        std::thread::sleep(Duration::from_millis(1300));
        Some(json!(true))
    };
    let patient = Stand { timeout: Duration::from_millis(900), ..stand(slow) };
    let answer = with_ui(&patient, "return { c: await ctx.ui.confirm('C') };").answer.unwrap();
    assert_eq!(answer["results"], json!([{"c": true}]));
    let walled = Stand { budget: Some(Duration::from_millis(200)), ..stand(slow) };
    assert_eq!(with_ui(&walled, "return { c: await ctx.ui.confirm('C') };").end, End::TimedOut);
}

#[test]
fn a_loop_beside_an_open_dialog_is_still_ended() {
    let slow = |_: &Ask| {
        std::thread::sleep(Duration::from_secs(3));
        Some(json!(true))
    };
    let stand = Stand { timeout: Duration::from_millis(200), ..stand(slow) };
    let outcome = with_ui(&stand, "ctx.ui.confirm('C'); while (true) {}");
    assert_eq!(outcome.end, End::TimedOut);
    assert!(outcome.elapsed < Duration::from_secs(2));
}

#[test]
fn a_dialog_may_have_its_own_time() {
    let slow = |_: &Ask| {
        std::thread::sleep(Duration::from_millis(500));
        Some(json!(true))
    };
    let outcome =
        with_ui(&stand(slow), "return { c: await ctx.ui.confirm('C', 'm', { timeout: 10 }) };");
    assert_eq!(outcome.answer.unwrap()["results"], json!([{"c": false}]));
}

#[test]
fn another_call_does_not_wait_for_ever_behind_a_dialog() {
    let slow = |_: &Ask| {
        std::thread::sleep(Duration::from_secs(4));
        Some(json!(true))
    };
    let stand = Stand { timeout: Duration::from_millis(900), ..stand(slow) };
    std::thread::scope(|scope| {
        let code = "if (ctx.hasUI) { (await ctx.ui.confirm('C')); } return { n: 1 };";
        let asked = scope.spawn(|| with_ui(&stand, code));
        while !stand.path("m.ts").exists() {
            std::thread::yield_now();
        }
        // Either it comes first and is answered, or it waits behind the dialog and is late.
        let second = stand.call("m.ts", bash("ls"));
        assert!(second.elapsed < Duration::from_secs(3), "{:?}", second.elapsed);
        assert_eq!(asked.join().unwrap().end, End::Answered);
    });
}
