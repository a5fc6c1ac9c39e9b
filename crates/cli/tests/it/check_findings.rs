//! `check` finds hooks that load and cannot do what their author expects: missing programs, matchers
//! that match nothing or everything, fields without effect, files of other agents.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::terminal_screen::TerminalProgram;
use crate::test_project::{TestProject, text};

/// Severity and message, with the help, of each complaint.
fn findings(project: &TestProject, args: &[&str]) -> (Option<i32>, Vec<String>) {
    let output = project.run(&[&["check", "--json"], args].concat(), b"");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let show = |c: &Value| {
        let part = |key: &str| c[key].as_str().unwrap_or_default().to_owned();
        format!("{}: {} ({})", part("severity"), part("message"), part("help"))
    };
    (output.status.code(), report["complaints"].as_array().unwrap().iter().map(show).collect())
}

fn claude_hook(event: &str, matcher: &str, handler: &Value) -> TestProject {
    let project = TestProject::new();
    let settings = json!({"hooks": {event: [{"matcher": matcher, "hooks": [handler]}]}});
    project.file(".claude/settings.json", &settings.to_string());
    project
}

fn command_hook(command: &str) -> TestProject {
    claude_hook("PreToolUse", "Bash", &json!({"type": "command", "command": command}))
}

fn assert_found(project: &TestProject, severity: &str, parts: &[&str]) {
    let (code, found) = findings(project, &[]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(severity), "{found:?}");
    assert!(parts.iter().all(|part| found[0].contains(part)), "{parts:?}: {found:?}");
    assert_eq!(code, Some(i32::from(severity != "note")));
}

fn assert_clean(project: &TestProject) {
    assert_eq!(findings(project, &[]), (Some(0), Vec::new()));
}

#[test]
fn finds_missing_scripts() {
    for command in [
        "./guard.sh",
        "sh hooks/guard.sh",
        "\"$CLAUDE_PROJECT_DIR\"/guard.sh",
        "exec ./guard.sh | cat",
    ] {
        let name = if command.contains("hooks/") { "hooks/guard.sh" } else { "guard.sh" };
        let message = format!("there is no file {name}: this hook fails every time");
        assert_found(&command_hook(command), "error", &[&message]);
    }
    let project = TestProject::new();
    project.file(
        ".gambrel/hooks.yaml",
        "hooks:\n  on_error:\n    - {type: shell, command: ./note.sh}\n",
    );
    assert_found(&project, "error", &["there is no file note.sh"]);
    // Nothing is said where the text has to be evaluated, or tests for the file itself.
    assert_clean(&command_hook("[ -x ./guard.sh ] && ./guard.sh"));
    assert_clean(&command_hook("./guard.sh 2>/dev/null || sh guard.sh"));
    assert_clean(&command_hook("if true; then ./guard.sh; fi"));
}

#[test]
fn finds_scripts_that_are_not_executable() {
    let project = command_hook("./guard.sh");
    let path = project.script("guard.sh", "#!/bin/sh\nexit 0\n");
    assert_clean(&project);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_found(&project, "error", &["guard.sh is not executable", "chmod +x guard.sh"]);
    // An interpreter only reads it.
    let project = command_hook("sh guard.sh");
    project.file("guard.sh", "exit 0\n");
    assert_clean(&project);
}

#[test]
fn finds_programs_that_are_not_installed() {
    assert_found(&command_hook("jqqq -r .x"), "warning", &["`jqqq` is not on the PATH"]);
    assert_clean(&command_hook("cat > /dev/null"));
    assert_clean(&command_hook("exit 0"));
    assert_clean(&command_hook("umask 022; exec cat"));
    let exec = json!({"type": "command", "command": "no-such-linter", "args": ["--fix"]});
    assert_found(
        &claude_hook("Stop", "", &exec),
        "warning",
        &["`no-such-linter` is not on the PATH"],
    );
}

#[test]
fn finds_matchers_that_match_nothing_or_everything() {
    let of = |matcher: &str| {
        claude_hook("PreToolUse", matcher, &json!({"type": "command", "command": "true"}))
    };
    assert_found(&of("bash"), "warning", &["`bash`", "did you mean `Bash`?"]);
    assert_found(
        &of("Bash(rm *)"),
        "warning",
        &["matches no known tool", "\"if\": \"Bash(rm *)\""],
    );
    assert_found(&of("tool == \"Bash\" && x"), "warning", &["belongs in \"if\""]);
    assert_found(&of("Bash.* || Write"), "warning", &["matches every tool"]);
    assert_found(&of("CustomTool"), "note", &["no known tool is called `CustomTool`"]);
    assert_clean(&of("Bash|Edit|mcp__memory__.*"));
    // A firing does not look for them.
    let project = of("bash");
    assert_eq!(project.decide("claude", crate::test_project::BASH_LS)["complaints"], json!([]));
}

#[test]
fn finds_fields_and_answers_without_effect() {
    let once = json!({"type": "command", "command": "true", "once": true});
    assert_found(&claude_hook("Stop", "", &once), "warning", &["`once` has no effect here"]);
    let answer = "echo '{\"permissionDecision\":\"deny\"}'";
    let expected = "counts only inside `hookSpecificOutput`";
    assert_found(&command_hook(answer), "warning", &[expected]);
    let project = command_hook("./guard.sh");
    project.script("guard.sh", &format!("#!/bin/sh\n{answer}\n"));
    assert_found(&project, "warning", &[expected]);
    let right = "{\"hookSpecificOutput\":{\"permissionDecision\":\"deny\"}}";
    project.script("guard.sh", &format!("#!/bin/sh\necho '{right}'\n"));
    assert_clean(&project);
}

