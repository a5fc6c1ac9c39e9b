//! `guardrails: {max_cost, max_tokens}`: a stage completes when its agent has used so much.

use crate::run_fixture::{count_type, project_with_stage, run, run_to, state, trace};
use crate::test_project::{TestProject, text, wait_until};

/// A stage of at most nine iterations, each of which reports 30 tokens and 0.1 dollars.
fn project_with_limit(guardrails: &str) -> TestProject {
    let stage = format!("termination: {{type: fixed, iterations: 9}}\nguardrails: {guardrails}");
    let project = project_with_stage(&stage);
    project.script(
        "agent.sh",
        "#!/bin/sh\ncat > /dev/null\necho \"agent $STAGE $ITERATION\" >> trace\n\
         [ \"$ITERATION\" = 2 ] && [ -e hold ] && sleep 60\n\
         printf '{\"decision\":\"continue\",\"usage\":{\"input_tokens\":20,\"output_tokens\":10,\"cost_usd\":0.1}}' > \"$STATUS\"\n",
    );
    project
}

#[test]
fn completes_the_stage_at_a_limit() {
    // 0.1 + 0.1 + 0.1 is more than 0.3 in binary fractions, and 3 iterations are exactly the limit.
    for (guardrails, reason, iterations) in [
        ("{max_cost: 0.3}", "max_cost", 3),
        ("{max_cost: 0.31}", "max_cost", 4),
        ("{max_tokens: 60}", "max_tokens", 2),
        ("{max_tokens: 61}", "max_tokens", 3),
        ("{max_tokens: 1, max_cost: 100}", "max_tokens", 1),
    ] {
        let project = project_with_limit(guardrails);
        let output = run_to(&project, &["work"], 0);
        let state = state(&project, "work");
        assert_eq!(state["completion_reason"], reason, "{guardrails}: {}", text(&output.stderr));
        assert_eq!(state["history"].as_array().unwrap().len(), iterations, "{guardrails}");
    }
}

#[test]
fn counts_each_stage_alone_and_lets_a_node_replace_its_limits() {
    let project = project_with_limit("{max_tokens: 60}");
    project.file(
        "two.yaml",
        "name: two\nnodes:\n  - {id: first, stage: work}\n  \
         - {id: second, stage: work, guardrails: {max_tokens: 90}}\n",
    );
    run_to(&project, &["two.yaml", "--session", "s"], 0);
    let count = |stage: &str| trace(&project).iter().filter(|line| line.contains(stage)).count();
    assert_eq!((count("agent first"), count("agent second")), (2, 3));
    assert_eq!(state(&project, "s")["counts"]["usage"]["input_tokens"], 100);
}

#[test]
fn counts_what_was_used_before_a_kill() {
    let project = project_with_limit("{max_tokens: 90}");
    project.file("hold", "");
    let mut child = project.start(&["run", "work"], b"");
    wait_until("the second agent runs", || trace(&project).contains(&"agent work 2".to_owned()));
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_file(project.root.join("hold")).unwrap();
    let output = project.run(&["resume", "work"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(state(&project, "work")["completion_reason"], "max_tokens");
    assert_eq!(count_type(&project, "work", "iteration_complete"), 3);
}

#[test]
fn warns_of_a_limit_on_what_the_agent_does_not_report() {
    let project = project_with_stage(
        "termination: {type: fixed, iterations: 2}\nguardrails: {max_cost: 5, max_tokens: 9}",
    );
    let shown = text(&run_to(&project, &["work"], 0).stderr);
    let place = "stage.yaml:5:24: `max_cost` counts what the agent reports, and \
                 `command:./agent.sh` prints no cost (`claude -p --output-format json`";
    assert!(shown.contains(place), "{shown}");
    assert!(shown.contains("prints no tokens"), "{shown}");
    let note = "the agent reported no cost in iteration 1, so `max_cost` does not count it";
    assert!(shown.contains(note), "{shown}");

    let agents = [
        ("command:claude -p --output-format json", false, false),
        ("command:codex exec --json -", true, false),
        ("codex", true, true),
    ];
    for (agent, warns_cost, warns_tokens) in agents {
        let output = run(&project, &["work", "--agent", agent, "--dry-run"]);
        let shown = text(&output.stderr);
        assert_eq!(shown.contains("prints no cost"), warns_cost, "{agent}: {shown}");
        assert_eq!(shown.contains("prints no tokens"), warns_tokens, "{agent}: {shown}");
    }
}

#[test]
fn check_explains_wrong_limits() {
    for (guardrails, place, message) in [
        ("{max_cost: -1}", "5:24", "`max_cost` should be a number of US dollars above 0"),
        ("{max_cost: 0}", "5:24", "`max_cost` should be"),
        ("{max_cost: much}", "5:24", "`max_cost` should be"),
        ("{max_cost: .inf}", "5:24", "`max_cost` should be"),
        ("{max_cost: 1e300}", "5:24", "`max_cost` should be"),
        ("{max_tokens: 1.5}", "5:26", "`max_tokens` should be a whole number from 1"),
        ("{max_tokens: 0}", "5:26", "`max_tokens` should be"),
        ("{max_tokens: [1]}", "5:26", "`max_tokens` should be"),
        ("7", "5:13", "`guardrails` should be a map, but is a number"),
        ("{max_costs: 3}", "5:14", "unknown field `max_costs`"),
    ] {
        let project = project_with_limit(guardrails);
        let output = project.run(&["check", ".gambrel/stages/work/stage.yaml", "--json"], b"");
        let shown = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{guardrails}: {shown}");
        let report: serde_json::Value = serde_json::from_str(&shown).unwrap();
        let found = report["complaints"].as_array().unwrap();
        let found = found.iter().find(|found| found["message"].as_str().unwrap().contains(message));
        let found = found.unwrap_or_else(|| panic!("{guardrails}: {shown}"));
        assert_eq!(format!("{}:{}", found["line"], found["column"]), place, "{guardrails}");
    }
}
