//! What the journal keeps of an event and its rewrites: input before and after; of an output only
//! what hooks left. What a hook removed is in no file of the state folder.

use serde_json::{Value, json};

use crate::approval_fixture::{ApprovalFixture, TIMEOUT_SECS};
use crate::journal::list_files;
use crate::run_fixture::{project_with_stage, run_folder, run_to};
use crate::test_project::{BASH_LS, TestProject, text, wait_until};

/// Longer than the shortest secrets that are recognised, and unlike any format of a secret.
const CANARY: &str = "gobbledygook-7731";

fn tool_event(output: &str) -> String {
    json!({"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Bash",
        "tool_input": {"command": "cat notes"}, "tool_use_id": "1",
        "tool_response": {"stdout": output, "stderr": "", "interrupted": false}})
    .to_string()
}

fn command_hooks(event: &str, commands: &[Value]) -> String {
    json!({"hooks": {event: [{"hooks": commands}]}}).to_string()
}

/// The module answers after the hooks of Claude Code have seen the output.
fn add_redaction(project: &TestProject) {
    let module = "export default (pi) => pi.on('tool_result', (event) => ({
        content: event.content.map((part) => ({...part, text: part.text.replaceAll('CANARY', '***')}))
    }));";
    project.file(".omp/hooks/post/redact.ts", &module.replace("CANARY", CANARY));
}

fn assert_not_stored(project: &TestProject) {
    let files = list_files(&project.base.join("state"));
    assert!(files.iter().any(|path| path.ends_with("ledger.db")), "{files:?}");
    for path in files {
        let bytes = std::fs::read(&path).unwrap();
        assert!(!text(&bytes).contains(CANARY), "{}", path.display());
    }
}

#[test]
fn stores_nothing_that_a_module_removed() {
    let project = TestProject::new();
    add_redaction(&project);
    let show =
        json!({"type": "command", "command": "cat; cat /proc/self/environ >&2; echo \"$0\" >&2"});
    let refuse = json!({"type": "command", "command": "cat >&2; exit 2"});
    project.file(".claude/settings.json", &command_hooks("PostToolUse", &[show, refuse]));

    let output = format!("one {CANARY} two\nthree {CANARY}\n");
    let decision = project.decide("claude", &tool_event(&output));
    assert!(decision["patch"]["output"].to_string().contains("***"), "{decision}");
    let id = decision["id"].as_str().unwrap();
    let shown = project.json(&["show", id, "--json"]);
    let rewrite = &shown["rewrites"]["output"];
    assert_eq!(rewrite["after"], "one *** two\nthree ***\n");
    assert_eq!(rewrite["places"], 2);
    assert_eq!(rewrite["before_bytes"], output.len());
    assert_eq!(rewrite["before_sha256"].as_str().map(str::len), Some(64));
    assert_eq!(shown["left_out"][0], "/tool_response");
    assert_eq!(shown["native"]["tool_input"]["command"], "cat notes");
    let last = shown["trail"].as_array().unwrap().last().unwrap();
    assert_eq!(last["rewrote"][0], "output", "{last}");
    assert!(shown["trail"][0]["stdout"].as_str().unwrap().contains("[removed]"), "{shown}");
    assert_not_stored(&project);
}

#[test]
fn stores_nothing_removed_that_a_detached_hook_repeats() {
    let project = TestProject::new();
    add_redaction(&project);
    let quick = json!({"type": "command", "command": "cat >&2", "async": true});
    let slow = json!({"type": "command", "command": "sleep 1; cat", "async": true});
    project.file(".claude/settings.json", &command_hooks("PostToolUse", &[quick, slow]));
    let decision = project.decide("claude", &tool_event(&format!("one {CANARY} two")));
    let id = decision["id"].as_str().unwrap();
    let late = || project.json(&["show", id, "--json"])["late"].as_array().unwrap().clone();
    wait_until("both hooks have ended", || late().len() == 2);
    let texts =
        late().iter().map(|one| format!("{}{}", one["stdout"], one["stderr"])).collect::<String>();
    assert!(texts.matches("[removed]").count() >= 2, "{texts}");
    let took = late()[0]["ms"].as_f64().unwrap() * 10.0;
    assert!((took - took.round()).abs() < 1e-6, "tenths of a millisecond: {took}");
    assert_not_stored(&project);
}

