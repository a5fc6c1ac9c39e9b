//! Sessions of an agent of the Agent Client Protocol: what each prompt contains, and which prompts
//! share a session.

use serde_json::{Value, json};

use crate::acp_fixture::{
    acp_project, acp_project_with, add_command, add_hook, iteration_file, lines, prompts,
    prompts_received, received, run_acp,
};
use crate::run_fixture::{count_type, run_folder};
use crate::test_project::text;

const PROMPT: &str = "Work on work, number 1.\n";

#[test]
fn what_hooks_say_is_the_first_block_and_the_prompt_the_last() {
    let project = acp_project("", &prompts(&[json!([{"say": "Hel"}, {"say": "lo."}])]));
    project.file(
        ".iteratr.hooks.yml",
        "version: 1\nhooks:\n  session_start: [{command: echo from the start, pipe_output: true}]\n  \
         pre_iteration: [{command: echo from the iteration, pipe_output: true}]\n",
    );
    run_acp(&project, 0);
    let sent = prompts_received(&project);
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!(sent[0], ["from the start\n\nfrom the iteration\n", PROMPT]);
    assert_eq!(iteration_file(&project, 1, "output.md"), "Hello.\n");
}

#[test]
fn without_messages_the_prompt_is_the_only_block() {
    let project = acp_project("", &prompts(&[json!([])]));
    run_acp(&project, 0);
    assert_eq!(prompts_received(&project), [[PROMPT]]);
    let hello = &received(&project, "initialize")[0]["params"];
    assert_eq!(hello["protocolVersion"], 1);
    assert_eq!(hello["clientCapabilities"]["terminal"], false);
    assert_eq!(hello["clientCapabilities"]["fs"]["writeTextFile"], false);
}

#[test]
fn each_iteration_has_a_session_of_its_own() {
    let project = acp_project_with(3, "", &prompts(&[json!([{"say": "words"}])]));
    run_acp(&project, 0);
    assert_eq!(received(&project, "session/new").len(), 3);
    assert_eq!(count_type(&project, "work", "iteration_complete"), 3);
    assert_eq!(iteration_file(&project, 3, "output.md"), "words\n");
}

#[test]
fn a_hook_that_keeps_the_iteration_going_speaks_in_the_same_session() {
    let project = acp_project("", &prompts(&[json!([{"say": "one"}]), json!([{"say": "two"}])]));
    let block = json!({"decision": "block", "reason": "tests are missing"});
    project.file("block.json", &block.to_string());
    add_command(&project, "Stop", "test -e seen || { touch seen; cat block.json; }");
    run_acp(&project, 0);
    assert_eq!(received(&project, "session/new").len(), 1);
    let sent = prompts_received(&project);
    assert_eq!(sent, [vec![PROMPT.to_owned()], vec!["tests are missing".to_owned()]]);
    assert_eq!(iteration_file(&project, 1, "output.md"), "one\ntwo\n");
}

#[test]
fn the_last_messages_reach_the_session_that_is_open() {
    let project = acp_project_with(2, "", &prompts(&[json!([{"say": "heard"}])]));
    project.file(
        ".iteratr.hooks.yml",
        "version: 1\nhooks:\n  post_iteration: [{command: 'echo after {{iteration}}', pipe_output: true}]\n",
    );
    run_acp(&project, 0);
    let sent = prompts_received(&project);
    assert_eq!(sent.len(), 3, "{sent:?}");
    assert_eq!(sent[1][0], "after 1\n");
    assert_eq!(sent[2], ["after 2\n"]);
    assert_eq!(received(&project, "session/new").len(), 2);
    let delivery = run_folder(&project, "work").join("delivery.md");
    assert_eq!(std::fs::read_to_string(delivery).unwrap(), "heard\n");
}

#[test]
fn a_recovery_is_one_prompt_in_the_same_session() {
    let steps = [json!([{"fail": "out of memory"}]), json!([{"say": "I see"}])];
    let project = acp_project("", &prompts(&steps));
    project.file("good.json", &prompts(&[json!([{"say": "fine"}])]).to_string());
    project.file(
        ".iteratr.hooks.yml",
        "version: 1\nhooks:\n  pre_iteration: [{command: echo before, pipe_output: true}]\n  \
         on_error: [{command: 'cp good.json acp.json; echo look at {{error}}', pipe_output: true}]\n",
    );
    run_acp(&project, 0);
    let sent = prompts_received(&project);
    assert_eq!(sent.len(), 3, "{sent:?}");
    assert!(sent[1][0].starts_with("look at "), "{sent:?}");
    assert!(sent[1][0].contains("out of memory") && sent[1].len() == 1, "{sent:?}");
    // The next attempt has a session of its own, and the recovery is not repeated.
    assert_eq!(received(&project, "session/new").len(), 2);
    assert_eq!(sent[2], ["before\n", PROMPT]);
}

#[test]
fn the_transcript_keeps_updates_without_secrets() {
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "read", "kind": "read",
        "status": "completed", "rawInput": {"path": "x"}, "rawOutput": "hunter2-the-password"});
    let steps = json!([{"say": "it is hunter2-"}, {"say": "the-password"}, {"update": call}]);
    let project = acp_project("", &prompts(&[steps])).with("MY_API_TOKEN", "hunter2-the-password");
    run_acp(&project, 0);
    let transcript = iteration_file(&project, 1, "transcript.jsonl");
    assert!(!transcript.contains("hunter2"), "{transcript}");
    let kinds: Vec<Value> = transcript
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].clone())
        .collect();
    assert_eq!(kinds, ["prompt", "update", "update", "answer", "end"], "{transcript}");
    assert!(!iteration_file(&project, 1, "output.md").contains("hunter2"));
}

#[test]
fn files_of_an_earlier_attempt_are_kept() {
    let script =
        json!({"iterations": {"1": [[{"say": "first"}, {"fail": "no"}]]}, "prompts": [[]]});
    let project = acp_project("", &script);
    run_acp(&project, 1);
    project.file("acp.json", &prompts(&[json!([{"say": "second"}])]).to_string());
    let output = project.run(&["resume", "work"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(iteration_file(&project, 1, "attempt-1/transcript.jsonl").contains("first"));
    assert_eq!(iteration_file(&project, 1, "output.md"), "second\n");
    assert_eq!(lines(&project, "trace").len(), 0);
}

#[test]
fn context_of_a_prompt_hook_is_in_the_first_block() {
    let project = acp_project("", &prompts(&[json!([])]));
    add_hook(
        &project,
        "UserPromptSubmit",
        &json!({"hookSpecificOutput": {
            "hookEventName": "UserPromptSubmit", "additionalContext": "mind the gap",
        }}),
    );
    run_acp(&project, 0);
    assert_eq!(prompts_received(&project), [["mind the gap", PROMPT]]);
}
