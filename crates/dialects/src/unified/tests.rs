//! Tests the grammar, the variables, and the failure policies. Starts no process.

mod replies;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gambrel_model::condition::Fact;
use gambrel_model::{
    CallerContext, Captured, Carry, Complaint, ConfigPath, End, Event, Expect, Hook, HookFormat,
    LoadedDrafts, LoadedFile, MatcherText, Moment, Outcome, Powers, PreviousHook, Program, Ruling,
    Scope, SearchRoots, Severity, Verdict,
};
use serde_json::{Value, json};

use super::{UNIFIED, Unified, events};
use crate::neutral::NEUTRAL;

fn found(tag: &'static str, path: &str, text: &str) -> LoadedFile {
    let scope = if tag == "project" { Scope::Project } else { Scope::User };
    let place = ConfigPath { path: path.into(), scope, expect: Expect::File, tag };
    LoadedFile { place, base: "/project".into(), text: text.into(), entries: Vec::new() }
}

fn load(text: &str) -> LoadedDrafts {
    Unified.load_hooks(
        &[found("project", "/project/.gambrel/hooks.yaml", text)],
        &SearchRoots::default(),
    )
}

fn hook(text: &str) -> Hook {
    let (mut drafts, complaints) = load(text);
    assert_eq!(complaints, [], "{text}");
    let (hook, complaints) = Hook::from_draft(&UNIFIED, drafts.remove(0));
    assert_eq!(complaints, []);
    hook.expect("a row of that name")
}

fn at(point: &str, action: &str) -> Hook {
    hook(&format!("hooks:\n  {point}:\n    - {{type: shell, {action}}}\n"))
}

fn arrival() -> CallerContext {
    let env = BTreeMap::from([("HOME_TOWN".to_owned(), "Ulm".to_owned())]);
    let (at, cwd, env) = (1_763_238_316_000, "/project".into(), Arc::new(env));
    CallerContext { id: "f".into(), at, cwd, env, ..CallerContext::default() }
}

fn event(native: Value) -> Event {
    UNIFIED.receive_event(native.to_string().as_bytes(), arrival()).expect("an event")
}

fn foreign(native: Value) -> Event {
    NEUTRAL.receive_event(native.to_string().as_bytes(), arrival()).expect("an event")
}

fn find_complaint(complaints: &[Complaint], message: &str) -> Complaint {
    let found = complaints.iter().find(|c| c.message.contains(message));
    found.unwrap_or_else(|| panic!("no `{message}` in {complaints:#?}")).clone()
}

#[test]
fn defaults_match_the_contract() {
    let terms = at("on_error", "command: x").draft.policy;
    assert!(!terms.limits.blocking);
    assert_eq!((terms.limits.timeout, terms.limits.retries), (Duration::from_secs(300), 0));
    let terms = at("on_error", "command: x, on_failure: retry").draft.policy;
    assert_eq!((terms.limits.retries, terms.limits.retry_delay), (3, Duration::from_secs(5)));
    assert_eq!(*terms.on_failure, Verdict::default());
    let (drafts, _) = load("hooks:\n  on_error:\n    - {type: spawn, pipeline: p}\n");
    assert!(drafts[0].policy.limits.blocking);
    assert_eq!(drafts[0].policy.limits.timeout, Duration::from_secs(3_600));
    assert_eq!(drafts[0].disabled, None);
}

#[test]
fn abort_halts_at_pipeline_points_and_denies_at_neutral_moments() {
    let failed = |point: &str| {
        at(point, "command: x, await: true, on_failure: abort").draft.policy.on_failure.ruling
    };
    for point in ["on_session_start", "on_iteration_start", "on_iteration_complete", "on_error"] {
        assert_eq!(failed(point), Ruling::Halt, "{point}");
    }
    for point in ["on_tool_before", "on_task_completed", "on_config_change"] {
        assert_eq!(failed(point), Ruling::Deny, "{point}");
    }
}

