//! Tests the dialect from settings to reply, with made-up outcomes. Starts no process.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use gambrel_model::{
    Caller, CallerContext, Captured, Carry, Decision, End, Event, Hook, HookFormat, LoadedDrafts,
    LoadedFile, Outcome, Program, Ruling, SearchRoots, SideEffect, Slot, Verdict,
};
use serde_json::{Value, json};

use super::{CLAUDE, Claude};

fn roots() -> SearchRoots {
    SearchRoots { root: "/p".into(), home: Some("/h".into()), ..SearchRoots::default() }
}

fn load_all(files: &[(&str, &str)]) -> LoadedDrafts {
    let mut roots = roots();
    roots.extra_sources.push(("plugin".into(), "/plug".into()));
    let found: Vec<LoadedFile> = Claude
        .search(&roots)
        .into_iter()
        .filter_map(|place| {
            let text = files.iter().find(|(tag, _)| *tag == place.tag)?.1.to_owned();
            Some(LoadedFile { place, base: "/p".into(), text, entries: Vec::new() })
        })
        .collect();
    Claude.load_hooks(&found, &roots)
}

fn handler(event: &str, handler: Value) -> Hook {
    let settings = json!({"hooks": {event: [{"hooks": [handler]}]}}).to_string();
    let (mut drafts, complaints) = load_all(&[("project", &settings)]);
    assert_eq!(complaints, []);
    Hook::from_draft(&CLAUDE, drafts.remove(0)).0.expect("a hook")
}

fn command(event: &str) -> Hook {
    handler(event, json!({"type": "command", "command": "x"}))
}

fn event(native: Value) -> Event {
    let arrival = CallerContext { cwd: "/p".into(), ..CallerContext::default() };
    CLAUDE.receive_event(native.to_string().as_bytes(), arrival).expect("an event")
}

fn bash() -> Event {
    event(json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Edit",
        "tool_input": {"file_path": "a", "old_string": "b", "new_string": "c"}, "extra": 1}))
}

fn end(code: i32, stdout: &str, stderr: &str) -> Outcome {
    let (stdout, stderr) = (Captured::from_text(stdout), Captured::from_text(stderr));
    Outcome { stdout, stderr, ..Outcome::from_end(End::Exited(code)) }
}

fn reply_of(event: &Event, verdict: Verdict) -> (Value, i32, String) {
    let reply = Claude.write_reply(event, &Decision::with_caller_verdict(verdict));
    (serde_json::from_slice(&reply.stdout).unwrap_or_default(), reply.exit, reply.stderr)
}

#[test]
fn bad_entries_do_not_stop_others_from_loading() {
    let settings = r#"{"hooks": {
        "PreToolUs": [], "Stop": 3,
        "PreToolUse": [7, {"matcher": 4, "hooks": [{"type": "command", "command": "m"}]}, {"hooks": [
            {"type": "command"}, {"type": "comand", "command": "c"}, {"command": "c"}, 5,
            {"type": "command", "command": "ok", "timeout": "5"},
            {"type": "command", "command": "zero", "timeout": 0},
            {"type": "http", "url": "https://x"},
            {"type": "command", "command": "'/a b/gambrel' fire --from claude"}
        ]}]}}"#;
    let (drafts, complaints) = load_all(&[("project", settings)]);
    let messages: Vec<String> =
        complaints.iter().map(|c| format!("{}: {}", c.spot.line, c.message)).collect();
    assert_eq!(messages.len(), 10, "{messages:#?}");
    assert_eq!(complaints[0].help.as_deref(), Some("did you mean `PreToolUse`?"));
    assert!(
        complaints
            .iter()
            .all(|c| c.spot.line > 1 && c.spot.path == Path::new(".claude/settings.json"))
    );
    let idle: Vec<Option<&str>> =
        drafts.iter().map(|d| d.disabled.as_ref().map(|disabled| disabled.why.as_str())).collect();
    assert_eq!(
        idle,
        [
            Some("its matcher is not a text"),
            Some("its `command` is missing or not a text"),
            Some("its `type` is missing or not known"),
            Some("its `type` is missing or not known"),
            None,
            None,
            None,
            None,
        ]
    );
    let calls_gambrel: Vec<bool> = drafts.iter().map(|d| d.calls_gambrel).collect();
    assert_eq!(calls_gambrel, [false, false, false, false, false, false, false, true]);
    assert!(drafts.iter().all(|d| d.policy.limits.timeout.as_secs() == 600));
}