/// Messages that wait for a later event are in a file of the session.
#[test]
fn stores_nothing_removed_for_a_later_event() {
    let project = TestProject::new();
    add_redaction(&project);
    let event = json!({"type": "tool_result", "toolName": "bash", "toolCallId": "1",
        "input": {"command": "cat notes"}, "isError": false, "details": {},
        "content": [{"type": "text", "text": format!("one {CANARY} two")}],
        "ctx": {"hasUI": false, "sessionId": "s"}});
    let waiting = || {
        let files = list_files(&project.base.join("state/sessions"));
        files.iter().map(|path| text(&std::fs::read(path).unwrap())).collect::<String>()
    };
    let halt = "seen=$(grep -o gobble[a-z0-9-]*); \
        printf '{\"continue\":false,\"stopReason\":\"found %s\"}' \"$seen\"";
    let quick = json!({"type": "command", "command": halt});
    // It wakes the agent with what it prints.
    let late = json!({"type": "command", "command": "cat >&2; exit 2", "asyncRewake": true});
    for (hook, kept) in [(quick, "found [removed]"), (late, "one [removed] two")] {
        project.file(".claude/settings.json", &command_hooks("PostToolUse", &[hook]));
        let decision = project.decide("omp", &event.to_string());
        assert!(decision["patch"]["output"].to_string().contains("***"), "{decision}");
        wait_until("the message waits", || waiting().contains(kept));
        project.run(&["log"], b"");
        assert_not_stored(&project);
    }
}

/// The file of a question, whether the text was removed before it was asked or afterwards.
#[test]
fn stores_nothing_removed_in_questions() {
    let fixture = ApprovalFixture::new();
    fixture.add_question("on_tool_before", TIMEOUT_SECS);
    let project = &fixture.project;
    let masked = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
        "updatedInput": {"command": "login --key [REDACTED]"}}});
    project.guard(&format!("echo '{masked}'"), 5);
    let event = BASH_LS.replace("\"ls\"", &json!(format!("login --key {CANARY}")).to_string());
    project.run(&["fire", "--from", "claude", "--budget", "1"], event.as_bytes());
    assert_eq!(fixture.tickets(&[])[0]["command"], "login --key [REDACTED]");
    project.run(&["log"], b"");
    assert_not_stored(project);

    let project = TestProject::new().with("GAMBREL_UI", "page");
    add_redaction(&project);
    let asks = "export default (pi) => pi.on('tool_result', async (event, ctx) => {
        await ctx.ui.confirm('Show it?', event.content[0].text);
    });";
    project.file(".omp/hooks/post/ask.ts", asks);
    let event = json!({"type": "tool_result", "toolName": "bash", "toolCallId": "1",
        "input": {"command": "cat notes"}, "isError": false,
        "content": [{"type": "text", "text": format!("one {CANARY} two")}]});
    let waiting = project.start(&["fire", "--from", "omp"], event.to_string().as_bytes());
    let all = || project.json(&["approvals", "--all", "--json"])[0].clone();
    wait_until("the question is open", || all()["ticket"].is_string());
    assert!(all()["why"].as_str().unwrap().contains(CANARY), "the person sees it");
    project.run(&["approve", all()["ticket"].as_str().unwrap()], b"");
    assert!(waiting.wait_with_output().unwrap().status.success());
    assert_eq!(all()["why"], "one [removed] two");
    project.run(&["log"], b"");
    assert_not_stored(&project);
}

#[test]
fn stores_no_prompt_that_a_module_rewrote() {
    let project = TestProject::new();
    let module = "export default (pi) => pi.on('input', (event) => ({text: event.text.replace('CANARY', '***')}));";
    project.file(".omp/hooks/pre/redact.ts", &module.replace("CANARY", CANARY));
    let event =
        json!({"type": "input", "text": format!("use {CANARY} please"), "source": "interactive"});
    let project = project.with("GAMBREL_OMP_EDITION", "extensions");
    let decision = project.decide("omp", &event.to_string());
    assert_eq!(decision["patch"]["prompt"]["text"], "use *** please", "{decision}");
    let shown = project.json(&["show", decision["id"].as_str().unwrap(), "--json"]);
    assert_eq!(shown["rewrites"]["prompt"]["after"], "use *** please", "{shown}");
    assert_not_stored(&project);
}

