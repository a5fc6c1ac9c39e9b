//! `test` runs cases for the hooks of a project in folders of their own, and shows what differs.

use std::path::Path;

use serde_json::Value;

use crate::test_project::{TestProject, text};

const GUARD: &str =
    "#!/bin/sh\ngrep -q 'rm -rf' && { echo 'no recursive rm' >&2; exit 2; }\ntouch ran; exit 0\n";

/// A project with a guard, and a file with these cases.
fn project_with_cases(cases: &str) -> TestProject {
    let project = TestProject::new();
    project.guard("\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/guard.sh", 5);
    project.script(".claude/hooks/guard.sh", GUARD);
    project.file(".gambrel/tests/guard.case.yaml", &format!("cases:\n{cases}"));
    project
}

fn run_tests(project: &TestProject, args: &[&str]) -> (Option<i32>, String) {
    let output = project.run(&[&["test"], args].concat(), b"");
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

fn command_case(name: &str, command: &str, expect: &str) -> String {
    let fire = format!(
        "{{from: claude, event: PreToolUse, with: {{tool_input: {{command: {command}}}}}}}"
    );
    format!("  - name: {name}\n    fire: {fire}\n    expect: {expect}\n")
}

#[test]
fn passes_and_fails() {
    let cases = command_case("denies rm", "rm -rf x", "{ruling: deny, reasons: [no recursive]}")
        + &command_case(
            "lets ls pass",
            "ls",
            "{ruling: silent, ran: [guard.sh], files: {ran: \"\"}}",
        );
    let project = project_with_cases(&cases);
    let (code, shown) = run_tests(&project, &[]);
    let expected = ".gambrel/tests/guard.case.yaml\n  ok    denies rm\n  ok    lets ls pass\n2 cases: 2 passed, 0 failed\n";
    assert_eq!((code, shown.as_str()), (Some(0), expected));
    assert!(!project.root.join("ran").exists(), "the hooks ran in a copy");

    project.script(".claude/hooks/guard.sh", "#!/bin/sh\nexit 0\n");
    let (code, shown) = run_tests(&project, &[]);
    assert_eq!(code, Some(1));
    assert!(shown.ends_with("2 cases: 0 passed, 2 failed\n"), "{shown}");
    assert!(shown.contains("expected  deny\n            observed  silent\n"), "{shown}");
    assert!(shown.contains("there is no such file"), "{shown}");
}

#[test]
fn shows_differences_line_by_line() {
    let expect = "{reply: {json: {hookSpecificOutput: {hookEventName: PreToolUse, permissionDecision: ask}}}, reasons: [one, two]}";
    let project = project_with_cases(&command_case("asks", "rm -rf x", expect));
    let (_, shown) = run_tests(&project, &[]);
    for line in [
        "            - one\n            - two\n            + no recursive rm\n",
        "            -     \"permissionDecision\": \"ask\"\n",
        "            +     \"permissionDecisionReason\": \"no recursive rm\"\n",
        "          hooks\n            ",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let report = project.json(&["test", "--json"]);
    assert_eq!(report["failed"], 1);
    let step = &report["cases"][0]["steps"][0];
    assert_eq!(step["event"], "PreToolUse from claude");
    assert_eq!(step["differences"][0]["what"], "reasons", "{step}");
}

/// After a rewrite the other gates run again on the new input.
#[test]
fn marks_hooks_that_ran_again() {
    let project = project_with_cases(&command_case("denies", "git push --force", "{ruling: deny}"));
    let answer = serde_json::json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
        "permissionDecision": "allow", "updatedInput": {"command": "git push"}}});
    project.script(".claude/hooks/guard.sh", &format!("#!/bin/sh\ncat <<'E'\n{answer}\nE\n"));
    let hook = |command: &str| serde_json::json!({"type": "command", "command": command});
    let hooks = [hook("\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/guard.sh"), hook("exit 0")];
    let settings = serde_json::json!({"hooks": {"PreToolUse": [{"hooks": hooks}]}});
    project.file(".claude/settings.json", &settings.to_string());
    let (_, shown) = run_tests(&project, &[]);
    for line in [
        "            exit 0 · exited 0 · silent\n",
        "            exit 0 (again) · exited 0 · silent\n",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
}

#[test]
fn tests_the_hooks_of_the_project_alone() {
    let project = project_with_cases(&command_case("silent", "ls", "{ruling: silent}"));
    // A hook of the user would deny.
    let own = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"exit 2"}]}]}}"#;
    project.file("../home/.claude/settings.json", own);
    let project = project.with("SECRET_TOKEN", "abc");
    assert_eq!(project.decide("claude", crate::test_project::BASH_LS)["ruling"], "deny");
    assert_eq!(run_tests(&project, &[]).0, Some(0));
    // Variables reach hooks only if the case names them.
    project.script(".claude/hooks/guard.sh", "#!/bin/sh\n[ -z \"$SECRET_TOKEN\" ] || exit 2\n");
    assert_eq!(run_tests(&project, &[]).0, Some(0));
    let passed = "pass_env: [SECRET_TOKEN]\ncases:\n".to_owned()
        + &command_case("denied", "ls", "{ruling: deny}");
    project.file(".gambrel/tests/guard.case.yaml", &passed);
    let (code, shown) = run_tests(&project, &[]);
    assert_eq!(code, Some(0), "{shown}");
    // The firings of cases are not in the user's journal.
    let log = text(&project.run(&["log", "--json"], b"").stdout);
    assert!(!log.contains("\"sample\""), "{log}");
}