#[test]
fn every_moment_has_a_hook_point() {
    for moment in Moment::all_named() {
        let row = events::find_row(&moment.yaml_key()).expect("a row");
        assert_eq!(row.moment, *moment);
    }
    let row = events::find_row("on_iteration_end").expect("a row");
    assert_eq!(row.name, "on_iteration_complete");
    assert_eq!(
        hook("hooks:\n  on_session_end: [{type: shell, command: x}]\n").draft.event,
        "on_session_complete"
    );
    let names: Vec<&str> = events::point_names().collect();
    let distinct: std::collections::BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(names.len(), distinct.len());
    assert!(
        !events::find_row("on_iteration_complete")
            .expect("a row")
            .caller_powers
            .contains(Powers::DENY)
    );
    assert!(
        events::find_row("on_task_completed").expect("a row").caller_powers.contains(Powers::DENY)
    );
}

#[test]
fn reports_bad_entries_with_their_span_and_loads_the_others() {
    let text = "\
hooks:
  on_iteration_complete:
    - type: shel
      command: a
    - type: shell
      command: b
      timeout: 30s
    - type: shell
      command: {{x}}
    - type: shell
      command: c
      on_failure: retyr
    - type: shell
      command: d
      callback_port: 1
    - command: e
    - just text
    - type: webhook
      url: http://example.com/x
    - type: shell
      command: fine
  on_iteration_complet:
    - {type: shell, command: f}
  session_start:
    - {type: shell, command: g}
";
    let (drafts, complaints) = load(text);
    assert_eq!(
        find_complaint(&complaints, "`type` is one of").help.as_deref(),
        Some("did you mean `shell`?")
    );
    let seconds = find_complaint(&complaints, "`timeout` should be");
    assert_eq!((seconds.spot.line, seconds.spot.column), (7, 16));
    assert!(seconds.help.expect("help").contains("timeout is in seconds"));
    assert!(
        find_complaint(&complaints, "`command` should be").help.expect("help").contains("quote it")
    );
    let policy =
        find_complaint(&complaints, "`on_failure` is one of continue, abort, retry, not `retyr`");
    assert!(policy.help.expect("help").contains("retry"));
    let stray = find_complaint(&complaints, "`callback_port` belongs to `type: webhook`");
    assert_eq!((stray.severity, stray.spot.line), (Severity::Warning, 15));
    assert_eq!(find_complaint(&complaints, "no `type`").help.as_deref(), Some("add `type: shell`"));
    assert_eq!(find_complaint(&complaints, "an action is a map").spot.line, 17);
    find_complaint(&complaints, "https://");
    let unknown = find_complaint(&complaints, "no caller is known to fire `on_iteration_complet`");
    assert_eq!(unknown.severity, Severity::Warning);
    assert_eq!(unknown.help.as_deref(), Some("did you mean `on_iteration_complete`?"));
    assert_eq!(
        find_complaint(&complaints, "`session_start` is not a hook point").help.as_deref(),
        Some("did you mean `on_session_start`?")
    );
    let runs: Vec<&str> = drafts
        .iter()
        .filter(|draft| draft.disabled.is_none())
        .filter_map(|draft| draft.config["command"].as_str())
        .collect();
    assert_eq!(runs, ["d", "fine", "f"]);
    assert_eq!(drafts.len(), 9);
}

#[test]
fn doubtful_hooks_get_a_warning_and_still_run() {
    let doubtful = [
        ("command: x, on_failure: abort", "nobody waits"),
        ("command: x, retries: 2", "counts only with"),
        ("command: x, when: \"${ITERATON} == 1\"", "`ITERATON` is not a gambrel variable"),
        ("command: x, when: \"${ERROR} != ''\"", "on_error only"),
        ("command: x, matcher: shell", "has no tool"),
        ("command: x, timeuot: 3", "unknown field"),
    ];
    for (fields, message) in doubtful {
        let (drafts, complaints) =
            load(&format!("hooks:\n  on_stage_complete: [{{type: shell, {fields}}}]\n"));
        assert_eq!(find_complaint(&complaints, message).severity, Severity::Warning, "{fields}");
        assert_eq!(drafts[0].disabled, None, "{fields}");
    }
}