/// A hook before the module repeats the output in an answer that is too long for memory.
#[test]
fn stores_nothing_removed_in_spill_files() {
    let project = TestProject::new();
    add_redaction(&project);
    let long =
        "event=$(cat); echo \"$event\"; head -c 20000000 /dev/zero | tr '\\0' x; echo \"$event\"";
    let hook = json!({"type": "command", "command": long});
    project.file(".claude/settings.json", &command_hooks("PostToolUse", &[hook]));
    let decision = project.decide("claude", &tool_event(&format!("one {CANARY} two")));
    assert!(decision["patch"]["output"].to_string().contains("***"), "{decision}");
    assert_eq!(list_files(&project.base.join("state/spill")).len(), 1);
    project.json(&["show", "last", "--json"]);
    assert_not_stored(&project);
}

/// The state folder and the folder of the run: its log, its board, and what the agent wrote.
#[test]
fn stores_nothing_removed_in_a_run() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    add_redaction(&project);
    let show = json!({"type": "command", "command": "cat; cat >&2"});
    project.file(".claude/settings.json", &command_hooks("PostToolUse", &[show]));
    let call = json!({"tool": "shell", "args": {"command": "cat notes"},
        "output": format!("one {CANARY} two")});
    let turns = json!({"turns": [{"say": "I read.", "tools": [call]}]});
    project.file("turns.yaml", &turns.to_string());
    run_to(&project, &["work", "--agent", "script:turns.yaml"], 0);
    let shown = text(&project.run(&["log", "--json"], b"").stdout);
    assert!(shown.contains("one *** two"), "{shown}");
    assert_not_stored(&project);
    for path in list_files(&run_folder(&project, "work")) {
        let bytes = std::fs::read(&path).unwrap();
        assert!(!text(&bytes).contains(CANARY), "{}", path.display());
    }
}

#[test]
fn masks_a_redacted_input_and_keeps_a_corrected_one() {
    let project = TestProject::new();
    let rewrite = |command: &str| {
        let output = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
            "permissionDecision": "allow", "updatedInput": {"command": command}}});
        project.guard(&format!("echo '{output}'"), 5);
    };
    let fire = |command: &str| {
        let event = BASH_LS.replace("\"ls\"", &json!(command).to_string());
        let id = project.decide("claude", &event)["id"].as_str().unwrap().to_owned();
        project.json(&["show", &id, "--json"])
    };

    rewrite("git push");
    let shown = fire("git push --force");
    let input = &shown["rewrites"]["input"];
    assert_eq!(input["before"]["command"], "git push --force");
    assert_eq!(input["after"]["command"], "git push");
    assert_eq!(shown["native"]["tool_input"]["command"], "git push --force");

    rewrite("login --key [REDACTED]");
    let shown = fire(&format!("login --key {CANARY}"));
    assert_eq!(shown["rewrites"]["input"]["before"]["command"], "login --key [removed]");
    assert_not_stored(&project);
}

/// A secret that is known by its variable, on both sides of a rewrite and in the words of a hook.
#[test]
fn redacts_secrets_in_rewrites() {
    let project = TestProject::new().with("MY_API_KEY", CANARY);
    let answer = json!({"systemMessage": format!("used {CANARY}"), "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "allow",
        "updatedInput": {"command": format!("login --key {CANARY} --quiet")}}});
    project.file("answer.json", &answer.to_string());
    project.guard("cat answer.json; echo $MY_API_KEY >&2", 5);
    let event = BASH_LS.replace("\"ls\"", &json!(format!("login --key {CANARY}")).to_string());
    let decision = project.decide("claude", &event);
    let changed = decision["patch"]["input"]["command"].as_str().unwrap();
    assert!(changed.contains(CANARY), "the agent needs it: {decision}");
    let shown = text(&project.run(&["show", "last"], b"").stdout);
    let removed = "[redacted:MY_API_KEY]";
    for line in ["- command: login --key", "+ command: login --key", "stderr  "] {
        let line = shown.lines().find(|known| known.contains(line)).unwrap();
        assert!(line.contains(removed), "{shown}");
    }
    assert_not_stored(&project);
}

