//! What a module prints, and where it throws, can be found: in the journal, with `-v` on stderr.

use crate::ground::{BASH_LS, Ground, text};

const MODULE: &str = "export default (pi) => {
  console.log('loading');
  pi.on('tool_call', (event) => {
    console.error('asked about', event.toolName, '\\u001b[31m');
    if (event.input.command === 'ls') throw new Error('no policy file');
  });
};
";

#[test]
fn in_the_journal_and_with_v_on_stderr() {
    let ground = Ground::new();
    ground.file(".omp/hooks/pre/guard.ts", MODULE);
    let id = ground.decide("claude", BASH_LS)["id"].as_str().unwrap().to_owned();
    let step = &ground.json(&["show", &id, "--json"])["trail"][0];
    assert_eq!(step["stdout"], "loading\n");
    assert!(step["stderr"].as_str().unwrap().starts_with("asked about bash"), "{step}");
    let shown = text(&ground.run(&["show", &id], b"").stdout);
    assert!(shown.contains("stdout   loading\n"), "{shown}");
    assert!(shown.contains("stderr   asked about bash"), "{shown}");

    let quiet = ground.run(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    assert!(!text(&quiet.stderr).contains("loading"), "{}", text(&quiet.stderr));
    let verbose = ground.run(&["fire", "--from", "claude", "-v"], BASH_LS.as_bytes());
    let said = text(&verbose.stderr);
    assert!(said.contains("guard.ts: loading\nguard.ts: asked about bash"), "{said}");
    assert!(!said.contains('\u{1b}'), "{said}");
    assert_eq!(verbose.stdout, quiet.stdout);
}

#[test]
fn an_exception_names_file_and_line() {
    let ground = Ground::new();
    let path = ground.file(".omp/hooks/pre/guard.ts", MODULE);
    let place = format!("{}:5", path.display());
    let decision = ground.decide("claude", BASH_LS);
    assert_eq!(decision["ruling"], "deny");
    assert_eq!(decision["reasons"][0]["text"], format!("no policy file ({place})"));
    // In its own words for a caller that knows them; the place is in the trail.
    let event =
        r#"{"type":"tool_call","toolName":"bash","toolCallId":"1","input":{"command":"ls"}}"#;
    let output = ground.run(&["fire", "--from", "omp"], event.as_bytes());
    let reply: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reply["reason"], "no policy file");
    let why = ground.decide("omp", event)["trail"][0]["why"].as_str().unwrap().to_owned();
    assert!(why.contains(&place), "{why}");
    // Where nothing is refused it is only told.
    let other = MODULE
        .replace("tool_call", "before_agent_start")
        .replace("event.input.command === 'ls'", "true");
    ground.file(".omp/hooks/pre/guard.ts", &other);
    let prompt = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"hi"}"#;
    let decision = ground.decide("claude", prompt);
    let why = decision["trail"][0]["why"].as_str().unwrap();
    assert_eq!(decision["ruling"], "silent");
    assert!(why.contains(&format!("no policy file ({place})")), "{why}");
}
