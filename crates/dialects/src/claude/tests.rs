//! The dialect end to end without running anything: settings in, a scripted outcome, the reply.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use gambrel_model::{
    CallerContext, Captured, Carry, Complaint, Decision, Dialect, Draft, End, Event, Hook,
    LoadedFile, Outcome, Program, Ruling, SearchRoots, SideEffect, Slot, Verdict,
};
use serde_json::{Value, json};

use super::Claude;

static CLAUDE: Claude = Claude;

fn roots() -> SearchRoots {
    SearchRoots { root: "/p".into(), home: Some("/h".into()), ..SearchRoots::default() }
}

fn load_all(files: &[(&str, &str)]) -> (Vec<Draft>, Vec<Complaint>) {
    let mut roots = roots();
    roots.extra_sources.push(("plugin".into(), "/plug".into()));
    let found: Vec<LoadedFile> = CLAUDE
        .search(&roots)
        .into_iter()
        .filter_map(|place| {
            let text = files.iter().find(|(tag, _)| *tag == place.tag)?.1.to_owned();
            Some(LoadedFile { place, base: "/p".into(), text, entries: Vec::new() })
        })
        .collect();
    CLAUDE.load_hooks(&found, &roots)
}

fn handler(event: &str, handler: Value) -> Hook {
    let settings = json!({"hooks": {event: [{"hooks": [handler]}]}}).to_string();
    let (mut drafts, complaints) = load_all(&[("project", &settings)]);
    assert_eq!(complaints, []);
    Hook::build(&CLAUDE, drafts.remove(0)).0.expect("a hook")
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

fn replied(event: &Event, said: Verdict) -> (Value, i32, String) {
    let reply = CLAUDE.write_reply(event, &Decision { for_caller: said, ..Decision::default() });
    (serde_json::from_slice(&reply.stdout).unwrap_or_default(), reply.exit, reply.stderr)
}

#[test]
fn one_bad_entry_leaves_the_rest() {
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
    let told: Vec<String> =
        complaints.iter().map(|c| format!("{}: {}", c.spot.line, c.message)).collect();
    assert_eq!(told.len(), 10, "{told:#?}");
    assert_eq!(complaints[0].help.as_deref(), Some("did you mean `PreToolUse`?"));
    assert!(
        complaints
            .iter()
            .all(|c| c.spot.line > 1 && c.spot.path == Path::new(".claude/settings.json"))
    );
    let idle: Vec<Option<&str>> = drafts.iter().map(|d| d.disabled.as_deref()).collect();
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
    assert!(drafts.iter().all(|d| d.policy.timeout.as_secs() == 600));
}

#[test]
fn switches_follow_precedence() {
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
fn exit_codes_and_json_are_read() {
    let (event, hook) = (bash(), command("PreToolUse"));
    let read = |outcome: Outcome| CLAUDE.read_outcome(&event, &hook, &outcome);
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
    let (reply, ..) = replied(&event, verdict);
    let wanted = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": {"file_path": "z", "old_string": "b", "new_string": "c"}}});
    assert_eq!(reply, wanted);
}

#[test]
fn refusals_are_spelled_by_event() {
    let said = |name: &str, ruling| {
        let native = json!({"hook_event_name": name, "tool_name": "Bash"});
        replied(&event(native), Verdict::with_ruling(ruling, "why"))
    };
    let (reply, ..) = said("PreToolUse", Ruling::Halt);
    assert_eq!(reply["continue"], false);
    assert_eq!(reply["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(said("Stop", Ruling::Deny).0, json!({"decision": "block", "reason": "why"}));
    assert_eq!(said("Stop", Ruling::Halt).0, json!({"continue": false, "stopReason": "why"}));
    assert_eq!(said("TaskCompleted", Ruling::Deny), (Value::Null, 2, "why\n".into()));
    let (reply, ..) = said("PermissionRequest", Ruling::Deny);
    assert_eq!(
        reply["hookSpecificOutput"]["decision"],
        json!({"behavior": "deny", "message": "why"})
    );
    assert_eq!(replied(&bash(), Verdict::default()), (Value::Null, 0, String::new()));
}

#[test]
fn a_call_has_the_line_and_the_words() {
    let hook = handler(
        "PreToolUse",
        json!({"type": "command", "command": "${CLAUDE_PROJECT_DIR}/x",
        "args": ["${CLAUDE_PLUGIN_ROOT}", "a b"], "onFailure": "block"}),
    );
    let call = CLAUDE.stage_call(&bash(), &hook, &Carry::default());
    let words = ["/p/x", "${CLAUDE_PLUGIN_ROOT}", "a b"].map(str::to_owned);
    assert_eq!(call.program, Program::Exec(words.to_vec()));
    let line = String::from_utf8(call.stdin.expect("a line")).expect("text");
    assert_eq!(line, format!("{}\n", bash().native));
    assert_eq!(CLAUDE.read_outcome(&bash(), &hook, &end(1, "", "")).ruling, Ruling::Deny);
}

#[test]
fn matchers_are_names_or_patterns() {
    let met = |event: &str, matcher: &str, subject: &str| {
        let group = json!({"matcher": matcher, "hooks": [{"type": "command", "command": "x"}]});
        let (mut drafts, _) =
            load_all(&[("user", &json!({"hooks": {event: [group]}}).to_string())]);
        let hook = Hook::build(&CLAUDE, drafts.remove(0)).0.expect("a hook");
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
fn a_foreign_tool_is_told_in_own_words() {
    let native = json!({"moment": "tool.after", "session": "s", "facts": {"tool": {"kind": "shell",
        "args": {"command": "ls"}, "result": {"content": [{"type": "text", "text": "out"}]}}}});
    let foreign = crate::neutral::Neutral
        .receive_event(native.to_string().as_bytes(), CallerContext::default());
    let call =
        CLAUDE.stage_call(&foreign.expect("an event"), &command("PostToolUse"), &Carry::default());
    let input: Value = serde_json::from_slice(&call.stdin.expect("a line")).expect("JSON");
    assert_eq!(input["hook_event_name"], "PostToolUse");
    assert_eq!(
        (&input["tool_name"], &input["tool_input"]),
        (&json!("Bash"), &json!({"command": "ls"}))
    );
    assert_eq!(input["tool_response"]["stdout"], "out");
}

#[test]
fn long_context_is_spilled_and_reasons_are_not() {
    let mut event = event(json!({"hook_event_name": "UserPromptSubmit", "prompt": "x"}));
    event.id = "e/1".into();
    let hook = command("UserPromptSubmit");
    let long = "é".repeat(10_001);
    let read = |event: &Event, outcome| CLAUDE.read_outcome(event, &hook, &outcome);
    assert_eq!(read(&event, end(0, &long, "")).messages[0].text, long, "nowhere to put it");
    event.env = Arc::new(BTreeMap::from([("HOME".to_owned(), "/h".to_owned())]));
    let fits = "é".repeat(10_000);
    assert_eq!(read(&event, end(0, &fits, "")).messages[0].text, fits);
    let verdict = read(&event, end(0, &long, ""));
    let path = format!("/h/.local/state/gambrel/tool-results/hook-e_1-{}.txt", hook.id);
    let told = format!("{}\n… (10001 characters; all of it: {path})", "é".repeat(2_000));
    assert_eq!(verdict.messages[0].text, told);
    assert_eq!(
        verdict.side_effects,
        [SideEffect::WriteFile { path: path.into(), text: long.clone() }]
    );
    let refused = read(&event, end(2, "", &long));
    assert_eq!(refused.ruling_reasons(), [long.as_str()]);
    assert_eq!(refused.side_effects, []);
}

#[test]
fn a_hook_that_nobody_waits_for_has_its_handlers_own_time() {
    let time = |event: &str, handler: Value| {
        let mut own = json!({"type": "command", "command": "x"});
        own.as_object_mut().unwrap().extend(handler.as_object().unwrap().clone());
        let terms = self::handler(event, own).draft.policy;
        (terms.timeout.as_millis(), terms.leftover_timeout.map(|time| time.as_millis()))
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
fn the_table_is_whole() {
    let names: Vec<&str> = CLAUDE.events().iter().map(|row| row.name).collect();
    assert_eq!(names.len(), 34);
    assert_eq!(names.last(), Some(&""));
}
