//! Help teaches, completions and the manual come from the same table.

use crate::ground::{Ground, text};

#[test]
fn every_command_has_help() {
    let ground = Ground::new();
    let commands = [
        "fire",
        "list",
        "explain",
        "check",
        "doctor",
        "log",
        "show",
        "trust",
        "untrust",
        "approvals",
        "approve",
        "deny",
        "serve",
        "commands",
        "command",
        "demo",
        "completions",
        "man",
    ];
    let help = text(&ground.run(&["--help"], b"").stdout);
    for command in commands {
        assert!(help.contains(command), "{command}: {help}");
        let own = ground.run(&[command, "--help"], b"");
        assert_eq!(own.status.code(), Some(0));
        assert!(text(&own.stdout).contains("Usage"), "{command}");
    }
    assert!(!help.contains("__watchdog"), "{help}");
}

#[test]
fn completions_are_printed_for_shells() {
    let ground = Ground::new();
    for shell in ["bash", "zsh", "fish"] {
        let output = ground.run(&["completions", shell], b"");
        assert!(text(&output.stdout).contains("gambrel"), "{shell}");
    }
}

#[test]
fn the_manual_is_a_manual() {
    let ground = Ground::new();
    let output = ground.run(&["man"], b"");
    assert!(text(&output.stdout).contains(".TH"));
}

#[test]
fn doctor_speaks_of_every_part() {
    let ground = Ground::new();
    let parts = ground.json(&["doctor", "--json"]);
    let names: Vec<&str> =
        parts.as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    for part in
        ["ledger", "hooks", "trust", "sh", "bash", "node", "bun", "sandbox", "callback port"]
    {
        assert!(names.contains(&part), "{part}: {names:?}");
    }
}
