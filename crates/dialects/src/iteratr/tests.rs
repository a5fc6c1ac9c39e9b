//! Tests the file, the variables, the exact texts and the reply. Starts no process.

use std::time::Duration;

use gambrel_model::{
    Audience, Caller, CallerContext, Captured, Carry, Decision, End, Event, Hook, HookFormat,
    LoadedDrafts, LoadedFile, Outcome, Program, SearchRoots, Severity, SideEffect, Verdict,
};
use serde_json::{Value, json};

use super::{ITERATR, Iteratr};
use crate::neutral::NEUTRAL;

fn load(text: &str) -> LoadedDrafts {
    let roots = SearchRoots { root: "/project".into(), ..SearchRoots::default() };
    let place = Iteratr.search(&roots).remove(0);
    assert_eq!(place.path, std::path::Path::new("/project/.iteratr.hooks.yml"));
    let found =
        LoadedFile { place, base: "/project".into(), text: text.into(), entries: Vec::new() };
    Iteratr.load_hooks(&[found], &roots)
}

fn hook(event: &str, fields: &str) -> Hook {
    let (mut drafts, _) = load(&format!("hooks:\n  {event}:\n    - {{{fields}}}\n"));
    Hook::from_draft(&ITERATR, drafts.remove(0)).0.expect("built")
}

fn arrival() -> CallerContext {
    CallerContext { id: "f".into(), cwd: "/project".into(), ..CallerContext::default() }
}

fn event(name: &str, vars: Value) -> Event {
    let native = json!({"hook": name, "vars": vars}).to_string();
    ITERATR.receive_event(native.as_bytes(), arrival()).expect("an event")
}

fn command(event: &Event, hook: &Hook) -> String {
    match Iteratr.stage_call(event, hook, &Carry::default()).program {
        Program::Shell { text, .. } => text,
        other => panic!("{other:?}"),
    }
}

fn text(verdict: &Verdict) -> Option<(Audience, &str)> {
    verdict.messages.first().map(|message| (message.to, message.text.as_str()))
}

#[test]
fn loads_the_example_of_the_contract() {
    let text = "\
version: 1
hooks:
  session_start:
    - command: \"go build ./...\"
      timeout: 60
      pipe_output: true
  on_task_complete:
    - command: \"./scripts/validate.sh {{task_id}}\"
      pipe_output: true
  session_end:
    - command: \"git push origin HEAD\"
";
    let (drafts, complaints) = load(text);
    assert_eq!(complaints, []);
    assert_eq!(drafts.len(), 3);
    assert_eq!(
        (drafts[0].policy.limits.timeout, drafts[0].policy.forwards_output),
        (Duration::from_secs(60), true)
    );
    assert_eq!(
        (drafts[2].policy.limits.timeout, drafts[2].policy.forwards_output),
        (Duration::from_secs(30), false)
    );
}

#[test]
fn reports_bad_entries_and_loads_the_others() {
    let text = "\
verson: 2
hooks:
  pre_iteraton: [{command: a}]
  on_error:
    - {command: b, timeout: -1}
    - {command: ''}
    - {command: c, timeout: soon}
    - {command: 'd {{iteration}} {{itertion}} {{task_id}}'}
    - {{x}}
    - text
  session_end:
    - {command: e, pipe_output: true, colour: red}
";
    let (drafts, complaints) = load(text);
    let has = |message: &str| complaints.iter().any(|c| c.message.contains(message));
    for message in [
        "unknown field `verson`",
        "`pre_iteraton`",
        "without a command",
        "`timeout` should be",
        "`{{itertion}}` is not a variable",
        "`{{task_id}}` is empty",
        "not a text",
        "ignored at session_end",
        "unknown field `colour`",
    ] {
        assert!(has(message), "{message}: {complaints:#?}");
    }
    let commands: Vec<&str> = drafts
        .iter()
        .filter(|d| d.disabled.is_none())
        .filter_map(|d| d.config["command"].as_str())
        .collect();
    assert_eq!(commands, ["b", "d {{iteration}} {{itertion}} {{task_id}}", "e"]);
    assert_eq!(drafts[0].policy.limits.timeout, Duration::from_secs(30));
    assert!(drafts.iter().all(|draft| !draft.policy.forwards_output));
}

