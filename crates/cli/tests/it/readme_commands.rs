//! The README matches the commands: the printed demo, and a quick start that blocks.

use std::process::Command;

use crate::test_project::{TestProject, text};

fn readme() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap()
}

/// The text of the first fenced block with this language after a heading.
fn block(readme: &str, heading: &str, language: &str) -> String {
    let section = readme.split(&format!("\n## {heading}\n")).nth(1).unwrap();
    let mut lines = section.lines();
    let fence = lines.find(|line| line.trim() == format!("```{language}")).unwrap();
    // A block inside a list is indented as a whole.
    let indent = &fence[..fence.len() - fence.trim_start().len()];
    let lines = lines.take_while(|line| line.trim() != "```");
    lines.map(|line| format!("{}\n", line.strip_prefix(indent).unwrap_or(line))).collect()
}

#[test]
fn the_demo_fires_hooks_of_every_dialect() {
    let project = TestProject::new();
    let output = project.run(&["demo"], b"");
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(printed.contains("\"permissionDecision\":\"deny\""), "{printed}");
    for dialect in ["claude", "teams", "iteratr", "unified"] {
        let fired =
            printed.lines().any(|l| l.trim_start().starts_with(dialect) && l.contains("exited"));
        assert!(fired, "{dialect}: {printed}");
    }
}

#[test]
fn the_readme_shows_the_demo_as_it_is() {
    let shown = block(&readme(), "Demo", "console");
    let shown = shown.strip_prefix("$ cargo run -- demo\n").unwrap();
    let printed = text(&TestProject::new().run(&["demo"], b"").stdout);
    assert!(shown.contains("rm -rf") && shown.contains("ruling: deny"), "{shown}");
    for (shown, printed) in shown.lines().zip(printed.lines()) {
        assert_eq!(shown, printed);
    }
    assert!(readme().contains("cargo xtask test"));
}

#[test]
fn the_quick_start_blocks_rm_rf() {
    let readme = readme();
    let project = TestProject::new();
    let bin = project.base.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_gambrel"), bin.join("gambrel")).unwrap();
    project.file(".gambrel/hooks.yaml", &block(&readme, "Quick start", "yaml"));
    for step in ["gambrel install claude", "gambrel trust --all"] {
        assert!(readme.contains(step), "{step}");
        let path = format!("{}:/usr/bin:/bin", bin.display());
        // The answer that a user types at the prompt of `trust`.
        let yes = if step.contains("trust") { " --yes" } else { "" };
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{step}{yes}")]).current_dir(&project.root);
        let output = command.env_clear().envs(project.env.clone()).env("PATH", path).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{step}: {}", text(&output.stderr));
    }
    let project = project.with("GAMBREL_TRUST", "store");
    let event = br#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"rm -rf build"}}"#;
    let reply = text(&project.run(&["fire", "--from", "claude", "--hosted"], event).stdout);
    assert!(reply.contains("\"deny\"") && reply.contains("rm -rf is not for agents"), "{reply}");
}