#[test]
fn reports_files_with_a_wrong_structure() {
    for (text, message) in [
        ("- a\n", "the file is a list"),
        ("hooks: [1]\n", "`hooks` should be a map"),
        ("hooks:\n  on_error: {type: shell}\n", "`on_error` should be a list"),
        ("on_error:\n  - {type: shell, command: x}\n", "is outside `hooks:`"),
        ("hoks: {}\n", "unknown field `hoks`"),
        ("hooks:\n\t- x\n", "not valid YAML"),
    ] {
        let (drafts, complaints) = load(text);
        assert_eq!(drafts, [], "{text}");
        find_complaint(&complaints, message);
    }
    for text in ["", "hooks:\n", "hooks:\n  on_error:\n", "version: 1\n"] {
        assert_eq!(load(text), (Vec::new(), Vec::new()), "{text}");
    }
}

#[test]
fn pipelines_disable_global_hooks_and_projects_cannot() {
    let hooks = "hooks:\n  on_error: [{type: shell, command: x}]\n";
    let global = found("global", "/home/.config/agent-pipelines/hooks.yaml", hooks);
    let run = format!("name: p\nstages: []\ndisable_global_hooks: true\n{hooks}");
    let (drafts, complaints) = Unified
        .load_hooks(&[found("pipeline", "/p.yaml", &run), global.clone()], &SearchRoots::default());
    assert_eq!(complaints, []);
    assert_eq!(drafts[0].disabled, None);
    assert_eq!(
        drafts[1].disabled.as_ref().map(|disabled| disabled.why.as_str()),
        Some("disabled: disable_global_hooks in /p.yaml")
    );
    let own = found("project", "/h.yaml", "disable_global_hooks: true\n");
    let mut by_name = found("stage", "/s.yaml", "name: s\ndisable_global_hooks: true\n");
    by_name.place.scope = Scope::Project;
    for file in [own, by_name] {
        let (drafts, complaints) =
            Unified.load_hooks(&[file, global.clone()], &SearchRoots::default());
        assert_eq!(drafts[0].disabled, None);
        find_complaint(&complaints, "counts only in a pipeline's");
    }
}

#[test]
fn searches_files_in_the_order_of_the_contract() {
    let roots = SearchRoots {
        root: "/r".into(),
        config_home: Some("/c".into()),
        extra_sources: vec![
            ("pipeline".into(), "/p.yaml".into()),
            ("stage".into(), "s.yaml".into()),
        ],
        ..SearchRoots::default()
    };
    let paths: Vec<_> = Unified.search(&roots).into_iter().map(|place| place.path).collect();
    let wanted = [
        "/r/s.yaml",
        "/p.yaml",
        ".gambrel/hooks.yaml",
        "/c/gambrel/hooks.yaml",
        "/c/agent-pipelines/hooks.yaml",
        "/c/gambrel/config.yaml",
    ];
    assert_eq!(paths, wanted.map(std::path::PathBuf::from));
}

#[test]
fn parses_matchers_as_names_or_patterns() {
    let matcher = |text: &str| {
        at("on_tool_before", &format!("command: x, matcher: \"{text}\"")).draft.matcher
    };
    assert_eq!(matcher("*"), MatcherText::All);
    assert_eq!(
        matcher("shell | write"),
        MatcherText::Names(["shell".into(), "write".into()].into())
    );
    assert!(matches!(matcher("mcp__.*"), MatcherText::Pattern(_)));
    let (_, complaints) =
        load("hooks:\n  on_tool_before: [{type: shell, command: x, matcher: Bash}]\n");
    find_complaint(&complaints, "`Bash` is not a neutral tool name");
}

