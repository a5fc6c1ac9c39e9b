//! Permission requests of an agent of the Agent Client Protocol: hooks decide about each call, a
//! person answers where they ask, and the agent hears why a call was refused.

use serde_json::{Value, json};

use crate::acp_fixture::{
    RUN, acp_project, add_command, add_hook, command_call, command_to, iteration_file, lines,
    prompts, prompts_received, ruling, run_acp, run_acp_with, wait_for_question,
};
use crate::run_fixture::state;
use crate::test_project::{TestProject, text, wait_until};

/// An agent that asks once about a command.
fn asking_project(stage: &str) -> TestProject {
    acp_project(stage, &prompts(&[json!([{"ask": command_call("c1", "deploy --now")}]), json!([])]))
}

/// An agent that asks about a command without saying which.
fn blind_project() -> TestProject {
    let call = json!({"toolCallId": "c1", "kind": "execute", "title": "deploy (to production)"});
    acp_project("", &prompts(&[json!([{"ask": call}]), json!([])]))
}

#[test]
fn an_allow_chooses_the_option_by_its_kind() {
    let project = asking_project("permissions: deny");
    add_hook(&project, "PreToolUse", &ruling("allow", ""));
    run_acp(&project, 0);
    assert_eq!(lines(&project, "answers"), ["allow_once"]);
    assert_eq!(prompts_received(&project).len(), 1);
}

#[test]
fn the_agent_hears_why_a_call_was_refused() {
    let project = asking_project("");
    add_hook(&project, "PreToolUse", &ruling("deny", "production is frozen"));
    run_acp(&project, 0);
    assert_eq!(lines(&project, "answers"), ["reject_once"]);
    let sent = prompts_received(&project);
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert_eq!(sent[1], ["production is frozen"]);
}

#[test]
fn an_agent_that_is_refused_for_ever_does_not_hear_it_for_ever() {
    let project = acp_project("", &prompts(&[json!([{"ask": command_call("c1", "deploy")}])]));
    add_hook(&project, "PreToolUse", &ruling("deny", "production is frozen"));
    let output = run_acp(&project, 0);
    assert!(text(&output.stderr).contains("refused too often in one turn: production is frozen"));
    assert_eq!(prompts_received(&project).len(), 21);
}

#[test]
fn a_person_approves() {
    let project = asking_project("");
    add_hook(&project, "PreToolUse", &ruling("ask", "production is affected"));
    let run = project.start(&RUN, b"");
    let (id, ticket) = wait_for_question(&project, &[]);
    assert_eq!(ticket["title"], "shell deploy --now", "{ticket}");
    assert!(ticket.to_string().contains("production is affected"), "{ticket}");
    command_to(&project, &["approve", &id]);
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(lines(&project, "answers"), ["allow_once"]);
}

#[test]
fn a_persons_no_is_a_refusal() {
    let project = asking_project("");
    add_hook(&project, "PreToolUse", &ruling("ask", "production is affected"));
    let run = project.start(&RUN, b"");
    let (id, _) = wait_for_question(&project, &[]);
    command_to(&project, &["deny", &id, "--message", "not today"]);
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(lines(&project, "answers"), ["reject_once"]);
    assert_eq!(prompts_received(&project)[1], ["the user refuses: not today"]);
}

#[test]
fn the_plan_decides_where_no_hook_does() {
    let project = asking_project("");
    run_acp(&project, 0);
    assert_eq!(lines(&project, "answers"), ["allow_once"]);

    let project = asking_project("permissions: deny");
    run_acp(&project, 0);
    assert_eq!(lines(&project, "answers"), ["reject_once"]);
    assert_eq!(prompts_received(&project)[1], ["`permissions: deny` of the plan"]);

    let project = asking_project("permissions: ask");
    let run = project.start(&RUN, b"");
    let (id, _) = wait_for_question(&project, &[]);
    command_to(&project, &["approve", &id]);
    assert!(run.wait_with_output().unwrap().status.success());
    assert_eq!(lines(&project, "answers"), ["allow_once"]);
}

