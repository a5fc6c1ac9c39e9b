//! `replay` shows what today's hooks decide about recorded events, and changes nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::json;

use crate::http_server::HttpServer;
use crate::journal::list_files;
use crate::test_project::{TestProject, text};

fn tool_event(session: &str, command: &str) -> String {
    json!({"hook_event_name": "PreToolUse", "session_id": session, "tool_name": "Bash",
        "tool_input": {"command": command}, "tool_use_id": "1"})
    .to_string()
}

fn fire(project: &TestProject, command: &str) -> String {
    let decision = project.decide("claude", &tool_event("s", command));
    decision["id"].as_str().unwrap().to_owned()
}

fn replay(project: &TestProject, args: &[&str]) -> String {
    let output = project.run(&[&["replay"], args].concat(), b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// All files of the state folder with their content.
fn stored(project: &TestProject) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = list_files(&project.base.join("state"));
    files.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

const RULE: &str =
    "hooks:\n  on_tool_before:\n    - {type: rule, block: \"rm -rf\", message: no recursive rm}\n";

#[test]
fn shows_what_a_new_hook_would_decide() {
    let project = TestProject::new();
    let id = fire(&project, "rm -rf build");
    fire(&project, "ls");
    let before = replay(&project, &[&id]);
    assert!(before.ends_with("  ruling: silent\n  recorded: silent\n  unchanged\n"), "{before}");

    project.file(".gambrel/hooks.yaml", RULE);
    let after = replay(&project, &[&id]);
    assert!(after.contains("because no recursive rm"), "{after}");
    assert!(after.ends_with("  recorded: silent\n  changed: silent -> deny\n"), "{after}");
    let json = project.json(&["replay", &id, "--json"]);
    assert_eq!((&json["changed"], &json["replayed"]["ruling"]), (&json!(true), &json!("deny")));
    assert_eq!(json["recorded"], json!({"ruling": "silent", "reasons": []}));

    let session = replay(&project, &["--session", "s"]);
    assert!(session.contains("PreToolUse Bash rm -rf build\n  silent -> deny (no recursive rm)\n"));
    assert!(session.ends_with("2 firings replayed, 1 decision changes\n"), "{session}");
    let json = project.json(&["replay", "--session", "s", "--json"]);
    assert_eq!((&json["replayed"], json["changed"].as_array().unwrap().len()), (&json!(2), 1));
}

#[test]
fn runs_only_what_has_no_effect_outside() {
    let server = HttpServer::start();
    let project = TestProject::new();
    let gate = fire(&project, "ls");
    let stop = json!({"hook_event_name": "Stop", "session_id": "s"}).to_string();
    let close = project.decide("claude", &stop)["id"].as_str().unwrap().to_owned();
    let url = format!("http://localhost:{}/x", server.port);
    project.file(
        ".gambrel/hooks.yaml",
        &format!(
            "hooks:
  on_tool_before:
    - {{type: shell, command: \"echo gate $GAMBREL_REPLAY >> ran\", await: true}}
    - {{type: shell, command: \"echo background >> ran\"}}
    - {{type: webhook, url: \"{url}\", await: true}}
  on_iteration_complete:
    - {{type: shell, command: \"echo close >> ran\", await: true}}
"
        ),
    );
    project.file(
        ".omp/hooks/pre/note.ts",
        "export default (pi) => pi.on('tool_call', () => ({block: true, reason: 'module'}));\n",
    );
    let json = project.json(&["replay", &gate, "--json"]);
    assert_eq!(json["replayed"]["reasons"][0]["text"], "module", "{json}");
    std::fs::remove_file(project.root.join(".omp/hooks/pre/note.ts")).unwrap();

    let json = project.json(&["replay", &gate, "--json"]);
    let why = |index: usize| json["not_replayed"][index]["why"].as_str().unwrap();
    assert_eq!(why(0), "nobody waits for it");
    assert_eq!(why(1), "it sends a message");
    project.file(
        ".omp/hooks/post/end.ts",
        "import fs from 'node:fs';\nexport default (pi) => \
         pi.on('session_stop', () => fs.appendFileSync('ran', 'module\\n'));\n",
    );
    let shown = replay(&project, &[&close]);
    assert!(shown.contains("not replayed: commands are replayed at gates only"), "{shown}");
    assert!(shown.contains("not replayed: modules are replayed at gates only"), "{shown}");
    assert_eq!(std::fs::read_to_string(project.root.join("ran")).unwrap(), "gate 1\n");
    assert_eq!(server.count(), 0);
}

/// Each kind of hook that acts on the world, or asks somebody, is listed with the reason.
#[test]
fn lists_what_it_does_not_run() {
    let project = TestProject::new().with("GAMBREL_MODEL_COMMAND", "touch asked");
    let id = fire(&project, "ls");
    let handlers = json!([
        {"type": "command", "command": "touch woken", "asyncRewake": true},
        {"type": "mcp_tool", "server": "far", "tool": "wipe"},
        {"type": "prompt", "prompt": "Is it fine?"},
        {"type": "http", "url": "https://localhost:1/x"},
    ]);
    let settings = json!({"hooks": {"PreToolUse": [{"hooks": handlers}]}});
    project.file(".claude/settings.json", &settings.to_string());
    project
        .file(".mcp.json", r#"{"mcpServers": {"far": {"command": "touch", "args": ["served"]}}}"#);
    project.file(
        ".gambrel/hooks.yaml",
        "hooks:\n  on_tool_before:\n    - {type: spawn, pipeline: child.yaml, await: true}\n",
    );
    let json = project.json(&["replay", &id, "--json"]);
    let left_out = json["not_replayed"].as_array().unwrap();
    assert_eq!(left_out[0]["title"], "touch woken");
    let mut reasons: Vec<&str> = left_out.iter().map(|it| it["why"].as_str().unwrap()).collect();
    reasons.sort_unstable();
    assert_eq!(
        reasons,
        [
            "it asks a model",
            "it calls a tool of a server",
            "it sends a message",
            "it starts a pipeline",
            "nobody waits for it"
        ],
        "{json}"
    );
    for trace in ["woken", "served", "asked"] {
        assert!(!project.root.join(trace).exists(), "{trace}");
    }
    let shown = replay(&project, &[&id]);
    assert_eq!(shown.matches("not replayed: ").count(), 5, "{shown}");
}

#[test]
fn leaves_the_state_as_it_is() {
    let project = TestProject::new();
    project.guard("echo '{\"systemMessage\":\"careful\"}'; exit 0", 5);
    let id = fire(&project, "ls");
    let prompt = json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "hi"});
    project.decide("claude", &prompt.to_string());
    project.json(&["task", "add", "one", "--json"]);
    project.run(&["log"], b"");
    project.guard(
        &format!("'{}' task add two >/dev/null; exit 2", crate::test_project::program()),
        10,
    );
    let before = stored(&project);
    let shown = replay(&project, &[&id]);
    assert!(shown.contains("changed: silent -> deny"), "{shown}");
    replay(&project, &["--session", "s"]);
    let after = stored(&project);
    let changed: Vec<&PathBuf> = after
        .iter()
        .filter(|(path, bytes)| before.get(*path) != Some(*bytes))
        .map(|it| it.0)
        .collect();
    assert_eq!(changed, Vec::<&PathBuf>::new());
    assert_eq!(before.len(), after.len());
}

#[test]
fn replays_hosted_firings_as_hosted_and_respects_trust() {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    let output =
        project.run(&["fire", "--from", "claude", "--hosted"], tool_event("s", "ls").as_bytes());
    assert_eq!(output.status.code(), Some(0));
    project.guard("exit 2", 5);
    project.file(".gambrel/hooks.yaml", RULE);
    let shown = replay(&project, &["last"]);
    assert!(shown.contains("hosted: the host runs its own hooks"), "{shown}");
    assert!(shown.contains("untrusted") && shown.ends_with("unchanged\n"), "{shown}");
}

#[test]
fn says_what_is_missing_in_a_recorded_event() {
    let project = TestProject::new().with("MY_API_KEY", "canary-4711-secret");
    let long = format!("echo canary-4711-secret {}", "word ".repeat(10_000));
    let id = fire(&project, &long);
    let shown = replay(&project, &[&id]);
    assert!(shown.contains("recorded in part: `tool_input.command` is cut"), "{shown}");
    assert!(shown.contains("recorded in part: secrets are redacted"), "{shown}");
    let session = replay(&project, &["--session", "s"]);
    assert!(session.contains("1 firing replayed, 0 decisions change; 1 event is recorded in part"));
}

#[test]
fn does_not_judge_without_the_hook_that_judged() {
    let server = HttpServer::with_answer(|_| Some(500));
    let project = TestProject::new();
    let yaml = format!(
        "hooks:\n  on_tool_before:\n    - {{type: webhook, url: \"http://localhost:{}/x\", await: true, on_failure: abort, retries: 0}}\n",
        server.port
    );
    project.file(".gambrel/hooks.yaml", &yaml);
    let id = fire(&project, "ls");
    assert_eq!(project.json(&["show", &id, "--json"])["ruling"], "deny");
    let shown = replay(&project, &[&id]);
    assert!(shown.contains("  not comparable: http://localhost:"), "{shown}");
    assert_eq!(project.json(&["replay", &id, "--json"])["comparable"], false);
    let session = replay(&project, &["--session", "s"]);
    assert_eq!(session, "1 firing replayed, 0 decisions change\n");
    // Without the hook the decision would be another one.
    project.file(".gambrel/hooks.yaml", "hooks: {}\n");
    assert!(replay(&project, &[&id]).contains("changed: deny -> silent"));
}

#[test]
fn shows_rewrites() {
    let project = TestProject::new();
    let answer = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
        "permissionDecision": "allow", "updatedInput": {"command": "git push"}}});
    project.guard(&format!("echo '{answer}'"), 5);
    let id = fire(&project, "git push --force");
    let shown = replay(&project, &[&id]);
    let expected = "  ruling: allow\n    rewrites input: {\"command\":\"git push\"}\n  \
        recorded: allow, rewrote input\n  unchanged\n";
    assert!(shown.ends_with(expected), "{shown}");
}

/// The record of a rewritten output has only the text after it.
#[test]
fn does_not_judge_a_rewritten_output() {
    let project = TestProject::new();
    let redact = "hooks:\n  on_tool_after:\n    - rule: {redact: 'key-[0-9]+'}\n";
    project.file(".gambrel/hooks.yaml", redact);
    let event = json!({"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Bash",
        "tool_input": {"command": "cat a"}, "tool_use_id": "1",
        "tool_response": {"stdout": "key-7", "stderr": "", "interrupted": false}});
    let decision = project.decide("claude", &event.to_string());
    let id = decision["id"].as_str().unwrap();
    let shown = replay(&project, &[id]);
    let expected = "  recorded: silent, rewrote output\n  \
        not comparable: the record has no text from before the rewrite\n";
    assert!(shown.ends_with(expected), "{shown}");
    assert_eq!(project.json(&["replay", id, "--json"])["comparable"], false);
}

/// A changed hook does not run, which may be the only reason why a decision changes.
#[test]
fn a_session_says_that_hooks_wait_for_trust() {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    project.file(".gambrel/hooks.yaml", RULE);
    fire(&project, "ls");
    let shown = replay(&project, &["--session", "s"]);
    let waiting = "1 hook does not run until you trust it: run `gambrel trust`\n";
    assert!(shown.ends_with(waiting), "{shown}");
    // Its hooks are those of the folder in which it was recorded.
    let home = project.base.join("home");
    let mut elsewhere = project.command(&["replay", "--session", "s"]);
    let shown = text(&elsewhere.current_dir(home).output().unwrap().stdout);
    assert!(shown.ends_with(waiting), "{shown}");
}

#[test]
fn old_records_have_no_event() {
    let project = TestProject::new();
    let fixture =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../ledger/tests/fixtures/state-0.1/spool.jsonl");
    let spool = std::fs::read_to_string(fixture).unwrap();
    std::fs::create_dir_all(project.base.join("state")).unwrap();
    std::fs::write(project.base.join("state/spool.jsonl"), spool).unwrap();
    let output = project.run(&["replay", "last"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("an older version recorded it"),
        "{}",
        text(&output.stderr)
    );
    let shown = text(&project.run(&["log"], b"").stdout);
    assert!(shown.contains("deny") && shown.contains("rm -rf is not for agents"), "{shown}");
    let session = replay(&project, &["--session", "fifth"]);
    assert!(session.starts_with("0 firings replayed, 0 decisions change; "), "{session}");
    assert!(session.contains("not recorded"), "{session}");
}

#[test]
fn needs_a_firing_or_a_session() {
    let project = TestProject::new();
    for (args, code) in [
        (&["replay"][..], 64),
        (&["replay", "x", "--session", "y"], 64),
        (&["replay", "--session", "y"], 1),
        (&["replay", "last"], 1),
    ] {
        let output = project.run(args, b"");
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", text(&output.stderr));
    }
    let usage = text(&project.run(&["replay"], b"").stderr);
    assert!(usage.contains("<ID|--session <SESSION>>"), "{usage}");
}