#[test]
fn disable_settings_follow_precedence() {
    let hook = r#""hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}"#;
    let idle = |managed: &str, user: &str, project: &str| {
        let text = |own: &str| format!("{{{own} {hook}}}");
        let (m, u, p) = (text(managed), text(user), text(project));
        let (drafts, _) =
            load_all(&[("managed", &m), ("user", &u), ("project", &p), ("plugin", &p)]);
        drafts.iter().map(|d| d.disabled.is_some()).collect::<Vec<_>>()
    };
    let (on, off) = (r#""disableAllHooks": false,"#, r#""disableAllHooks": true,"#);
    assert_eq!(idle("", off, ""), [false, true, true, true]);
    assert_eq!(idle("", off, on), [false, false, false, false]);
    assert_eq!(idle(off, on, on), [true, true, true, true]);
    assert_eq!(idle(r#""allowManagedHooksOnly": true,"#, "", ""), [false, true, true, true]);
}

#[test]
fn reads_exit_codes_and_json() {
    let (event, hook) = (bash(), command("PreToolUse"));
    let read = |outcome: Outcome| Claude.read_outcome(&event, &hook, &outcome).verdict;
    assert_eq!(read(end(2, "", "no\n")).ruling_reasons(), ["no"]);
    assert_eq!(read(end(2, "{broken}", "")).ruling_reasons(), ["No stderr output"]);
    assert_eq!(read(end(1, "", "x")), Verdict::default().with_gate_failure("exit code 1: x"));
    assert!(!read(end(127, "", "")).gate_failures.is_empty());
    assert!(!read(end(0, "{broken}", "")).gate_failures.is_empty());
    assert!(!read(end(0, "note\n{\"decision\":\"block\"}", "")).gate_failures.is_empty());
    assert!(!read(Outcome::from_end(End::TimedOut)).gate_failures.is_empty());
    let own = |fields: Value| json!({"hookSpecificOutput": fields}).to_string();
    let deny = own(json!({"hookEventName": "PreToolUse", "permissionDecision": "deny"}));
    assert_eq!(read(end(7, &deny, "")).ruling, Ruling::Deny);
    let other = own(json!({"hookEventName": "PostToolUse", "permissionDecision": "deny"}));
    assert!(!read(end(0, &other, "")).gate_failures.is_empty());
    let twice = r#"{"decision":"block","decision":"approve"}"#;
    assert_eq!(read(end(0, twice, "")).ruling, Ruling::Silent);
    let rewrite = own(json!({"hookEventName": "PreToolUse", "permissionDecision": "allow",
        "updatedInput": {"file_path": "z", "old_string": "b", "new_string": "c"}}));
    let verdict = read(end(0, &rewrite, ""));
    let neutral = json!({"path": "z", "edits": [{"old": "b", "new": "c"}]});
    assert_eq!(verdict.patch.get(&Slot::Input), Some(&neutral));
    let (reply, ..) = reply_of(&event, verdict);
    let wanted = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": {"file_path": "z", "old_string": "b", "new_string": "c"}}});
    assert_eq!(reply, wanted);
}

#[test]
fn writes_refusals_in_the_form_of_the_event() {
    let reply_to = |name: &str, ruling| {
        let native = json!({"hook_event_name": name, "tool_name": "Bash"});
        reply_of(&event(native), Verdict::with_ruling(ruling, "why"))
    };
    let (reply, ..) = reply_to("PreToolUse", Ruling::Halt);
    assert_eq!(reply["continue"], false);
    assert_eq!(reply["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(reply_to("Stop", Ruling::Deny).0, json!({"decision": "block", "reason": "why"}));
    assert_eq!(reply_to("Stop", Ruling::Halt).0, json!({"continue": false, "stopReason": "why"}));
    assert_eq!(reply_to("TaskCompleted", Ruling::Deny), (Value::Null, 2, "why\n".into()));
    let (reply, ..) = reply_to("PermissionRequest", Ruling::Deny);
    assert_eq!(
        reply["hookSpecificOutput"]["decision"],
        json!({"behavior": "deny", "message": "why"})
    );
    assert_eq!(reply_of(&bash(), Verdict::default()), (Value::Null, 0, String::new()));
}

#[test]
fn calls_have_the_callers_line_and_expanded_arguments() {
    let hook = handler(
        "PreToolUse",
        json!({"type": "command", "command": "${CLAUDE_PROJECT_DIR}/x",
        "args": ["${CLAUDE_PLUGIN_ROOT}", "a b"], "onFailure": "block"}),
    );
    let call = Claude.stage_call(&bash(), &hook, &Carry::default());
    let words = ["/p/x", "${CLAUDE_PLUGIN_ROOT}", "a b"].map(str::to_owned);
    assert_eq!(call.program, Program::Exec(words.to_vec()));
    let line = String::from_utf8(call.stdin.expect("a line").to_vec()).expect("text");
    assert_eq!(line, format!("{}\n", bash().native));
    assert_eq!(Claude.read_outcome(&bash(), &hook, &end(1, "", "")).verdict.ruling, Ruling::Deny);
}

#[test]
fn matches_names_and_patterns() {
    let met = |event: &str, matcher: &str, subject: &str| {
        let group = json!({"matcher": matcher, "hooks": [{"type": "command", "command": "x"}]});
        let (mut drafts, _) =
            load_all(&[("user", &json!({"hooks": {event: [group]}}).to_string())]);
        let hook = Hook::from_draft(&CLAUDE, drafts.remove(0)).0.expect("a hook");
        hook.matcher.matches([subject].into_iter())
    };
    assert!(met("PreToolUse", "", "Bash") && met("PreToolUse", "*", "Bash"));
    assert!(met("PreToolUse", "Edit, Bash||", "Bash") && !met("PreToolUse", "Bas", "Bash"));
    assert!(met("PreToolUse", "Bas.", "Bash") && met("PreToolUse", "B.*", "xBash"));
    assert!(met("PreToolUse", "Task", "Agent") && met("PreToolUse", "^Agent$", "Task"));
    assert!(!met("PreToolUse", "^TaskCreate$", "AgentCreate") && !met("Setup", "Task", "Agent"));
    assert!(!met("PreToolUse", "mcp__srv", "mcp__srv__t"));
    assert!(met("FileChanged", "a-b", "xa-by") && !met("SessionStart", "a-b", "xa-by"));
}

#[test]
fn translates_foreign_tools() {
    let native = json!({"moment": "tool.after", "session": "s", "facts": {"tool": {"kind": "shell",
        "args": {"command": "ls"}, "result": {"content": [{"type": "text", "text": "out"}]}}}});
    let foreign = crate::neutral::NEUTRAL
        .receive_event(native.to_string().as_bytes(), CallerContext::default());
    let call =
        Claude.stage_call(&foreign.expect("an event"), &command("PostToolUse"), &Carry::default());
    let input: Value = serde_json::from_slice(&call.stdin.expect("a line")).expect("JSON");
    assert_eq!(input["hook_event_name"], "PostToolUse");
    assert_eq!(
        (&input["tool_name"], &input["tool_input"]),
        (&json!("Bash"), &json!({"command": "ls"}))
    );
    assert_eq!(input["tool_response"]["stdout"], "out");
}

#[test]
fn spills_long_context_but_no_reasons() {
    let mut event = event(json!({"hook_event_name": "UserPromptSubmit", "prompt": "x"}));
    event.id = "e/1".into();
    let hook = command("UserPromptSubmit");
    let long = "é".repeat(10_001);
    let read = |event: &Event, outcome| Claude.read_outcome(event, &hook, &outcome).verdict;
    assert_eq!(read(&event, end(0, &long, "")).messages[0].text, long, "nowhere to put it");
    let env = Arc::new(BTreeMap::from([("HOME".to_owned(), "/h".to_owned())]));
    event.context = Arc::new(CallerContext { env, ..CallerContext::default() });
    let fits = "é".repeat(10_000);
    assert_eq!(read(&event, end(0, &fits, "")).messages[0].text, fits);
    let verdict = read(&event, end(0, &long, ""));
    let path = format!("/h/.local/state/gambrel/tool-results/hook-e_1-{}.txt", hook.id);
    let shortened = format!("{}\n… (10001 characters; all of it: {path})", "é".repeat(2_000));
    assert_eq!(verdict.messages[0].text, shortened);
    assert_eq!(
        verdict.side_effects,
        [SideEffect::WriteFile { path: path.into(), text: long.clone() }]
    );
    let refused = read(&event, end(2, "", &long));
    assert_eq!(refused.ruling_reasons(), [long.as_str()]);
    assert_eq!(refused.side_effects, []);
}

#[test]
fn detached_hooks_have_the_timeout_of_their_type() {
    let time = |event: &str, handler: Value| {
        let mut own = json!({"type": "command", "command": "x"});
        own.as_object_mut().unwrap().extend(handler.as_object().unwrap().clone());
        let policy = self::handler(event, own).draft.policy;
        (
            policy.limits.timeout.as_millis(),
            policy.limits.leftover_timeout.map(|time| time.as_millis()),
        )
    };
    assert_eq!(time("SessionEnd", json!({})), (1_500, Some(600_000)));
    assert_eq!(time("SessionEnd", json!({"timeout": 90})), (60_000, None));
    assert_eq!(time("SessionEnd", json!({"async": true})), (600_000, Some(600_000)));
    assert_eq!(time("SessionEnd", json!({"async": true, "timeout": 90})), (90_000, None));
    assert_eq!(time("UserPromptSubmit", json!({})), (30_000, Some(600_000)));
    assert_eq!(time("UserPromptSubmit", json!({"asyncRewake": true})), (600_000, Some(600_000)));
    assert_eq!(time("Stop", json!({"timeout": 5})), (5_000, None));
}

#[test]
fn the_event_table_has_every_event() {
    let names: Vec<&str> = CLAUDE.events().iter().map(|row| row.name).collect();
    assert_eq!(names.len(), 34);
    assert_eq!(names.last(), Some(&""));
}