#[test]
fn reads_variables_of_own_events() {
    let event = event(json!({"hook_point": "on_iteration_end", "vars":
        {"SESSION": "s", "ITERATION": 3, "STAGE": "work", "ERROR": "old", "EXTRA": true, "PATH": "/evil"}}));
    assert_eq!((event.session.as_str(), event.moment.name()), ("s", "iteration.end"));
    assert_eq!((event.facts.iteration, event.facts.stage.as_deref()), (Some(3), Some("work")));
    assert_eq!(event.spec.name, "on_iteration_complete");
    let mut carry = Carry::default();
    let fact = |carry: &Carry, name: &str| Unified.lookup_fact(&event, carry, name);
    assert_eq!(fact(&carry, "ITERATION"), Fact::Is("3".into()));
    assert_eq!(fact(&carry, "NEXT_STAGE"), Fact::Unset);
    assert_eq!(fact(&carry, "ERROR"), Fact::Unset);
    assert_eq!(fact(&carry, "HOME_TOWN"), Fact::Is("Ulm".into()));
    assert_eq!(fact(&carry, "LAST_HOOK_STATUS"), Fact::Unset);
    carry.previous.insert(
        "unified",
        PreviousHook { ok: Some(false), answer: "a".into(), output: "o".into() },
    );
    assert_eq!(fact(&carry, "LAST_HOOK_STATUS"), Fact::Is("failed".into()));
    assert_eq!(fact(&carry, "SPAWN_OUTPUT"), Fact::Is("o".into()));
}

#[test]
fn fills_variables_from_foreign_facts() {
    let event = foreign(json!({"moment": "tool.before", "session": "s", "facts":
        {"iteration": 4, "tool": {"kind": "shell", "name": "Bash", "args": {"command": "ls"}}}}));
    let carry = Carry::default();
    let fact = |name: &str| Unified.lookup_fact(&event, &carry, name);
    assert_eq!(fact("SESSION"), Fact::Is("s".into()));
    assert_eq!(fact("ITERATION"), Fact::Is("4".into()));
    assert_eq!(fact("STAGE"), Fact::Absent);
    assert_eq!(fact("TOOL_NAME"), Fact::Is("Bash".into()));
    assert_eq!(fact("TOOL_COMMAND"), Fact::Is("ls".into()));
    assert_eq!(fact("TOOL_PATH"), Fact::Unset);
    let call = Unified.stage_call(&event, &at("on_tool_before", "command: x"), &carry);
    assert!(call.env.contains(&("STAGE".into(), String::new())));
    assert!(call.env.contains(&("TOOL_KIND".into(), "shell".into())));
}

#[test]
fn stages_commands_with_quoted_values_and_a_full_environment() {
    let hook = at(
        "on_error",
        "command: \"./a.sh ${ERROR} ${UNKNOWN} ${TIMESTAMP}\", await: true, timeout: 2, cwd: sub, env: {A: \"${SESSION}!\"}",
    );
    let event =
        event(json!({"hook_point": "on_error", "vars": {"SESSION": "s", "ERROR": "it's; bad"}}));
    let call = Unified.stage_call(&event, &hook, &Carry::default());
    let Program::Shell { text, .. } = &call.program else { panic!("a shell") };
    assert_eq!(text, r"./a.sh 'it'\''s; bad' ${UNKNOWN} 2025-11-15T20:25:16Z");
    assert_eq!(call.cwd, Path::new("/project/sub"));
    assert_eq!((call.limits.blocking, call.limits.timeout), (true, Duration::from_secs(2)));
    let value = |name: &str| call.env.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
    let all = [
        "SESSION",
        "STAGE",
        "NEXT_STAGE",
        "ITERATION",
        "MAX_ITERATIONS",
        "PROGRESS",
        "STATUS",
        "CTX",
        "LAST_DECISION",
        "LAST_HOOK_STATUS",
        "CHANGED_FILES",
        "STAGE_OUTPUTS",
        "ERROR",
        "TIMESTAMP",
        "CALLBACK_URL",
        "HOOK_RESPONSE",
        "SPAWN_OUTPUT",
    ];
    for name in all {
        assert!(value(name).is_some(), "{name}");
    }
    assert_eq!((value("A"), value("ERROR")), (Some("s!"), Some("it's; bad")));
    assert_eq!(call.remove_env, [""; 0]);
}

