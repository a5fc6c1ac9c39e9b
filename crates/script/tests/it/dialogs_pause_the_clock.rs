//! Every kind of dialog, the answers without a user, and the paused clock.

use std::sync::Arc;
use std::time::Duration;

use gambrel_model::End;
use gambrel_script::{Question, QuestionKind, ScriptSettings};
use serde_json::{Value, json};

use crate::module_dir::{ModuleDir, bash_body};

fn prepare_dir(ask: impl Fn(&Question) -> Option<Value> + Send + Sync + 'static) -> ModuleDir {
    ModuleDir::with_settings(ScriptSettings { ask: Some(Arc::new(ask)), ..Default::default() })
}

fn with_ui(dir: &ModuleDir, code: &str) -> gambrel_model::Outcome {
    let text = format!(
        "export default (pi) => {{ pi.on('tool_call', async (event, ctx) => {{ {code} }}); }};"
    );
    dir.write_file("m.ts", &text);
    let mut body = bash_body("ls");
    body["ctx"]["hasUI"] = json!(true);
    dir.call("m.ts", body)
}

const ALL: &str = "return { has: ctx.hasUI, s: await ctx.ui.select('S', ['x', { label: 'y' }]), c: await ctx.ui.confirm('C', 'm'),
    i: await ctx.ui.input('I', 'p'), e: await ctx.ui.editor('E', 'text'), u: await ctx.ui.custom(() => 1) };";

#[test]
fn every_dialog_reaches_the_user() {
    let dir = prepare_dir(|ask| {
        Some(match ask.kind {
            QuestionKind::Select => json!(ask.options[1]),
            QuestionKind::Confirm => json!(ask.message.as_deref() == Some("m")),
            QuestionKind::Input | QuestionKind::Editor => json!(ask.placeholder),
        })
    });
    let answer = with_ui(&dir, ALL).answer.unwrap();
    let expected = json!({"has": true, "s": "y", "c": true, "i": "p", "e": "text"});
    assert_eq!(answer["results"][0], expected);
}

#[test]
fn dialogs_answer_no_without_a_user() {
    let expected = json!({"has": false, "c": false});
    assert_eq!(with_ui(&ModuleDir::new(), ALL).answer.unwrap()["results"][0], expected);
    let expected = json!({"has": true, "c": false});
    assert_eq!(with_ui(&prepare_dir(|_| None), ALL).answer.unwrap()["results"][0], expected);

    let wrong = prepare_dir(|_| Some(json!({"odd": 1})));
    assert_eq!(with_ui(&wrong, ALL).answer.unwrap()["results"][0], expected);

    let panics = prepare_dir(|_| panic!("a failure of the answer function"));
    assert_eq!(
        with_ui(&panics, "return { c: 1, x: await ctx.ui.confirm('C').catch(() => 'failed') };")
            .end,
        End::Answered
    );
}

#[test]
fn dialogs_pause_the_active_time() {
    let slow = |_: &Question| {
        std::thread::sleep(Duration::from_millis(1300));
        Some(json!(true))
    };
    let patient = ModuleDir { timeout: Duration::from_millis(900), ..prepare_dir(slow) };
    let answer = with_ui(&patient, "return { c: await ctx.ui.confirm('C') };").answer.unwrap();
    assert_eq!(answer["results"], json!([{"c": true}]));

    let limited = ModuleDir { budget: Some(Duration::from_millis(200)), ..prepare_dir(slow) };
    assert_eq!(with_ui(&limited, "return { c: await ctx.ui.confirm('C') };").end, End::TimedOut);
}

#[test]
fn interrupts_a_loop_beside_an_open_dialog() {
    let slow = |_: &Question| {
        std::thread::sleep(Duration::from_secs(3));
        Some(json!(true))
    };
    let dir = ModuleDir { timeout: Duration::from_millis(200), ..prepare_dir(slow) };
    let outcome = with_ui(&dir, "ctx.ui.confirm('C'); while (true) {}");
    assert_eq!(outcome.end, End::TimedOut);
    assert!(outcome.elapsed < Duration::from_secs(2));
}

#[test]
fn dialogs_have_their_own_timeout() {
    let slow = |_: &Question| {
        std::thread::sleep(Duration::from_millis(500));
        Some(json!(true))
    };
    let outcome = with_ui(
        &prepare_dir(slow),
        "return { c: await ctx.ui.confirm('C', 'm', { timeout: 10 }) };",
    );
    assert_eq!(outcome.answer.unwrap()["results"], json!([{"c": false}]));
}

#[test]
fn calls_behind_a_dialog_time_out() {
    let slow = |_: &Question| {
        std::thread::sleep(Duration::from_secs(4));
        Some(json!(true))
    };
    let dir = ModuleDir { timeout: Duration::from_millis(900), ..prepare_dir(slow) };
    std::thread::scope(|scope| {
        let code = "if (ctx.hasUI) { (await ctx.ui.confirm('C')); } return { n: 1 };";
        let asked = scope.spawn(|| with_ui(&dir, code));
        while !dir.path("m.ts").exists() {
            std::thread::yield_now();
        }
        // It is answered if it comes first; behind the dialog it times out.
        let second = dir.call("m.ts", bash_body("ls"));
        assert!(second.elapsed < Duration::from_secs(3), "{:?}", second.elapsed);
        assert_eq!(asked.join().unwrap().end, End::Answered);
    });
}