#[test]
fn updates_are_read_while_a_person_decides() {
    let call = command_call("c1", "deploy");
    let steps = json!([
        {"update": {"sessionUpdate": "tool_call", "toolCallId": "c0", "title": "read", "kind": "read",
            "status": "completed"}},
        {"ask_both": [call, command_call("c2", "publish")]},
    ]);
    let project = acp_project("permissions: ask", &prompts(&[steps]));
    add_command(&project, "PostToolUse", "touch after");
    let run = project.start(&RUN, b"");
    let (first, _) = wait_for_question(&project, &[]);
    let (second, _) = wait_for_question(&project, std::slice::from_ref(&first));
    wait_until("a hook saw the other call", || project.root.join("after").exists());
    command_to(&project, &["approve", &second]);
    command_to(&project, &["approve", &first]);
    assert!(run.wait_with_output().unwrap().status.success());
    assert_eq!(lines(&project, "answers"), ["allow_once", "allow_once"]);
}

#[test]
fn a_hook_that_waits_does_not_hold_up_what_the_agent_says() {
    let steps = json!([{"ask_both": [command_call("c1", "slow"), command_call("c2", "quick")]}]);
    let project = acp_project("", &prompts(&[steps]));
    let wait = "touch waits; until test -e go; do sleep 0.02; done";
    let command = format!("if grep -q slow; then {wait}; else touch quick-is-decided; fi");
    add_command(&project, "PreToolUse", &command);
    let run = project.start(&RUN, b"");
    wait_until("a hook waits", || project.root.join("waits").exists());
    wait_until("the other has decided", || project.root.join("quick-is-decided").exists());
    project.file("go", "");
    assert!(run.wait_with_output().unwrap().status.success());
    assert_eq!(lines(&project, "answers").len(), 2);
}

#[test]
fn hooks_decide_once_about_each_call() {
    let call = command_call("c1", "deploy");
    let steps = json!([{"ask": call}, {"ask": call}, {"ask": command_call("c2", "deploy")}]);
    let project = acp_project("", &prompts(&[steps]));
    add_command(&project, "PreToolUse", "echo fired >> fired");
    run_acp(&project, 0);
    assert_eq!(lines(&project, "answers"), ["allow_once"; 3]);
    assert_eq!(lines(&project, "fired").len(), 2);
}

#[test]
fn an_allow_holds_only_for_the_input_that_hooks_saw() {
    let steps = json!([
        {"ask": command_call("c1", "ls")},
        {"ask": command_call("c1", "deploy")},
    ]);
    let project = acp_project("", &prompts(&[steps, json!([])]));
    project.file("answer.json", &ruling("deny", "no deploys").to_string());
    add_command(&project, "PreToolUse", "if grep -q deploy; then cat answer.json; fi");
    run_acp(&project, 0);
    assert_eq!(lines(&project, "answers"), ["allow_once", "reject_once"]);

    let both = json!([{"ask_both": [command_call("c1", "ls"), command_call("c1", "deploy")]}]);
    project.file("acp.json", &prompts(&[both, json!([])]).to_string());
    std::fs::remove_file(project.root.join("answers")).unwrap();
    run_acp_with(&project, &["--fresh"], 0);
    assert_eq!(lines(&project, "answers"), ["allow_once", "reject_once"]);
}

#[test]
fn hooks_wait_for_an_input_that_comes_after_the_request() {
    let call =
        |id: &str| json!({"toolCallId": id, "kind": "other", "title": "deploy", "rawInput": {}});
    let update = |id: &str, input: Value| {
        json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "in_progress",
            "rawInput": input})
    };
    let steps = json!([
        {"ask": call("c1"), "then": update("c1", json!({"target": "production"}))},
        {"ask": call("c2"), "then": update("c2", json!({}))},
        {"ask": call("c3")},
    ]);
    let project = acp_project("", &prompts(&[steps, json!([])]));
    project.file("answer.json", &ruling("deny", "production is frozen").to_string());
    let gate =
        "cat > call; echo fired >> fired; if grep -q production call; then cat answer.json; fi";
    add_command(&project, "PreToolUse", gate);
    run_acp(&project, 0);
    assert_eq!(lines(&project, "answers"), ["reject_once", "allow_once", "allow_once"]);
    assert_eq!(lines(&project, "fired").len(), 3);
}