#[test]
fn invalid_yaml_gives_one_complaint_and_no_hooks() {
    let (drafts, complaints) = load("hooks:\n  on_error: [\n");
    assert_eq!((drafts.len(), complaints.len()), (0, 1));
    assert_eq!(load("").0, []);
}

#[test]
fn warns_once_of_a_file_without_pipe_output() {
    let old = "hooks:\n  pre_iteration:\n    - command: a\n    - command: b\n";
    let (drafts, complaints) = load(old);
    assert_eq!((drafts.len(), complaints.len()), (2, 1));
    assert_eq!((complaints[0].severity, complaints[0].spot.line), (Severity::Warning, 3));
    let (_, complaints) = load(&format!("{old}      pipe_output: false\n"));
    assert_eq!(complaints, []);
}

#[test]
fn quotes_variables_and_leaves_others_empty() {
    let vars = json!({"session": "my s", "iteration": 3, "task_id": "TAS-1", "task_content": "a\nb", "error": "$(x)"});
    let line = "command: 'x {{session}} {{iteration}} [{{task_id}}] {{error}} {{other}}'";
    assert_eq!(
        command(&event("on_error", vars.clone()), &hook("on_error", line)),
        "x 'my s' 3 [] '$(x)' {{other}}"
    );
    assert_eq!(
        command(&event("session_end", vars.clone()), &hook("session_end", line)),
        "x 'my s'  []  {{other}}"
    );
    let task = event("on_task_complete", vars);
    let fact = task.facts.task.clone().expect("a task");
    assert_eq!(
        (fact.id.as_str(), fact.subject.as_str(), fact.description.as_str()),
        ("TAS-1", "a", "a\nb")
    );
    assert_eq!(
        command(&task, &hook("on_task_complete", "command: 'v {{task_id}} {{task_content}}'")),
        "v TAS-1 'a\nb'"
    );
}

#[test]
fn fills_variables_from_foreign_facts() {
    let native = json!({"moment": "task.completed", "session": "s", "facts": {"task": {"id": "7", "subject": "short"}}});
    let event = NEUTRAL.receive_event(native.to_string().as_bytes(), arrival()).expect("an event");
    let hook = hook("on_task_complete", "command: 'v {{session}} {{task_id}} {{task_content}}'");
    assert_eq!(command(&event, &hook), "v s 7 short");
}

#[test]
fn output_texts_match_the_contract() {
    let piped = hook("pre_iteration", "command: x, timeout: 5, pipe_output: true");
    let event = event("pre_iteration", json!({}));
    let outcome = |end: End, stdout: &str, stderr: &str| Outcome {
        stdout: Captured::from_text(stdout),
        stderr: Captured::from_text(stderr),
        ..Outcome::from_end(end)
    };
    let cases = [
        (outcome(End::Exited(0), "out\n", ""), "out\n"),
        (outcome(End::Exited(0), "out\n", "err\n"), "out\n\n[stderr]\nerr\n"),
        (outcome(End::Exited(0), "", "err"), "\n[stderr]\nerr"),
        (outcome(End::Exited(3), "out\n", ""), "[Hook command failed: exit status 3]\nout\n"),
        (outcome(End::Exited(3), "o", "e"), "[Hook command failed: exit status 3]\no\n[stderr]\ne"),
        (outcome(End::Signalled(9), "", ""), "[Hook command failed: signal: killed]\n"),
        (
            outcome(End::Signalled(11), "", ""),
            "[Hook command failed: signal: segmentation fault]\n",
        ),
        (outcome(End::Signalled(40), "", ""), "[Hook command failed: signal: signal 40]\n"),
        (
            outcome(End::TimedOut, "part", "lost"),
            "[Hook timed out after 5s]\nPartial output:\npart",
        ),
        (outcome(End::FailedToStart("no sh".into()), "", ""), "[Hook command failed: no sh]\n"),
    ];
    for (outcome, wanted) in cases {
        let verdict = Iteratr.read_outcome(&event, &piped, &outcome).verdict;
        assert_eq!(text(&verdict), Some((Audience::AgentNow, wanted)));
    }
    let quiet = Iteratr.read_outcome(&event, &piped, &outcome(End::Exited(0), "", "")).verdict;
    assert_eq!(quiet, Verdict::default());
    assert!(
        !Iteratr
            .read_outcome(&event, &piped, &outcome(End::TimedOut, "", ""))
            .verdict
            .gate_failures
            .is_empty()
    );
    let kept = Iteratr
        .read_outcome(
            &event,
            &hook("pre_iteration", "command: x"),
            &outcome(End::Exited(3), "o", ""),
        )
        .verdict;
    assert_eq!(kept, Verdict::default());
}