#[test]
fn keeps_at_most_16_kib_of_each_rewrite() {
    let project = TestProject::new();
    // Numbers count like texts.
    let answer = |rows: &[u32]| {
        json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
            "permissionDecision": "allow", "updatedInput": {"rows": rows}}})
    };
    let many: Vec<u32> = (0..10_000).collect();
    project.file("answer.json", &answer(&many).to_string());
    project.file(
        ".claude/settings.json",
        &command_hooks("PreToolUse", &[json!({"type": "command", "command": "cat answer.json"})]),
    );
    let event = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "mcp__db__add",
        "tool_input": {"rows": many.iter().rev().collect::<Vec<_>>()}, "tool_use_id": "1"});
    let id = project.decide("claude", &event.to_string())["id"].as_str().unwrap().to_owned();
    let input = &project.json(&["show", &id, "--json"])["rewrites"]["input"];
    for (part, start) in [("before", "{\"rows\":[9999,"), ("after", "{\"rows\":[0,1,")] {
        let text = input[part].as_str().unwrap();
        assert!(text.len() <= 16 * 1024 && text.starts_with(start), "{part}: {}", text.len());
    }

    let module = "export default (pi) => pi.on('tool_result', () => ({
        content: [{type: 'text', text: 'left '.repeat(20000)}]
    }));";
    project.file(".omp/hooks/post/long.ts", module);
    let id = project.decide("claude", &tool_event("short"))["id"].as_str().unwrap().to_owned();
    let output = &project.json(&["show", &id, "--json"])["rewrites"]["output"];
    let after = output["after"].as_str().unwrap();
    assert!(after.len() <= 16 * 1024 && after.starts_with("left left"), "{}", after.len());
    assert_eq!((&output["after_bytes"], &output["before_bytes"]), (&json!(100_000), &json!(5)));
}

#[test]
fn cuts_a_large_event_and_says_so() {
    let project = TestProject::new();
    let hook = json!({"type": "command", "command": "true"});
    project.file(".claude/settings.json", &command_hooks("PreToolUse", &[hook]));
    let event = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Write",
        "tool_input": {"file_path": "/tmp/a", "content": "line\n".repeat(100_000)}});
    let id = project.decide("claude", &event.to_string())["id"].as_str().unwrap().to_owned();
    let shown = project.json(&["show", &id, "--json"]);
    assert_eq!(shown["native"]["tool_input"]["file_path"], "/tmp/a");
    assert_eq!(shown["cut"], json!(["/tool_input/content"]));
    let stored = shown["native"]["tool_input"]["content"].as_str().unwrap();
    assert!(stored.len() < 16 * 1024 && stored.starts_with("line\nline"), "{}", stored.len());
    assert_eq!(shown["left_out"], Value::Null);
}

#[test]
fn a_firing_without_hooks_has_one_small_record() {
    let project = TestProject::new();
    let long = "x ".repeat(4_000);
    let events = [
        json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "toolu_01A2B3C4",
            "tool_input": {"command": long, "description": long}}),
        json!({"hook_event_name": "PostToolUse", "tool_name": "Read", "tool_use_id": "toolu_01A2B3C4",
            "tool_input": {"file_path": "/etc/hosts"}, "tool_response": {"file": {"content": long}}}),
        json!({"hook_event_name": "UserPromptSubmit", "prompt": long}),
    ];
    let session = "0f3c2c9e-5d0b-4b0e-9c59-6c6f3a0f7b11";
    let transcript = format!("/home/ada/.claude/projects/-home-ada-shop/{session}.jsonl");
    for mut event in events {
        event["session_id"] = json!(session);
        event["transcript_path"] = json!(transcript);
        event["cwd"] = json!(project.root);
        event["permission_mode"] = json!("default");
        std::fs::remove_dir_all(project.base.join("state")).ok();
        project.run(&["fire", "--from", "claude"], event.to_string().as_bytes());
        let spool = std::fs::read_to_string(project.base.join("state/spool.jsonl")).unwrap();
        assert_eq!(spool.lines().count(), 1, "{spool}");
        // Two records without an event had 560 bytes.
        assert!(spool.len() <= 560, "{}: {spool}", spool.len());
        assert!(!spool.contains("toolu_01A2B3C4") && !spool.contains(&transcript), "{spool}");
        assert!(!spool.contains("\"content\""), "the output of a tool: {spool}");
    }
}
