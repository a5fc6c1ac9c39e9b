//! Help, completions and the manual page of every command.

use crate::test_project::{TestProject, text};

#[test]
fn every_command_has_help() {
    let project = TestProject::new();
    let help = text(&project.run(&["--help"], b"").stdout);
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let (commands, _) = commands.split_once("\n\n").unwrap();
    let commands = commands.lines().filter_map(|line| line.split_whitespace().next());
    let commands: Vec<&str> = commands.filter(|command| *command != "help").collect();
    assert!(commands.len() > 30, "{help}");
    for command in commands {
        let own = project.run(&[command, "--help"], b"");
        assert_eq!(own.status.code(), Some(0));
        assert!(text(&own.stdout).contains("Usage"), "{command}");
    }
    assert!(!help.contains("__watchdog"), "{help}");
}

#[test]
fn a_missing_word_is_named_with_its_choices() {
    let project = TestProject::new();
    for (command, choices) in
        [("init", "hooks|claude|omp|pipeline"), ("schema", "claude|unified|pipeline|stage")]
    {
        let output = project.run(&[command], b"");
        assert_eq!(output.status.code(), Some(64), "{command}");
        assert!(text(&output.stderr).contains(choices), "{}", text(&output.stderr));
        for choice in choices.split('|') {
            let output = project.run(&[command, choice, "--help"], b"");
            assert_eq!(output.status.code(), Some(0), "{command} {choice}");
        }
    }
}

/// Options stay on one line each, so that the help of a command fits a screen.
#[test]
fn help_is_short() {
    let project = TestProject::new();
    for command in ["log", "show", "replay", "list", "check", "approvals", "tail", "report"] {
        let help = text(&project.run(&[command, "--help"], b"").stdout);
        assert!(help.lines().count() <= 34, "{command}: {help}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{command}: {help}");
    }
    let help = text(&project.run(&["list", "--help"], b"").stdout);
    assert!(help.contains("always or never"), "{help}");
    assert!(help.contains("that you trusted (store), all or none"), "{help}");
}

#[test]
fn completions_are_printed_for_shells() {
    let project = TestProject::new();
    for shell in ["bash", "zsh", "fish"] {
        let output = project.run(&["completions", shell], b"");
        assert!(text(&output.stdout).contains("gambrel"), "{shell}");
    }
}

#[test]
fn prints_a_manual_page() {
    let project = TestProject::new();
    let output = project.run(&["man"], b"");
    assert!(text(&output.stdout).contains(".TH"));
}

#[test]
fn doctor_reports_every_part() {
    let project = TestProject::new();
    let parts = project.json(&["doctor", "--json"]);
    let names: Vec<&str> =
        parts.as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    for part in
        ["ledger", "hooks", "trust", "sh", "bash", "node", "bun", "sandbox", "callback port"]
    {
        assert!(names.contains(&part), "{part}: {names:?}");
    }
}

#[test]
fn doctor_reports_how_processes_are_ended() {
    let parts = TestProject::new().json(&["doctor", "--json"]);
    let part = parts.as_array().unwrap().iter().find(|p| p["name"] == "processes").unwrap();
    let what = part["what"].as_str().unwrap();
    for way in ["by the kernel", "watchdog after 50 ms", "next start", "/proc", "isolate is off"] {
        assert!(what.contains(way), "{way}: {what}");
    }
    assert!(what.len() <= 200, "cut off in the table: {what}");
}

#[test]
fn the_first_help_example_works() {
    let project = TestProject::new().with("COLUMNS", "40");
    project.guard("echo no >&2; exit 2", 5);
    let help = text(&project.run(&["--help"], b"").stdout);
    let example = help.split_once("Examples:\n").unwrap().1.split_once("  gambrel list").unwrap().0;
    let line =
        example.replace("gambrel fire", &format!("'{}' fire", crate::test_project::program()));
    let output = std::process::Command::new("sh")
        .args(["-c", &line])
        .current_dir(&project.root)
        .env_clear()
        .envs(project.env.iter().map(|(name, value)| (name, value)))
        .output()
        .unwrap();
    assert!(text(&output.stdout).contains("\"deny\""), "{line}: {}", text(&output.stderr));
}

#[test]
fn colours_help_only_on_request() {
    let project = TestProject::new();
    for (args, coloured) in [
        (["--color", "never", "--help"], false),
        (["--color=never", "list", "--help"], false),
        (["--color", "always", "--help"], true),
    ] {
        let seen = std::process::Command::new("script")
            .args(["-qec", &format!("'{}' {}", crate::test_project::program(), args.join(" "))])
            .arg("/dev/null")
            .current_dir(&project.root)
            .output()
            .unwrap();
        assert_eq!(text(&seen.stdout).contains('\u{1b}'), coloured, "{args:?}");
    }
}

#[test]
fn explain_documents_its_json() {
    let help = text(&TestProject::new().run(&["explain", "--help"], b"").stdout);
    assert!(help.contains("\"hooks\"") && !help.contains("exits 0"), "{help}");
}

#[test]
fn doctor_counts_mistakes() {
    let project = TestProject::new();
    project.file(".claude/settings.json", "{\"hooks\": 5}");
    let shown = text(&project.run(&["doctor"], b"").stdout);
    assert!(shown.contains("0 found, 1 error: run `gambrel check`"), "{shown}");
    assert!(shown.contains("0 entries"), "{shown}");
}
