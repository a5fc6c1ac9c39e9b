//! `check` prints each complaint under its source text, with help.

use crate::test_project::{TestProject, text};

fn check(project: &TestProject) -> (Option<i32>, String) {
    let output = project.run(&["check", "--color=never"], b"");
    (output.status.code(), text(&output.stdout))
}

#[test]
fn a_clean_project_exits_zero() {
    let project = TestProject::new();
    project.guard("true", 5);
    let (code, out) = check(&project);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("1 hook, no complaints"), "{out}");
}

#[test]
fn a_project_without_hooks_says_where_to_begin() {
    let (code, out) = check(&TestProject::new());
    assert_eq!(code, Some(0));
    assert_eq!(out, "0 hooks, no complaints\n`gambrel list` says where to begin\n");
}

#[test]
fn an_unknown_event_gets_a_suggestion() {
    let project = TestProject::new();
    project.file(".claude/settings.json", "{\n  \"hooks\": {\n    \"PreToolUze\": []\n  }\n}\n");
    let (code, out) = check(&project);
    assert_eq!(code, Some(1));
    assert!(out.contains("did you mean `PreToolUse`?"), "{out}");
    assert!(out.contains("settings.json:3:5"), "{out}");
    assert!(out.contains("\"PreToolUze\""), "the source line is shown: {out}");
}

#[test]
fn a_mistake_inside_a_condition_has_its_own_column() {
    let project = TestProject::new();
    let yaml = "hooks:\n  on_iteration_complete:\n    - type: shell\n      command: \"true\"\n      when: \"${ITERATION} = 2\"\n";
    project.file(".gambrel/hooks.yaml", yaml);
    let (code, out) = check(&project);
    assert_eq!(code, Some(1));
    assert!(out.contains("hooks.yaml:5:27"), "{out}");
    assert!(out.contains("=="), "{out}");
}

#[test]
fn a_timeout_with_a_unit_is_explained() {
    let project = TestProject::new();
    project.file(".iteratr.hooks.yml", "version: 1\nhooks:\n  pre_iteration:\n    - command: ls\n      timeout: 30s\n      pipe_output: true\n");
    let (code, out) = check(&project);
    assert_eq!(code, Some(1));
    assert!(out.contains("timeout is in seconds") && out.contains("5:16"), "{out}");
}

#[test]
fn unquoted_braces_are_explained() {
    let project = TestProject::new();
    project.file(".iteratr.hooks.yml", "version: 1\nhooks:\n  pre_iteration:\n    - command: {{session}}\n      pipe_output: true\n");
    let (_, out) = check(&project);
    assert!(out.contains("quote it"), "{out}");
}

#[test]
fn a_named_file_is_checked_alone() {
    let project = TestProject::new();
    project.guard("true", 5);
    project.file("other.json", "{\"hooks\": {\"Stopp\": []}}");
    let output = project.run(&["check", "other.json", "--json"], b"");
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let complaint = &report["complaints"][0];
    for key in ["file", "line", "column", "severity", "message", "help"] {
        assert!(complaint.get(key).is_some(), "{key}: {report}");
    }
    assert_eq!(complaint["line"], 1);
    assert!(complaint["help"].as_str().unwrap().contains("Stop"), "{report}");
}

#[test]
fn escapes_control_characters_in_project_text() {
    let project = TestProject::new();
    project.file(".claude/settings.json", "{\"hooks\": {\"\u{1b}[2JPreTool\": []}}");
    let (_, out) = check(&project);
    assert!(!out.contains('\u{1b}'), "{out:?}");
}

#[test]
fn shows_mistakes_in_the_users_config() {
    let project = TestProject::new();
    let wrong = "omp: {edition: extension}\nmodell: {command: x}\nhttp: {alow: [a]}\n";
    project.file("../home/.config/gambrel/config.yaml", wrong);
    let (code, out) = check(&project);
    assert_eq!(code, Some(1), "{out}");
    for (help, place) in [("extensions", "1:16"), ("model", "2:1"), ("allow", "3:8")] {
        assert!(out.contains(&format!("did you mean `{help}`?")), "{out}");
        assert!(out.contains(&format!("config.yaml:{place}")), "{out}");
    }
}

#[test]
fn shows_module_errors_at_their_source_line() {
    let project = TestProject::new();
    project.file(
        ".omp/hooks/pre/a.ts",
        "import { b } from \"../lib/b.ts\";\nexport default () => b;\n",
    );
    project
        .file(".omp/hooks/lib/b.ts", "const none = null;\n\n  none.more;\nexport const b = 1;\n");
    let (code, out) = check(&project);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("b.ts:3:3") && out.contains("3 |   none.more;"), "{out}");
}
