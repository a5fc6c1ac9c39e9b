//! A full disk, a locked ledger, a home that cannot be written: the decision is still made, and
//! the loss is said on stderr.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

use crate::ground::{BASH_LS, Ground, text};

fn decides_without(state: &str) {
    let ground = Ground::new().with("GAMBREL_STATE_DIR", state);
    ground.guard("echo no >&2; exit 2", 5);
    let output = ground.run(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("\"deny\""), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("gambrel: "), "nothing was said of {state}");
}

#[test]
fn a_state_folder_that_is_no_folder() {
    decides_without("/dev/null/state");
}

#[test]
fn a_state_folder_that_cannot_be_made() {
    decides_without("/proc/gambrel");
}

#[test]
fn a_ledger_that_somebody_has_locked() {
    let ground = Ground::new();
    ground.guard("echo no >&2; exit 2", 5);
    ground.decide("claude", BASH_LS);
    let spool = ground.base.join("state/spool.jsonl");
    assert!(spool.exists());
    let mut holder = std::process::Command::new("flock")
        .args(["-x", spool.to_str().unwrap(), "sleep", "30"])
        .spawn()
        .expect("flock of util-linux");
    std::thread::sleep(std::time::Duration::from_millis(300));
    let output = ground.run(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(text(&output.stdout).contains("\"deny\""));
    assert!(text(&output.stderr).contains("journal"), "{}", text(&output.stderr));
}

#[test]
fn no_home_at_all() {
    let mut ground = Ground::new();
    ground.env.retain(|(name, _)| name != "HOME" && name != "GAMBREL_STATE_DIR");
    ground.guard("echo no >&2; exit 2", 5);
    let output = ground.run(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    assert!(text(&output.stdout).contains("\"deny\""), "{}", text(&output.stderr));
}

#[test]
fn a_folder_whose_name_is_no_text() {
    let mut ground = Ground::new();
    ground.root = ground.base.join(OsStr::from_bytes(b"q\xff"));
    ground.guard("echo no >&2; exit 2", 5);
    let module =
        "export default (pi) => pi.on('tool_call', () => ({ block: true, reason: 'no' }));\n";
    ground.file(".omp/hooks/a.ts", module);
    let call =
        r#"{"type":"tool_call","toolName":"bash","toolCallId":"1","input":{"command":"ls"}}"#;
    for (from, event) in [
        (
            "claude",
            r#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"ls"}}"#,
        ),
        ("omp", call),
    ] {
        let output = ground.run(&["fire", "--from", from], event.as_bytes());
        assert!(text(&output.stdout).contains("no"), "{from}: {}", text(&output.stderr));
        assert_eq!(ground.decide(from, event)["ruling"], "deny");
    }
}

#[test]
fn an_event_that_is_nested_deeply() {
    let ground = Ground::new();
    ground.script("deep.py", "#!/usr/bin/env python3\nimport json, sys\njson.load(sys.stdin)\nprint('{\"x\":' + '[' * 150 + ']' * 150 + ',\"decision\":\"block\",\"reason\":\"seen\"}')\n");
    ground.guard("./deep.py", 20);
    let module = "export default (pi) => pi.on('tool_call', (e) => { pi.appendEntry('saw', JSON.stringify(e).length); });\n";
    ground.file(".omp/hooks/a.ts", module);
    let deep = "[".repeat(400) + &"]".repeat(400);
    let event = BASH_LS.replace("\"ls\"", &format!("\"ls\",\"x\":{deep}"));
    let decision = ground.decide("claude", &event);
    assert_eq!(decision["reasons"][0]["text"], "seen", "{decision}");
    let deeper = "[".repeat(100_000) + &"]".repeat(100_000);
    let event = BASH_LS.replace("\"ls\"", &format!("\"ls\",\"x\":{deeper}"));
    let refused = ground.run(&["fire", "--from", "claude", "--strict"], event.as_bytes());
    assert!(text(&refused.stdout).contains("\"deny\""), "{}", text(&refused.stderr));
}

#[test]
fn a_folder_that_was_deleted_under_us() {
    let ground = Ground::new();
    ground.guard("echo no >&2; exit 2", 5);
    let fire = format!(
        "mkdir -p gone/x; cd gone/x; rm -r ../../gone; exec '{}' fire --from claude",
        env!("CARGO_BIN_EXE_gambrel")
    );
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &fire]).env_clear().envs(ground.env.clone()).current_dir(&ground.root);
    shell.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    let cwd = format!("{{\"cwd\":\"{}\",", ground.root.join("gone/x").display());
    let event = BASH_LS.replacen('{', &cwd, 1);
    shell.stdin.take().unwrap().write_all(event.as_bytes()).unwrap();
    let told = text(&shell.wait_with_output().unwrap().stdout);
    assert!(told.contains("\"deny\""), "{told}");
}