#[test]
fn names_files_of_other_agents() {
    let project = TestProject::new();
    let files = [
        (".cursor/hooks.json", "Cursor", r#"{"version":1,"hooks":{"stop":[{"command":"x"}]}}"#),
        (".gemini/settings.json", "Gemini CLI", r#"{"hooks":{"BeforeTool":[]}}"#),
        (".github/hooks/a.json", "Copilot CLI", r#"{"version":1,"hooks":{"preToolUse":[]}}"#),
    ];
    for (path, product, content) in files {
        project.file(path, content);
        let (code, found) = findings(&project, &[path]);
        assert_eq!((code, found.len()), (Some(0), 1), "{path}: {found:?}");
        assert!(found[0].starts_with(&format!("note: hooks of {product}")), "{found:?}");
    }
    let (code, found) = findings(&project, &[]);
    assert_eq!((code, found.len()), (Some(0), 3), "{found:?}");
    let other = project.file("elsewhere.json", r#"{"hooks":{"beforeShellExecution":[]}}"#);
    let (_, found) = findings(&project, &[other.to_str().unwrap()]);
    assert!(found[0].contains("Cursor") && found.len() == 1, "{found:?}");
}

#[test]
fn folds_equal_complaints() {
    let project = TestProject::new();
    let hook = json!({"hooks": [{"type": "command", "command": "./gone.sh"}]});
    let settings = json!({"hooks": {"Stop": [hook], "SessionEnd": [hook], "Notification": [hook]}});
    project.file(".claude/settings.json", &format!("{settings:#}"));
    let output = project.run(&["check", "--color=never"], b"");
    let printed = text(&output.stdout);
    assert_eq!(printed.matches("there is no file gone.sh").count(), 1, "{printed}");
    let places = printed.lines().find(|line| line.contains("the same at line ")).unwrap();
    assert_eq!(places.matches("line ").count(), 2, "{printed}");
    assert!(printed.ends_with("3 hooks, 3 errors, 0 warnings, 0 notes\n"), "{printed}");
    assert_eq!(findings(&project, &[]).1.len(), 3, "JSON lists each place");
}

/// Settings are often one long line. A mark below a wrapped line would point nowhere.
#[test]
fn cuts_source_lines_to_the_terminal() {
    let project = TestProject::new();
    let fine = json!({"type": "command", "command": format!("echo {}", "word ".repeat(30))});
    let gone = json!({"type": "command", "command": "./gone.sh --with some --more arguments"});
    let settings = json!({"hooks": {"PreToolUse": [{"hooks": [fine, gone, fine]}]}});
    project.file(".claude/settings.json", &settings.to_string());
    let mut check = TerminalProgram::start(&project, &["check"], (80, 24));
    assert_eq!(check.wait().code(), Some(1));
    check.wait_for("1 error");
    let lines = check.lines();
    let source = lines.iter().position(|line| line.starts_with("1 | ")).unwrap();
    let marks = &lines[source + 1];
    assert!(marks.starts_with("  | ") && marks.contains("^^^"), "{lines:#?}");
    let at = marks.find('^').unwrap();
    assert!(
        lines[source][at..].starts_with("{\"type\":\"command\",\"command\":\"./gone.sh"),
        "{lines:#?}"
    );
}

#[test]
fn suggests_the_nearest_event() {
    for (written, nearest) in [
        ("PreToolCall", "PreToolUse"),
        ("pre_tool_use", "PreToolUse"),
        ("beforeSubmitPrompt", "UserPromptSubmit"),
        ("Stopp", "Stop"),
    ] {
        let project = claude_hook(written, "", &json!({"type": "command", "command": "true"}));
        let (_, found) = findings(&project, &[]);
        assert!(found[0].contains(&format!("did you mean `{nearest}`?")), "{found:?}");
    }
}

#[test]
fn gives_a_reason_where_an_error_has_no_message() {
    let project = TestProject::new();
    project.file(".omp/hooks/pre/a.ts", "throw new Error();\n");
    assert_found(&project, "error", &["it threw an error without a message"]);
    project.file(
        ".omp/hooks/pre/a.ts",
        "export default (pi) => pi.on('tool_call', () => { throw new Error(); });\n",
    );
    let decision = project.decide("claude", crate::test_project::BASH_LS);
    let reason = decision["reasons"][0]["text"].as_str().unwrap();
    assert!(reason.starts_with("an error without a message ("), "{reason}");
    project.file(
        ".omp/hooks/pre/a.ts",
        "export default (pi) => pi.on('tool_call', () => { throw ''; });\n",
    );
    let decision = project.decide("claude", crate::test_project::BASH_LS);
    let reason = decision["reasons"][0]["text"].as_str().unwrap();
    assert_eq!(reason, "Hook failed, blocking execution: an error without a message");
    std::fs::remove_file(project.root.join(".omp/hooks/pre/a.ts")).unwrap();
    let rule = "{block: ls, fact: TOOL_COMMAND, message: ''}";
    project.file(".gambrel/hooks.yaml", &format!("hooks:\n  on_tool_before: [{{rule: {rule}}}]\n"));
    let decision = project.decide("claude", crate::test_project::BASH_LS);
    assert_eq!(decision["reasons"][0]["text"], "`ls` is not allowed here (rule `ls`)");
    let slow = "{type: shell, command: sleep 9, await: true, timeout: 1, on_failure: abort}";
    project.file(".gambrel/hooks.yaml", &format!("hooks:\n  on_tool_before: [{slow}]\n"));
    let decision = project.decide("claude", crate::test_project::BASH_LS);
    assert_eq!(decision["reasons"][0]["text"], "`sleep 9` failed: not done after 1 second");
}
