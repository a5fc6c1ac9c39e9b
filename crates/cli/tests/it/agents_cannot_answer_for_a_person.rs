//! A command-line agent above `trust` or `approve` is noticed where the account's own store is
//! meant, and refused without a terminal.

use std::process::{Command, Output, Stdio};

use crate::ground::{Ground, text};

/// A project of an account whose home is the test's, as the user database has it.
fn account(extra: &[(&str, &str)]) -> Ground {
    let mut ground = Ground::new().with("GAMBREL_TRUST", "store");
    ground.env.retain(|(name, _)| name != "GAMBREL_STATE_DIR");
    for (name, value) in extra {
        let value = value.replace("@", &ground.base.to_string_lossy());
        ground.env.push(((*name).to_owned(), value));
    }
    ground.guard("exit 2", 5);
    let home = ground.base.join("home");
    let line = format!("me:x:0:0::{}:/bin/sh\n", home.display());
    std::fs::write(ground.base.join("passwd"), line).unwrap();
    ground
}

/// Runs `gambrel` below a program of this name, with that user database; `None` where this machine
/// makes no mount namespaces.
fn below(ground: &Ground, agent: &str, words: &str) -> Option<Output> {
    let program = ground.base.join(agent);
    std::fs::write(&program, "#!/bin/sh\n\"$@\"\nexit $?\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).unwrap();
    let made = Command::new("unshare").args(["-Urm", "true"]).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: `unshare -Urm` does not work here");
        return None;
    }
    let line = format!("mount --bind ../passwd /etc/passwd && \"$0\" \"$1\" {words}");
    let mut command = Command::new("unshare");
    command.args(["-Urm", "sh", "-c", &line]).arg(&program).arg(env!("CARGO_BIN_EXE_gambrel"));
    command.current_dir(&ground.root).env_clear().envs(ground.env.clone());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Some(command.output().unwrap())
}

#[test]
fn an_agent_cannot_trust_or_approve() {
    for agent in ["claude", "codex", "gemini", "opencode"] {
        let ground = account(&[]);
        let Some(output) = below(&ground, agent, "trust --all --yes") else { return };
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let why = text(&output.stderr);
        assert!(why.contains(&format!("`{agent}`")), "{why}");
        assert!(why.contains("run it in a terminal of your own"), "{why}");
        assert_eq!(ground.json(&["trust", "--list", "--json"])[0]["trust"], "untrusted");
        let approve = below(&ground, agent, "approve x").unwrap();
        let why = text(&approve.stderr);
        assert!(why.contains("an agent may not answer an approval"), "{why}");
        let deny = text(&below(&ground, agent, "deny x").unwrap().stderr);
        assert!(deny.contains("no ticket `x`"), "a no may come from anybody: {deny}");
    }
}

#[test]
fn a_store_elsewhere_is_no_persons() {
    for (name, value) in
        [("GAMBREL_STATE_DIR", "@/state"), ("XDG_STATE_HOME", "@/xdg"), ("HOME", "@/home2")]
    {
        let ground = account(&[(name, value)]);
        let Some(output) = below(&ground, "claude", "trust --all --yes") else { return };
        assert!(output.status.success(), "{name}: {output:?}");
    }
}

#[test]
fn an_agent_may_look() {
    let ground = account(&[]);
    let Some(output) = below(&ground, "claude", "trust --list") else { return };
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_person_at_a_terminal_inside_an_agent_may_trust() {
    let ground = account(&[]);
    let words = "trust --all --yes";
    let Some(refused) = below(&ground, "claude", words) else { return };
    assert!(!refused.status.success());
    let program = ground.base.join("claude");
    let line = format!(
        "mount --bind ../passwd /etc/passwd && exec script -qec \"'{}' '{}' {words}\" /dev/null",
        program.display(),
        env!("CARGO_BIN_EXE_gambrel")
    );
    let mut command = Command::new("unshare");
    command.args(["-Urm", "sh", "-c", &line]).current_dir(&ground.root);
    let output = command.env_clear().envs(ground.env.clone()).output().unwrap();
    assert!(text(&output.stdout).contains("trusted 1 hook"), "{output:?}");
}
