//! gambrel detects a command-line agent above `trust`, `untrust` or `approve` if the account's own
//! store is used, and refuses without a terminal.

use std::process::{Command, Output, Stdio};

use crate::test_project::{TestProject, text};

/// A project whose user, according to the user database, has the test's home.
fn project_with_account(extra: &[(&str, &str)]) -> TestProject {
    let mut project = TestProject::new().with("GAMBREL_TRUST", "store");
    project.env.retain(|(name, _)| name != "GAMBREL_STATE_DIR");
    for (name, value) in extra {
        let value = value.replace("@", &project.base.to_string_lossy());
        project.env.push(((*name).to_owned(), value));
    }
    project.guard("exit 2", 5);
    let home = project.base.join("home");
    let line = format!("me:x:0:0::{}:/bin/sh\n", home.display());
    std::fs::write(project.base.join("passwd"), line).unwrap();
    project
}

/// Runs `gambrel` as a child of a program with this name and that user database. `None` if this
/// machine allows no mount namespaces.
fn run_below(project: &TestProject, agent: &str, words: &str) -> Option<Output> {
    let program = project.base.join(agent);
    std::fs::write(&program, "#!/bin/sh\n\"$@\"\nexit $?\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).unwrap();
    let made = Command::new("unshare").args(["-Urm", "true"]).status();
    if !made.is_ok_and(|status| status.success()) {
        crate::test_project::report_missing_part("`unshare -Urm`");
        return None;
    }
    let line = format!("mount --bind ../passwd /etc/passwd && \"$0\" \"$1\" {words}");
    let mut command = Command::new("unshare");
    command.args(["-Urm", "sh", "-c", &line]).arg(&program).arg(crate::test_project::program());
    command.current_dir(&project.root).env_clear().envs(project.env.clone());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Some(command.output().unwrap())
}

#[test]
fn an_agent_cannot_trust_or_approve() {
    for agent in ["claude", "codex", "gemini", "opencode"] {
        let project = project_with_account(&[]);
        let Some(output) = run_below(&project, agent, "trust --all --yes") else { return };
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let why = text(&output.stderr);
        assert!(why.contains(&format!("`{agent}`")), "{why}");
        assert!(why.contains("use your own terminal"), "{why}");
        assert_eq!(project.json(&["trust", "--list", "--json"])[0]["trust"], "untrusted");
        let approve = run_below(&project, agent, "approve x").unwrap();
        let why = text(&approve.stderr);
        assert!(why.contains("an agent may not answer an approval"), "{why}");
        let deny = text(&run_below(&project, agent, "deny x").unwrap().stderr);
        assert!(deny.contains("no ticket `x`"), "an agent may deny: {deny}");
    }
}

/// A guard of the project is a hook too.
#[test]
fn an_agent_cannot_switch_a_guard_off() {
    let project = project_with_account(&[]);
    project.run(&["trust", "--all", "--yes"], b"");
    for words in ["untrust --all", "untrust 1 --deny"] {
        let Some(output) = run_below(&project, "claude", words) else { return };
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let why = text(&output.stderr);
        assert!(why.contains("an agent may not switch hooks off"), "{why}");
        assert_eq!(project.json(&["trust", "--list", "--json"])[0]["trust"], "trusted");
    }
    assert!(project.run(&["untrust", "--all"], b"").status.success());
}

#[test]
fn lets_agents_trust_in_another_store() {
    for (name, value) in
        [("GAMBREL_STATE_DIR", "@/state"), ("XDG_STATE_HOME", "@/xdg"), ("HOME", "@/home2")]
    {
        let project = project_with_account(&[(name, value)]);
        let Some(output) = run_below(&project, "claude", "trust --all --yes") else { return };
        assert!(output.status.success(), "{name}: {output:?}");
    }
}

#[test]
fn lets_agents_list_trust() {
    let project = project_with_account(&[]);
    let Some(output) = run_below(&project, "claude", "trust --list") else { return };
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn lets_users_trust_at_a_terminal_inside_an_agent() {
    let project = project_with_account(&[]);
    let words = "trust --all --yes";
    let Some(refused) = run_below(&project, "claude", words) else { return };
    assert!(!refused.status.success());
    let program = project.base.join("claude");
    let line = format!(
        "mount --bind ../passwd /etc/passwd && exec script -qec \"'{}' '{}' {words}\" /dev/null",
        program.display(),
        crate::test_project::program()
    );
    let mut command = Command::new("unshare");
    command.args(["-Urm", "sh", "-c", &line]).current_dir(&project.root);
    let output = command.env_clear().envs(project.env.clone()).output().unwrap();
    assert!(text(&output.stdout).contains("trusted 1 hook"), "{output:?}");
}