#[test]
fn hooks_read_the_call_in_their_own_words() {
    let edit = json!({"toolCallId": "c2", "kind": "edit", "title": "edit",
        "rawInput": {"filePath": "/a", "oldString": "x", "newString": "y"}});
    let steps = json!([{"ask": command_call("c1", "ls -l")}, {"ask": edit}]);
    let project = acp_project("", &prompts(&[steps]));
    add_command(&project, "PreToolUse", "cat >> seen; echo >> seen");
    run_acp(&project, 0);
    let seen: Vec<Value> = lines(&project, "seen")
        .iter()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((&seen[0]["tool_name"], &seen[0]["tool_use_id"]), (&json!("Bash"), &json!("c1")));
    assert_eq!(seen[0]["tool_input"]["command"], "ls -l");
    assert_eq!(seen[1]["tool_name"], "Edit");
    let input = &seen[1]["tool_input"];
    assert_eq!(
        (&input["file_path"], &input["old_string"], &input["new_string"]),
        (&json!("/a"), &json!("x"), &json!("y"))
    );
}

#[test]
fn a_call_without_its_input_is_asked_where_a_person_looks() {
    let project = blind_project().with("GAMBREL_UI", "page");
    add_hook(&project, "PreToolUse", &ruling("allow", ""));
    let run = project.start(&RUN, b"");
    let (id, ticket) = wait_for_question(&project, &[]);
    assert!(ticket.to_string().contains("does not say what the call does"), "{ticket}");
    assert!(ticket.to_string().contains("deploy (to production)"), "{ticket}");
    command_to(&project, &["approve", &id]);
    assert!(run.wait_with_output().unwrap().status.success());
    assert_eq!(lines(&project, "answers"), ["allow_once"]);
}

#[test]
fn a_call_without_its_input_is_denied_in_a_strict_run() {
    let project = blind_project().with("GAMBREL_UI", "page");
    add_hook(&project, "PreToolUse", &ruling("allow", ""));
    run_acp_with(&project, &["--strict"], 0);
    assert_eq!(lines(&project, "answers"), ["reject_once"]);
    let reason = &prompts_received(&project)[1][0];
    assert!(reason.starts_with("strict: the agent does not say"), "{reason}");
}

#[test]
fn a_call_without_its_input_is_noted_where_nobody_looks() {
    let project = blind_project().with("GAMBREL_UI", "none");
    add_hook(&project, "PreToolUse", &ruling("allow", ""));
    let output = run_acp(&project, 0);
    assert!(text(&output.stderr).contains("nobody can be asked"), "{}", text(&output.stderr));
    assert_eq!(lines(&project, "answers"), ["allow_once"]);

    let default = blind_project().with("GAMBREL_UI", "none");
    add_hook(&default, "PreToolUse", &ruling("allow", ""));
    let stage = default.root.join(".gambrel/stages/work/stage.yaml");
    let written = std::fs::read_to_string(&stage).unwrap();
    std::fs::write(&stage, format!("{written}permissions: deny\n")).unwrap();
    run_acp(&default, 0);
    assert_eq!(lines(&default, "answers"), ["reject_once"]);

    let denied = blind_project().with("GAMBREL_UI", "none");
    add_hook(&denied, "PreToolUse", &ruling("deny", "no commands"));
    run_acp(&denied, 0);
    assert_eq!(lines(&denied, "answers"), ["reject_once"]);
}

