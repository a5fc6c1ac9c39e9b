//! A question carries what a person needs for the answer: its name, the command or the change, why
//! it is asked, the agent, the machine, the branch, and what each answer does.

use serde_json::{Value, json};

use crate::approval_fixture::{ApprovalFixture, ServeProcess};
use crate::http_server::send_request;
use crate::test_project::text;

/// A project with a named question before tool calls.
fn named_fixture(more: Value) -> ApprovalFixture {
    let fixture = ApprovalFixture::new();
    let mut question = json!({
        "name": "Deploy to production", "type": "webhook", "url": fixture.server.url("/ask"),
        "await": true, "callback_port": fixture.port, "timeout": 50,
        "body": {"text": "Two people look at every deploy: ${CALLBACK_URL}?action=approve"},
    });
    question.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let hooks = json!({"hooks": {"on_tool_before": [question]}});
    fixture.project.file(".gambrel/hooks.yaml", &hooks.to_string());
    fixture
}

/// Fires a call of a host that does not wait, and returns its ticket.
fn ask_about(fixture: &ApprovalFixture, tool: &str, input: &Value) -> Value {
    let event = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": tool,
        "tool_input": input, "tool_use_id": "1"});
    let args = ["fire", "--from", "claude", "--hosted", "--budget", "1"];
    fixture.project.run(&args, event.to_string().as_bytes());
    fixture.open_ticket("s");
    fixture.tickets(&[]).remove(0)
}

#[test]
fn shows_the_command_the_reasons_and_the_place() {
    let fixture = named_fixture(json!({}));
    fixture.project.file(".git/HEAD", "ref: refs/heads/release/2.4\n");
    let input = json!({"command": "make deploy", "description": "Release after green tests"});
    let ticket = ask_about(&fixture, "Bash", &input);
    assert_eq!(ticket["title"], "Deploy to production");
    assert_eq!(ticket["command"], "make deploy");
    let why = "Two people look at every deploy\nThe agent says: Release after green tests";
    assert_eq!(ticket["why"], why);
    assert_eq!(
        (&ticket["agent"], &ticket["branch"]),
        (&json!("Claude Code"), &json!("release/2.4"))
    );
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert_eq!(ticket["machine"], machine.trim());
}

/// Sessions of Claude Code have long ids.
#[test]
fn the_list_of_questions_fits_a_hundred_columns() {
    let name = "May the release be published in every region before the weekend?";
    let fixture = named_fixture(json!({"name": name}));
    let session = "0f3c2c9e-5d0b-4b0e-9c59-6c6f3a0f7b11";
    let event = json!({"hook_event_name": "PreToolUse", "session_id": session, "tool_name": "Bash",
        "tool_input": {"command": "publish ".repeat(40)}, "tool_use_id": "1"});
    let args = ["fire", "--from", "claude", "--hosted", "--budget", "1"];
    fixture.project.run(&args, event.to_string().as_bytes());
    let shown = text(&fixture.project.run(&["approvals"], b"").stdout);
    assert!(shown.contains("  0f3c2c9e-5d0b-4b0…  May the release"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
    assert!(!shown.contains("  in /"), "{shown}");
    let root = fixture.project.root.to_str().unwrap();
    let home = fixture.project.base.join("home");
    let elsewhere = ["-C", home.to_str().unwrap(), "approvals"];
    let shown = text(&fixture.project.run(&elsewhere, b"").stdout);
    assert!(shown.contains(&format!("\n  in {root}\n")), "{shown}");
}

#[test]
fn lists_the_command_and_the_reason_below_the_question() {
    let fixture = named_fixture(json!({}));
    ask_about(&fixture, "Bash", &json!({"command": "make deploy\nmake \u{1b}[2Jclean"}));
    let shown = text(&fixture.project.run(&["approvals"], b"").stdout);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[1].contains("Deploy to production"), "{shown}");
    assert_eq!(lines[2], "  make deploy make \u{fffd}[2Jclean", "{shown}");
    assert_eq!(lines[3], "  Two people look at every deploy");
}

#[test]
fn shows_an_edit_as_a_difference_to_the_file() {
    let fixture = named_fixture(json!({}));
    let lines: String = (1..=9).map(|number| format!("line {number}\n")).collect();
    let file = fixture.project.file("notes.txt", &lines);
    let input = json!({"file_path": file, "old_string": "line 5", "new_string": "fifth line"});
    let ticket = ask_about(&fixture, "Edit", &input);
    let diff = "@@ -2,7 +2,7 @@\n line 2\n line 3\n line 4\n-line 5\n+fifth line\n line 6\n \
        line 7\n line 8\n";
    assert_eq!(ticket["diff"], diff);
    assert_eq!(ticket["path"], file.to_str().unwrap());
    assert_eq!(ticket["command"], "");
}

#[test]
fn redacts_secrets_in_the_difference() {
    let mut fixture = named_fixture(json!({}));
    fixture.project = fixture.project.with("API_TOKEN", "s3cr3t-value-0123456789");
    let file = fixture.project.file("env.txt", "a\ntoken s3cr3t-value-0123456789\nb\n");
    let input = json!({"file_path": file, "old_string": "b", "new_string": "c"});
    let ticket = ask_about(&fixture, "Edit", &input);
    let diff = ticket["diff"].as_str().unwrap();
    assert!(diff.contains("-b\n+c\n") && !diff.contains("s3cr3t-value"), "{diff}");
}

#[test]
fn says_what_each_answer_does() {
    let page = |more: Value| {
        let fixture = named_fixture(more);
        ask_about(&fixture, "Bash", &json!({"command": "make deploy"}));
        let served = ServeProcess::start(&fixture.project, 0);
        let welcome = send_request("GET", &served.url, &[], "");
        let cookie = welcome.head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
        let cookie = format!("cookie: {}", cookie.unwrap().split(';').next().unwrap());
        let page = send_request("GET", &served.base, &[&cookie], "").body;
        page.replace("<strong>", "").replace("</strong>", "")
    };
    let strict = "Approve lets this one call run, Reject blocks the call, and without an answer \
        gambrel blocks the call; the agent can read your message.";
    let shown = page(json!({}));
    assert!(shown.contains(strict), "{shown}");
    let loose = "Reject leaves the decision to the agent, and without an answer gambrel leaves \
        the decision to the agent;";
    let shown = page(json!({"on_reject": "continue", "on_timeout": "continue"}));
    assert!(shown.contains(loose), "{shown}");
}