#[test]
fn output_after_an_iteration_goes_to_the_next_one() {
    let outcome = Outcome { stdout: Captured::from_text("t"), ..Outcome::from_end(End::Exited(0)) };
    let audience = |name: &str| {
        let hook = hook(name, "command: x, pipe_output: true");
        text(&Iteratr.read_outcome(&event(name, json!({})), &hook, &outcome).verdict)
            .map(|(to, _)| to)
    };
    for name in ["session_start", "pre_iteration", "on_error"] {
        assert_eq!(audience(name), Some(Audience::AgentNow), "{name}");
    }
    for name in ["post_iteration", "on_task_complete"] {
        assert_eq!(audience(name), Some(Audience::AgentNextTurn), "{name}");
    }
    assert_eq!(audience("session_end"), None);
}

#[test]
fn immediate_output_of_post_iteration_asks_for_a_follow_up() {
    let outcome = Outcome { stdout: Captured::from_text("t"), ..Outcome::from_end(End::Exited(0)) };
    let effects = |name: &str, top: &str, fields: &str| {
        let text = format!("{top}\nhooks:\n  {name}: [{{command: x, pipe_output: {fields}}}]\n");
        let (mut drafts, _) = load(&text);
        let hook = Hook::from_draft(&ITERATR, drafts.remove(0)).0.expect("built");
        let event = event(name, json!({"iteration": 3}));
        Iteratr.read_outcome(&event, &hook, &outcome).verdict.side_effects
    };
    let immediate = "post_iteration: immediate";
    let found = effects("post_iteration", immediate, "true");
    let [SideEffect::FollowUp { heading, .. }] = found.as_slice() else { panic!("{found:?}") };
    assert!(heading.starts_with("[POST-ITERATION HOOKS - iteration #3]\n"), "{heading}");
    assert_eq!(effects("post_iteration", immediate, "false"), []);
    assert_eq!(effects("pre_iteration", immediate, "true"), []);
    assert_eq!(effects("post_iteration", "post_iteration: next_iteration", "true"), []);
    assert_eq!(effects("post_iteration", "", "true, post_iteration: immediate"), []);
}

#[test]
fn joins_messages_unchanged_in_the_reply() {
    let verdict = Verdict::with_only_message(Audience::AgentNow, "a\n")
        .with_message(Audience::User, "look")
        .with_message(Audience::AgentNextTurn, "b\n");
    let decision = Decision::with_caller_verdict(verdict);
    let reply = Iteratr.write_reply(&event("pre_iteration", json!({})), &decision);
    assert_eq!(
        (reply.stdout.as_slice(), reply.stderr.as_str(), reply.exit),
        (&b"a\n\nb\n"[..], "look\n", 0)
    );
}

#[test]
fn refuses_an_unknown_hook_with_a_suggestion() {
    let refused = ITERATR
        .receive_event(br#"{"hook":"pre_iterations"}"#, arrival())
        .err()
        .expect("a complaint");
    assert_eq!(refused.help.as_deref(), Some("did you mean `pre_iteration`?"));
}