#[test]
fn removes_error_outside_on_error_and_keeps_existing_variables() {
    let event = event(json!({"hook_point": "on_stage_complete", "vars":
        {"ERROR": "x", "MINE": "1", "HOME_TOWN": "Rome", "no good": "1", "CHANGED_FILES": "a".repeat(200_000)}}));
    let call =
        Unified.stage_call(&event, &at("on_stage_complete", "command: x"), &Carry::default());
    let value = |name: &str| call.env.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
    assert_eq!(call.remove_env, ["ERROR"]);
    assert_eq!(
        (value("ERROR"), value("MINE"), value("HOME_TOWN"), value("no good")),
        (None, Some("1"), None, None)
    );
    assert!(value("CHANGED_FILES").expect("set").len() < 128 * 1024);
}

#[test]
fn outcomes_follow_the_policy() {
    let event = event(json!({"hook_point": "on_stage_complete"}));
    let read = |fields: &str, outcome: &Outcome| {
        let hook = load(&format!(
            "hooks:\n  on_stage_complete: [{{type: shell, command: ./t.sh, {fields}}}]\n"
        ))
        .0
        .remove(0);
        Unified
            .read_outcome(&event, &Hook::from_draft(&UNIFIED, hook).0.expect("built"), outcome)
            .verdict
    };
    let failed = Outcome {
        stderr: Captured::from_text("\n boom \nmore"),
        ..Outcome::from_end(End::Exited(3))
    };
    let abort = "await: true, on_failure: abort";
    assert_eq!(read(abort, &Outcome::from_end(End::Exited(0))), Verdict::default());
    let verdict = read(abort, &failed);
    assert_eq!(
        (verdict.ruling, verdict.ruling_reasons()),
        (Ruling::Halt, vec!["`./t.sh` failed: exit code 3: boom"])
    );
    assert_eq!(read("await: true", &failed), Verdict::default());
    let late =
        read("await: true, on_failure: abort, timeout: 2", &Outcome::from_end(End::TimedOut));
    assert_eq!(
        (late.ruling, late.ruling_reasons()),
        (Ruling::Halt, vec!["`./t.sh` failed: not done after 2 seconds"])
    );
    assert!(!late.gate_failures.is_empty());
    let unstarted = Outcome::from_end(End::FailedToStart("no shell".into()));
    assert_eq!(read(abort, &unstarted).ruling, Ruling::Halt);
    assert_eq!(read("on_failure: abort", &unstarted).ruling, Ruling::Silent);
}

#[test]
fn accepts_unknown_points_and_refuses_other_names() {
    let event = event(json!({"hook_point": "on_lunch_break"}));
    assert_eq!(
        (event.spec.name, event.moment.name(), event.name.as_str()),
        ("", "lunch_break", "on_lunch_break")
    );
    let refused = |native: Value| {
        UNIFIED.receive_event(native.to_string().as_bytes(), arrival()).err().expect("a complaint")
    };
    assert_eq!(
        refused(json!({"hook_point": "iteration_start"})).help.as_deref(),
        Some("did you mean `on_iteration_start`?")
    );
    assert!(refused(json!({})).message.contains("missing"));
    assert!(refused(json!({"hook_point": "on_error", "vars": [1]})).message.contains("vars"));
}

#[test]
fn own_tools_get_neutral_names() {
    let tool = |tool: Value| event(json!({"hook_point": "on_tool_before", "tool": tool}));
    let named = tool(json!({"kind": "shell", "name": "Bash", "args": {"command": "ls"}}));
    assert_eq!(named.facts.tool.as_ref().expect("a tool").name, "shell");
    assert_eq!(
        Unified.lookup_fact(&named, &Carry::default(), "TOOL_NAME"),
        Fact::Is("Bash".into())
    );
    let other = tool(json!({"name": "mcp__a__b", "input": {}})).facts.tool.expect("a tool");
    assert_eq!(
        (other.name.as_str(), serde_json::to_value(other.kind).expect("a word")),
        ("mcp__a__b", json!("mcp"))
    );
}
