//! `log` lists what the user asks for, and `show` takes short ids and `last`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::terminal_screen::TerminalProgram;
use crate::test_project::{BASH_LS, TestProject, text, wait_until};

fn fire_tool(project: &TestProject, session: &str, tool: &str, command: &str) -> String {
    let event = json!({"hook_event_name": "PreToolUse", "session_id": session, "tool_name": tool,
        "tool_input": {"command": command}, "tool_use_id": "1"});
    project.decide("claude", &event.to_string())["id"].as_str().unwrap().to_owned()
}

fn list(project: &TestProject, args: &[&str]) -> Vec<Value> {
    let args = [&["log", "--json"], args].concat();
    let output = project.run(&args, b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn abouts(firings: &[Value]) -> Vec<&str> {
    firings.iter().map(|firing| firing["about"].as_str().unwrap()).collect()
}

#[test]
fn filters_by_ruling_tool_and_time() {
    let project = TestProject::new();
    project.guard("grep -q secret && { echo no >&2; exit 2; }; exit 0", 5);
    fire_tool(&project, "s", "Bash", "cat secret");
    for number in 0..30 {
        fire_tool(&project, "s", "Bash", &format!("echo {number}"));
    }
    fire_tool(&project, "other", "Read", "a secret");

    assert_eq!(list(&project, &[]).len(), 20, "the newest 20 by default");
    assert_eq!(abouts(&list(&project, &["--denied"])), ["cat secret"], "older than the newest 20");
    assert_eq!(abouts(&list(&project, &["--tool", "read"])), ["a secret"]);
    assert_eq!(abouts(&list(&project, &["--tool", "bash", "-n", "2"])), ["echo 28", "echo 29"]);
    assert_eq!(list(&project, &["--since", "1h"]).len(), 32, "all of the last hour");
    assert_eq!(list(&project, &["--since", "1h", "-n", "3"]).len(), 3);
    assert_eq!(list(&project, &["--since", "2020-01-01", "--session", "other"]).len(), 1);
    assert!(list(&project, &["--since", "0s"]).is_empty());

    let output = project.run(&["log", "--since", "soon"], b"");
    assert_eq!(output.status.code(), Some(64));
    assert!(text(&output.stderr).contains("10m, 2h or 3d"), "{}", text(&output.stderr));
}

#[test]
fn accepts_short_ids_and_last() {
    let project = TestProject::new();
    let first = fire_tool(&project, "s", "Bash", "one");
    let second = fire_tool(&project, "s", "Bash", "two");
    let short = list(&project, &[])[0]["short_id"].as_str().unwrap().to_owned();
    assert_eq!(short.len(), 6);
    for source in ["the spool", "the database"] {
        assert_eq!(project.json(&["show", &short, "--json"])["id"], first, "in {source}");
        assert_eq!(project.json(&["show", "last", "--json"])["id"], second, "in {source}");
    }
    let common = &first[..8];
    let output = project.run(&["show", common], b"");
    assert_eq!(output.status.code(), Some(1));
    let error = text(&output.stderr);
    assert!(error.contains(&first) && error.contains(&second), "{error}");
    assert!(error.contains("give more of it"), "{error}");
}

#[test]
fn an_empty_log_says_where_to_begin() {
    let project = TestProject::new();
    let output = project.run(&["log"], b"");
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    assert!(printed.contains("gambrel install claude") && printed.contains("sample"), "{printed}");
    assert!(project.run(&["log", "--json"], b"").stdout.is_empty());
    let output = project.run(&["show", "last"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("gambrel log"));

    project.decide("claude", BASH_LS);
    let printed = text(&project.run(&["log", "--denied"], b"").stdout);
    assert_eq!(printed, "no such firings: `gambrel log` lists the latest of all\n");
}

#[test]
fn follow_applies_filters() {
    let project = TestProject::new();
    project.guard("grep -q secret && exit 2; exit 0", 5);
    fire_tool(&project, "s", "Bash", "before");
    let mut follower = project.command(&["log", "-f", "--json", "--denied"]).spawn().unwrap();
    fire_tool(&project, "s", "Bash", "echo");
    let denied = fire_tool(&project, "s", "Bash", "secret");
    let reader = std::io::BufReader::new(follower.stdout.take().unwrap());
    let line = std::io::BufRead::lines(reader).next().unwrap().unwrap();
    follower.kill().unwrap();
    follower.wait().unwrap();
    assert!(line.contains(&denied), "{line}");
}

/// A firing is seen before it has a ruling, and printed when it has one.
#[test]
fn follow_waits_for_the_ruling() {
    let project = TestProject::new();
    project
        .guard("touch started; for i in $(seq 600); do [ -e go ] || sleep 0.05; done; exit 2", 60);
    let mut follower = project.command(&["log", "-f", "--json", "--denied"]).spawn().unwrap();
    let waiting = project.start(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    wait_until("the hook runs", || project.root.join("started").exists());
    let shown = text(&project.run(&["show", "last"], b"").stdout);
    assert!(shown.contains("  ruling   none, the firing has not finished\n"), "{shown}");
    // Longer than the follower needs to see the firing.
    std::thread::sleep(Duration::from_millis(1_000));
    project.file("go", "");
    waiting.wait_with_output().unwrap();
    let reader = std::io::BufReader::new(follower.stdout.take().unwrap());
    let (sender, line) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(std::io::BufRead::lines(reader).next()));
    let line = line.recv_timeout(Duration::from_secs(20));
    follower.kill().unwrap();
    follower.wait().unwrap();
    assert!(line.unwrap().unwrap().unwrap().contains("\"deny\""));
}

#[test]
fn shows_who_approved_and_their_words() {
    let fixture = crate::approval_fixture::ApprovalFixture::new();
    fixture.add_question("on_tool_before", crate::approval_fixture::TIMEOUT_SECS);
    let project = &fixture.project;
    let event = BASH_LS.replace("\"ls\"", "\"deploy\"");
    project.run(&["fire", "--from", "claude", "--hosted", "--budget", "1"], event.as_bytes());
    let ticket = fixture.open_ticket("s");
    project.run(&["approve", &ticket, "--message", "only to staging"], b"");
    project.run(&["fire", "--from", "claude", "--hosted", "--budget", "1"], event.as_bytes());
    let step = &project.json(&["show", "last", "--json"])["trail"][0];
    assert_eq!(step["approver"]["action"], "approve", "{step}");
    assert_eq!(step["approver"]["message"], "only to staging");
    let by = step["approver"]["by"].as_str().unwrap();
    let shown = text(&project.run(&["show", "last"], b"").stdout);
    let expected = format!("answer   approve by {by}: \"only to staging\"");
    assert!(shown.contains(&expected), "{shown}");
}

/// Nothing was decided, and the reader must see why.
#[test]
fn names_the_hook_that_gave_no_answer() {
    let project = TestProject::new();
    project.guard("sleep 30", 1);
    fire_tool(&project, "s", "Bash", "ls");
    let shown = text(&project.run(&["log"], b"").stdout);
    assert!(shown.trim_end().ends_with("  sleep 30: timed out after 1 s"), "{shown}");
    project.guard("exit 3", 5);
    fire_tool(&project, "s", "Bash", "ls");
    let shown = text(&project.run(&["log"], b"").stdout);
    assert!(shown.trim_end().ends_with("  exit 3: exit code 3"), "{shown}");
}

/// The title of a rule without a name is its message.
#[test]
fn says_a_reason_once() {
    let project = TestProject::new();
    let rule = "{block: secret, fact: TOOL_COMMAND, message: no secrets}";
    project.file(".gambrel/hooks.yaml", &format!("hooks:\n  on_tool_before: [{{rule: {rule}}}]\n"));
    fire_tool(&project, "s", "Bash", "cat secret");
    for (args, line) in [
        (["show", "last"], "  because  no secrets\n"),
        (["replay", "last"], "    because no secrets\n"),
    ] {
        let shown = text(&project.run(&args, b"").stdout);
        assert!(shown.contains(line), "{shown}");
    }
}

#[test]
fn shows_long_texts_whole() {
    let project = TestProject::new();
    let command = format!("echo {}", "word ".repeat(100).trim_end());
    project.guard("exit 0", 5);
    fire_tool(&project, "s", "Bash", &command);
    let shown = text(&project.run(&["show", "last"], b"").stdout);
    assert!(shown.contains(&format!("  command  {command}\n")), "{shown}");
    fire_tool(&project, "s", "Bash", &"x".repeat(2_000));
    let shown = text(&project.run(&["show", "last"], b"").stdout);
    assert!(shown.contains("x…\n  command  … long lines are cut: see `--json`\n"), "{shown}");
}

#[test]
fn messages_name_their_hook() {
    let project = TestProject::new();
    project.guard("echo '{\"systemMessage\":\"be careful\"}'", 5);
    fire_tool(&project, "s", "Bash", "ls");
    let shown = text(&project.run(&["show", "last"], b"").stdout);
    assert!(shown.contains("message  to you, from echo '{\"systemMessage\""), "{shown}");
    assert!(shown.contains("be careful"), "{shown}");
}

/// At 80 and 100 columns a reason has a line of its own; nothing is wider than the terminal.
#[test]
fn the_list_fits_the_terminal() {
    let project = TestProject::new();
    let reason = "the team keeps whole trees; ask a person to remove them, or remove single files";
    project.guard(&format!("echo '{reason}' >&2; exit 2"), 5);
    let long = format!("rm -rf {}", "very/long/path/".repeat(20));
    fire_tool(&project, "s", "Bash", &long);
    fire_tool(&project, "s", "mcp__database__delete_rows", "");
    for columns in [80, 100, 180] {
        let mut log = TerminalProgram::start(&project, &["log"], (columns, 24));
        assert!(log.wait().success());
        log.wait_for("the team keeps");
        let lines = log.lines();
        let longest = lines.iter().map(|line| line.chars().count()).max().unwrap();
        assert!(longest < usize::from(columns), "{columns}: {lines:?}");
        let has_own_line = lines.iter().any(|line| line.trim_start().starts_with("the team keeps"));
        assert_eq!(has_own_line, columns < 180, "{columns}: {lines:?}");
        let count = lines.iter().filter(|line| !line.is_empty()).count();
        assert_eq!(count, if has_own_line { 4 } else { 3 }, "{lines:?}");
    }
}
