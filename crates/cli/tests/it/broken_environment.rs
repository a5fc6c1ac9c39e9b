//! A state folder that cannot be made, a locked spool, a missing home, odd folders: gambrel still
//! decides, and reports the loss on stderr.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

use crate::test_project::{BASH_LS, TestProject, text};

fn assert_decides_without_state(state: &str) {
    let project = TestProject::new().with("GAMBREL_STATE_DIR", state);
    project.guard("echo no >&2; exit 2", 5);
    let output = project.run(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("\"deny\""), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("gambrel: "), "no message about {state}");
}

#[test]
fn decides_when_the_state_path_is_no_folder() {
    assert_decides_without_state("/dev/null/state");
}

#[test]
fn decides_when_the_state_folder_cannot_be_created() {
    assert_decides_without_state("/proc/gambrel");
}

#[test]
fn decides_while_the_spool_is_locked() {
    let project = TestProject::new();
    project.guard("echo no >&2; exit 2", 5);
    project.decide("claude", BASH_LS);
    let spool = project.base.join("state/spool.jsonl");
    assert!(spool.exists());
    let mut holder = std::process::Command::new("flock")
        .args(["-x", spool.to_str().unwrap(), "sleep", "30"])
        .spawn()
        .expect("flock of util-linux");
    std::thread::sleep(std::time::Duration::from_millis(300));
    let output = project.run(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(text(&output.stdout).contains("\"deny\""));
    assert!(text(&output.stderr).contains("journal"), "{}", text(&output.stderr));
}

#[test]
fn decides_without_a_home() {
    let mut project = TestProject::new();
    project.env.retain(|(name, _)| name != "HOME" && name != "GAMBREL_STATE_DIR");
    project.guard("echo no >&2; exit 2", 5);
    let output = project.run(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    assert!(text(&output.stdout).contains("\"deny\""), "{}", text(&output.stderr));
}

#[test]
fn decides_in_a_folder_whose_name_is_not_utf8() {
    let mut project = TestProject::new();
    project.root = project.base.join(OsStr::from_bytes(b"q\xff"));
    project.guard("echo no >&2; exit 2", 5);
    let module =
        "export default (pi) => pi.on('tool_call', () => ({ block: true, reason: 'no' }));\n";
    project.file(".omp/hooks/a.ts", module);
    let call =
        r#"{"type":"tool_call","toolName":"bash","toolCallId":"1","input":{"command":"ls"}}"#;
    for (from, event) in [
        (
            "claude",
            r#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"ls"}}"#,
        ),
        ("omp", call),
    ] {
        let output = project.run(&["fire", "--from", from], event.as_bytes());
        assert!(text(&output.stdout).contains("no"), "{from}: {}", text(&output.stderr));
        assert_eq!(project.decide(from, event)["ruling"], "deny");
    }
}

#[test]
fn reads_deeply_nested_events() {
    let project = TestProject::new();
    project.script("deep.py", "#!/usr/bin/env python3\nimport json, sys\njson.load(sys.stdin)\nprint('{\"x\":' + '[' * 150 + ']' * 150 + ',\"decision\":\"block\",\"reason\":\"seen\"}')\n");
    project.guard("./deep.py", 20);
    let module = "export default (pi) => pi.on('tool_call', (e) => { pi.appendEntry('saw', JSON.stringify(e).length); });\n";
    project.file(".omp/hooks/a.ts", module);
    let deep = "[".repeat(400) + &"]".repeat(400);
    let event = BASH_LS.replace("\"ls\"", &format!("\"ls\",\"x\":{deep}"));
    let decision = project.decide("claude", &event);
    assert_eq!(decision["reasons"][0]["text"], "seen", "{decision}");
    let deeper = "[".repeat(100_000) + &"]".repeat(100_000);
    let event = BASH_LS.replace("\"ls\"", &format!("\"ls\",\"x\":{deeper}"));
    let refused = project.run(&["fire", "--from", "claude", "--strict"], event.as_bytes());
    assert!(text(&refused.stdout).contains("\"deny\""), "{}", text(&refused.stderr));
}

#[test]
fn decides_in_a_deleted_folder() {
    let project = TestProject::new();
    project.guard("echo no >&2; exit 2", 5);
    let fire = format!(
        "mkdir -p gone/x; cd gone/x; rm -r ../../gone; exec '{}' fire --from claude",
        crate::test_project::program()
    );
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &fire]).env_clear().envs(project.env.clone()).current_dir(&project.root);
    shell.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    let cwd = format!("{{\"cwd\":\"{}\",", project.root.join("gone/x").display());
    let event = BASH_LS.replacen('{', &cwd, 1);
    shell.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
    let output = text(&shell.wait_with_output().unwrap().stdout);
    assert!(output.contains("\"deny\""), "{output}");
}