#[test]
fn a_halt_cancels_every_open_request() {
    let steps = json!([{"ask_both": [command_call("c1", "open"), command_call("c2", "halting")]}]);
    let project = acp_project("", &prompts(&[steps]));
    let halt = json!({"continue": false, "stopReason": "the budget is used up"});
    project.file("halt.json", &halt.to_string());
    project.file("ask.json", &ruling("ask", "").to_string());
    // The first question is open before the other call stops the run.
    let command = "if grep -q halting; then until test -e open; do sleep 0.02; done; cat halt.json; \
                   else cat ask.json; fi";
    add_command(&project, "PreToolUse", command);
    let run = project.start(&RUN, b"");
    let (id, _) = wait_for_question(&project, &[]);
    project.file("open", "");
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert_eq!(lines(&project, "answers"), ["cancelled", "cancelled"]);
    assert!(state(&project, "work")["error"]["message"].to_string().contains("budget is used up"));
    assert_eq!(project.run(&["approve", &id], b"").status.code(), Some(1));
}

#[test]
fn a_halt_in_the_final_delivery_fails_the_run() {
    let ask = json!([{"ask": command_call("c1", "deploy")}]);
    let project = acp_project("", &prompts(&[json!([]), ask]));
    project.file(
        ".iteratr.hooks.yml",
        "version: 1\nhooks:\n  post_iteration: [{command: echo after, pipe_output: true}]\n",
    );
    add_hook(&project, "PreToolUse", &json!({"continue": false, "stopReason": "no more"}));
    run_acp(&project, 1);
    assert_eq!(lines(&project, "answers"), ["cancelled"]);
    assert!(state(&project, "work")["error"]["message"].to_string().contains("no more"));
}

#[test]
fn hooks_see_how_a_call_ended() {
    let update = |id: &str, status: &str, output: &str| {
        json!({"update": {"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status,
            "rawOutput": output}})
    };
    let begin = json!({"update": {"sessionUpdate": "tool_call", "toolCallId": "c1", "kind": "execute",
        "title": "bash", "status": "pending", "rawInput": {"command": "make"}}});
    let steps = json!([
        begin, {"ask": command_call("c1", "make")}, update("c1", "completed", "built it"),
        update("c1", "completed", "built it twice"),
        {"ask": command_call("c2", "test")}, update("c2", "failed", "2 failed"),
        {"ask": command_call("c3", "refused")}, update("c3", "failed", "rejected"),
    ]);
    let project = acp_project("", &prompts(&[steps, json!([])]));
    project.file("answer.json", &ruling("deny", "no").to_string());
    add_command(&project, "PreToolUse", "if grep -q refused; then cat answer.json; fi");
    add_command(&project, "PostToolUse", "cat >> after; echo >> after");
    add_command(&project, "PostToolUseFailure", "cat >> failed; echo >> failed");
    run_acp(&project, 0);
    let (after, failed) = (lines(&project, "after").join(""), lines(&project, "failed").join(""));
    assert!(after.contains("built it") && after.contains("make"), "{after}");
    assert!(!after.contains("twice"), "{after}");
    // A call that was refused did not run, so it did not fail either.
    assert!(failed.contains("2 failed") && !failed.contains("rejected"), "{failed}");
    assert_eq!(lines(&project, "answers"), ["allow_once", "allow_once", "reject_once"]);
}

#[test]
fn options_that_decide_about_later_calls_are_not_chosen() {
    for (answer, options) in [("deny", "allow_once"), ("allow", "reject_once")] {
        let ask =
            json!({"ask": command_call("c1", "deploy"), "options": ["allow_always", options]});
        let project = acp_project("", &prompts(&[json!([ask]), json!([])]));
        add_hook(&project, "PreToolUse", &ruling(answer, "why"));
        let output = run_acp(&project, 0);
        assert_eq!(lines(&project, "answers"), ["cancelled"], "{answer}");
        assert!(text(&output.stderr).contains("the agent offers no option"), "{answer}");
    }
}

#[test]
fn methods_that_are_not_offered_are_refused() {
    let steps = json!([{"request": "fs/read_text_file"}, {"say": "never mind"}]);
    let project = acp_project("", &prompts(&[steps]));
    run_acp(&project, 0);
    assert_eq!(lines(&project, "answers"), ["-32601"]);
    assert_eq!(iteration_file(&project, 1, "output.md"), "never mind\n");
}