#[test]
fn stubs_stand_in_for_scripts_and_files_for_the_project() {
    let cases = "  - name: a broken guard is silent
    hooks: {.claude/hooks/guard.sh: {exit: 1, stderr: broken}}
    fire: {from: claude, event: PreToolUse, with: {tool_input: {command: rm -rf x}}}
    expect: {ruling: silent}
  - name: a missing guard is silent
    hooks: {.claude/hooks/guard.sh: {missing: true}}
    fire: {from: claude, event: PreToolUse}
    expect: {ruling: silent, ran: [guard.sh]}
  - name: other files
    files:
      .gambrel/hooks.yaml: |
        hooks:
          on_tool_before:
            - {type: rule, block: cargo, message: not cargo}
    steps:
      - fire: {from: omp, event: tool_call}
        expect: {reply: {json: {block: true, reason: not cargo}}}
      - fire: {from: omp, event: tool_call, with: {input: {command: ls}}}
        expect: {reply: {json: {}}}
";
    let project = project_with_cases(cases);
    let (code, shown) = run_tests(&project, &[]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.ends_with("3 cases: 3 passed, 0 failed\n"), "{shown}");
    let (code, shown) = run_tests(&project, &["--case", "other"]);
    assert_eq!(code, Some(0));
    assert!(shown.ends_with("1 case: 1 passed, 0 failed\n"), "{shown}");
}

#[test]
fn reports_wrong_files_with_their_place() {
    let project = project_with_cases(&command_case("x", "ls", "{rulling: deny}"));
    let (code, shown) = run_tests(&project, &[]);
    assert_eq!(code, Some(64));
    assert!(
        shown.contains("guard.case.yaml:4:14") && shown.contains("did you mean `ruling`?"),
        "{shown}"
    );
    for (args, part) in [
        (&["nowhere.case.yaml"][..], "no such file"),
        (&["--case", "nothing", "ok.case.yaml"], "no case has `nothing` in its name"),
    ] {
        project.file("ok.case.yaml", &format!("cases:\n{}", command_case("x", "ls", "{}")));
        let (code, shown) = run_tests(&project, args);
        assert_eq!((code, shown.contains(part)), (Some(64), true), "{shown}");
    }
    let empty = TestProject::new();
    let (code, shown) = run_tests(&empty, &[]);
    assert_eq!((code, shown.contains(".gambrel/tests")), (Some(64), true), "{shown}");
    let cases = "  - {name: x, fire: {from: claude, event: PreToolCall}}\n";
    let (code, shown) = run_tests(&project_with_cases(cases), &[]);
    assert_eq!((code, shown.contains("did you mean `PreToolUse`?")), (Some(1), true), "{shown}");
    let cases = "  - {name: x, files: {../evil: a}, fire: {from: claude, event: Stop}}\n";
    let (code, shown) = run_tests(&project_with_cases(cases), &[]);
    assert_eq!((code, shown.contains("leads out of")), (Some(1), true), "{shown}");
}

#[test]
fn gives_up_on_a_firing_that_hangs() {
    let project = project_with_cases(&command_case("slow", "ls", "{ruling: silent}"));
    project.script(".claude/hooks/guard.sh", "#!/bin/sh\nsleep 600\n");
    let (code, shown) = run_tests(&project, &["--timeout", "1"]);
    assert_eq!(code, Some(1));
    assert!(shown.contains("the firing took longer than 1 s"), "{shown}");
}

#[test]
fn leaves_no_folders() {
    let project = project_with_cases(&command_case("denies rm", "rm -rf x", "{ruling: deny}"));
    let tmp = project.base.join("tmp");
    std::fs::create_dir_all(&tmp).unwrap();
    let project = project.with("TMPDIR", tmp.to_str().unwrap());
    assert_eq!(run_tests(&project, &[]).0, Some(0));
    assert_eq!(std::fs::read_dir(&tmp).unwrap().count(), 0);
}

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn the_shipped_cases_pass() {
    let folder = repository().join("examples/five-dialects");
    let project = TestProject::new();
    let report = project.json(&["-C", folder.to_str().unwrap(), "test", "--json"]);
    assert_eq!((&report["failed"], &report["skipped"]), (&0.into(), &0.into()), "{report}");
    assert!(report["passed"].as_u64().unwrap() >= 4, "{report}");
}

#[test]
fn runs_the_cases_of_the_contracts() {
    let project = TestProject::new();
    let files = [
        "claude/exits",
        "unified/rule",
        "iteratr/output",
        "omp/tool-call",
        "teams/policy",
        "crossing/from-claude",
    ];
    let paths: Vec<String> = files
        .iter()
        .map(|file| repository().join(format!("contracts/{file}.case.yaml")).display().to_string())
        .collect();
    let args: Vec<&str> =
        ["test", "--json"].into_iter().chain(paths.iter().map(String::as_str)).collect();
    let report: Value = project.json(&args);
    let failed: Vec<&Value> = report["cases"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|case| case["status"] == "failed")
        .collect();
    assert_eq!(failed, Vec::<&Value>::new());
    assert!(report["passed"].as_u64().unwrap() > 40, "{} passed", report["passed"]);
}
