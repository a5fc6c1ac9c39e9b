//! Output and exceptions of modules appear in the journal, and with `-v` on stderr.

use crate::test_project::{BASH_LS, TestProject, text};

const MODULE: &str = "export default (pi) => {
  console.log('loading');
  pi.on('tool_call', (event) => {
    console.error('asked about', event.toolName, '\\u001b[31m');
    if (event.input.command === 'ls') throw new Error('no policy file');
  });
};
";

#[test]
fn shows_module_output_in_the_journal_and_on_stderr() {
    let project = TestProject::new();
    project.file(".omp/hooks/pre/guard.ts", MODULE);
    let id = project.decide("claude", BASH_LS)["id"].as_str().unwrap().to_owned();
    let step = &project.json(&["show", &id, "--json"])["trail"][0];
    assert_eq!(step["stdout"], "loading\n");
    assert!(step["stderr"].as_str().unwrap().starts_with("asked about bash"), "{step}");
    let shown = text(&project.run(&["show", &id], b"").stdout);
    assert!(shown.contains("stdout   loading\n"), "{shown}");
    assert!(shown.contains("stderr   asked about bash"), "{shown}");

    let quiet = project.run(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    assert!(!text(&quiet.stderr).contains("loading"), "{}", text(&quiet.stderr));
    let verbose = project.run(&["fire", "--from", "claude", "-v"], BASH_LS.as_bytes());
    let stderr = text(&verbose.stderr);
    assert!(stderr.contains("guard.ts: loading\nguard.ts: asked about bash"), "{stderr}");
    assert!(!stderr.contains('\u{1b}'), "{stderr}");
    assert_eq!(verbose.stdout, quiet.stdout);
}

#[test]
fn an_exception_names_file_and_line() {
    let project = TestProject::new();
    let path = project.file(".omp/hooks/pre/guard.ts", MODULE);
    let place = format!("{}:5", path.display());
    let decision = project.decide("claude", BASH_LS);
    assert_eq!(decision["ruling"], "deny");
    assert_eq!(decision["reasons"][0]["text"], format!("no policy file ({place})"));
    // An oh-my-pi caller receives the text alone. The place is in the trail.
    let event =
        r#"{"type":"tool_call","toolName":"bash","toolCallId":"1","input":{"command":"ls"}}"#;
    let output = project.run(&["fire", "--from", "omp"], event.as_bytes());
    let reply: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reply["reason"], "no policy file");
    let why = project.decide("omp", event)["trail"][0]["why"].as_str().unwrap().to_owned();
    assert!(why.contains(&place), "{why}");
    // At other events only the trail reports it.
    let other = MODULE
        .replace("tool_call", "before_agent_start")
        .replace("event.input.command === 'ls'", "true");
    project.file(".omp/hooks/pre/guard.ts", &other);
    let prompt = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"hi"}"#;
    let decision = project.decide("claude", prompt);
    let why = decision["trail"][0]["why"].as_str().unwrap();
    assert_eq!(decision["ruling"], "silent");
    assert!(why.contains(&format!("no policy file ({place})")), "{why}");
}

/// The hook, a child of gambrel, sees where gambrel's stdout goes meanwhile.
#[test]
fn stdout_is_set_apart_only_for_events_that_modules_receive() {
    const LINKS: &str = "for n in 1 2; do readlink /proc/$PPID/fd/$n; done > links";
    let project = TestProject::new();
    project.file(".omp/hooks/pre/guard.ts", MODULE);
    let hooks = serde_json::json!([{"hooks": [{"type": "command", "command": LINKS}]}]);
    let settings = serde_json::json!({"hooks": {"PreToolUse": hooks, "Notification": hooks}});
    project.file(".claude/settings.json", &settings.to_string());
    let notice = r#"{"hook_event_name":"Notification","session_id":"s","message":"m"}"#;
    for (event, is_apart) in [(BASH_LS, true), (notice, false)] {
        project.run(&["fire", "--from", "claude"], event.as_bytes());
        let links = std::fs::read_to_string(project.root.join("links")).unwrap();
        let [stdout, stderr] = links.lines().collect::<Vec<_>>()[..] else { panic!("{links}") };
        assert_eq!(stdout == stderr, is_apart, "{event}: {links}");
    }
}
