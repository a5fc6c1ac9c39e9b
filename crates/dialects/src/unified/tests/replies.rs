//! Replies to agent-pipelines and their exit codes.

use gambrel_model::{Caller, Decision, End, Outcome, Ruling, Step, Verdict};
use serde_json::{Value, json};

use super::event;
use crate::unified::Unified;

fn reply(point: &str, verdict: Verdict, trail: Vec<Step>) -> (Value, i32) {
    let event = event(json!({"hook_point": point}));
    let mut decision = Decision::with_caller_verdict(verdict);
    decision.trail = trail;
    let reply = Unified.write_reply(&event, &decision);
    (serde_json::from_slice(&reply.stdout).expect("JSON"), reply.exit)
}

#[test]
fn replies_abort_or_deny_by_hook_point() {
    let (answer, exit) =
        reply("on_stage_complete", Verdict::with_ruling(Ruling::Halt, "no"), Vec::new());
    assert_eq!(
        (answer["abort"].clone(), answer["reason"].clone(), exit),
        (json!(true), json!("no"), 1)
    );
    let (answer, exit) =
        reply("on_iteration_start", Verdict::with_ruling(Ruling::Deny, "no"), Vec::new());
    assert_eq!((answer["abort"].clone(), answer.get("deny"), exit), (json!(true), None, 1));
    let (answer, exit) =
        reply("on_tool_before", Verdict::with_ruling(Ruling::Deny, "no"), Vec::new());
    assert_eq!(
        (answer["abort"].clone(), answer["deny"].clone(), exit),
        (json!(false), json!("no"), 0)
    );
    let (answer, exit) = reply("on_error", Verdict::default(), Vec::new());
    let silent = json!({"abort": false, "reason": null, "actions": [], "context": [], "notices": [],
        "vars": {"LAST_HOOK_STATUS": "", "HOOK_RESPONSE": "", "SPAWN_OUTPUT": ""}});
    assert_eq!((answer, exit), (silent, 0));
}

#[test]
fn replies_list_own_actions_with_their_status() {
    let step = |dialect: &str, outcome: Option<Outcome>, why: &str| {
        let mut step = Step::default();
        step.dialect = dialect.into();
        step.action = "shell".into();
        step.ran = outcome.is_some();
        step.ok = outcome.as_ref().map(Outcome::is_success);
        step.outcome = outcome;
        step.why = why.into();
        step
    };
    let retried = Outcome { attempts: 4, ..Outcome::from_end(End::Exited(7)) };
    let trail = vec![
        step("claude", Some(Outcome::from_end(End::Exited(0))), ""),
        step("unified", Some(Outcome::from_end(End::Exited(0))), ""),
        step("unified", Some(retried), ""),
        step("unified", Some(Outcome::from_end(End::Detached)), ""),
        step("unified", None, "condition is false"),
    ];
    let (answer, _) = reply("on_error", Verdict::default(), trail);
    let actions = answer["actions"].as_array().expect("a list");
    let status: Vec<&str> = actions.iter().filter_map(|a| a["status"].as_str()).collect();
    assert_eq!(status, ["success", "failed", "started", "skipped"]);
    assert_eq!((&actions[1]["attempts"], &actions[1]["exit"]), (&json!(4), &json!(7)));
    assert_eq!(actions[3]["why"], "condition is false");
}
