//! Users answer tickets at a terminal; agents may not. A host that cannot wait receives the ticket
//! in its denial, and the answer at its next try.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::approval_fixture::{ApprovalFixture, ServeProcess, TIMEOUT_SECS};
use crate::http_server::send_request;
use crate::test_project::text;

/// Fires as a host that waits one second, and returns the reply.
fn fire_hosted(fixture: &ApprovalFixture, command: &str) -> String {
    let args = ["fire", "--from", "claude", "--hosted", "--budget", "1"];
    let output = fixture.project.run(&args, tool_event(command).as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn tool_event(command: &str) -> String {
    let input = json!({"command": command});
    json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash",
        "tool_input": input, "tool_use_id": "1"})
    .to_string()
}

fn gate_fixture() -> ApprovalFixture {
    let fixture = ApprovalFixture::new();
    fixture.add_question("on_tool_before", TIMEOUT_SECS);
    fixture
}

#[test]
fn denies_a_host_that_cannot_wait_until_it_is_approved() {
    let fixture = gate_fixture();
    let refused: Value = serde_json::from_str(&fire_hosted(&fixture, "deploy")).unwrap();
    let first = fixture.open_ticket("s");
    let output = &refused["hookSpecificOutput"];
    assert_eq!(output["permissionDecision"], "deny", "{refused}");
    assert!(output["permissionDecisionReason"].as_str().unwrap().contains(&first), "{refused}");
    assert_eq!(fixture.project.json(&["approve", &first, "--json"])["status"], "recorded");
    let passed = fire_hosted(&fixture, "deploy");
    assert!(!passed.contains("deny"), "{passed}");
    assert_eq!(fixture.recorded_answer()["action"], "approve");
    assert_eq!(fixture.server.count(), 1);
    let third = fire_hosted(&fixture, "deploy");
    assert!(third.contains("deny"), "an approval is for one call: {third}");
    let second = fixture.open_ticket("s");
    assert_ne!(first, second);
    assert!(third.contains(&second), "{third}");
    assert_eq!(fixture.server.count(), 2);
}

#[test]
fn keeps_a_denial_for_the_retry() {
    let fixture = gate_fixture();
    fire_hosted(&fixture, "deploy");
    let ticket = fixture.open_ticket("s");
    let output = fixture.project.run(&["deny", &ticket, "--message", "it is Friday"], b"");
    assert_eq!(output.status.code(), Some(0));
    let reply = fire_hosted(&fixture, "deploy");
    assert!(reply.contains("deny") && reply.contains("it is Friday"), "{reply}");
}

#[test]
fn passes_the_approvers_message_to_the_next_action() {
    let fixture = ApprovalFixture::new();
    let waiting = fixture.start_fire("night");
    let ticket = fixture.open_ticket("night");
    let message = "yes; \"but\" $(touch canary) `x` slowly\n";
    let output = fixture.project.run(&["approve", &ticket, "--message", message], b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(waiting.reply()["abort"], false);
    assert_eq!(fixture.recorded_answer(), json!({"action": "approve", "message": message}));
    assert!(!fixture.project.root.join("canary").exists());
}

#[test]
fn keeps_the_first_answer() {
    let fixture = ApprovalFixture::new();
    let waiting = fixture.start_fire("night");
    let ticket = fixture.open_ticket("night");
    waiting.kill();
    let first = fixture.project.json(&["deny", &ticket, "--message", "no", "--json"]);
    let expected =
        json!({"ticket": ticket, "status": "recorded", "action": "reject", "message": "no"});
    assert_eq!(first, expected);
    let second = fixture.project.run(&["approve", &ticket], b"");
    assert_eq!(second.status.code(), Some(1));
    assert!(text(&second.stdout).contains("reject"), "{}", text(&second.stdout));
    let third = fixture.project.json(&["approve", &ticket, "--json"]);
    let expected =
        json!({"ticket": ticket, "status": "already", "action": "reject", "message": "no"});
    assert_eq!(third, expected);
    assert_eq!(fixture.start_fire("night").reply()["abort"], true);
}

#[test]
fn lets_agents_list_but_not_answer() {
    let mut fixture = ApprovalFixture::new();
    let _waiting = fixture.start_fire("night");
    let ticket = fixture.open_ticket("night");
    fixture.project.env.push(("CLAUDECODE".into(), "1".into()));
    for args in [&["approve", &ticket][..], &["deny", &ticket], &["serve", "--port", "0"]] {
        let output = fixture.project.run(args, b"");
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(text(&output.stderr).contains("CLAUDECODE"), "{}", text(&output.stderr));
    }
    assert_eq!(fixture.tickets(&[])[0]["state"], "open");
}

#[test]
fn accepts_a_prefix_of_a_ticket_id() {
    let fixture = ApprovalFixture::new();
    let waiting = fixture.start_fire("night");
    let ticket = fixture.open_ticket("night");
    for wrong in ["zz", "", "../x", "*"] {
        let output = fixture.project.run(&["approve", wrong], b"");
        assert_eq!(output.status.code(), Some(1), "{wrong:?}: {}", text(&output.stderr));
    }
    let output = fixture.project.run(&["approve", &ticket[..6]], b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(waiting.reply()["abort"], false);
}

#[test]
fn refuses_an_ambiguous_ticket_prefix() {
    let fixture = gate_fixture();
    // Ids are hexadecimal, so two of seventeen begin with the same digit.
    let shared = (0..3).find_map(|round| {
        std::thread::scope(|scope| {
            for nth in 0..6 {
                let fixture = &fixture;
                scope.spawn(move || fire_hosted(fixture, &format!("deploy {round} {nth}")));
            }
        });
        shared_prefix(&fixture.tickets(&[]))
    });
    let shared = shared.expect("eighteen tickets");
    let output = fixture.project.run(&["approve", &shared], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("several"), "{}", text(&output.stderr));
    assert!(fixture.tickets(&[]).iter().all(|ticket| ticket["answer"].is_null()));
}

fn shared_prefix(tickets: &[Value]) -> Option<String> {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for ticket in tickets {
        *count.entry(&ticket["ticket"].as_str().unwrap()[..1]).or_default() += 1;
    }
    count.into_iter().find(|(_, count)| *count > 1).map(|(digit, _)| digit.to_owned())
}

#[test]
fn lists_tickets_with_all_fields() {
    let fixture = ApprovalFixture::new();
    assert_eq!(fixture.project.json(&["approvals", "--json"]), json!([]));
    let waiting = fixture.start_fire("night");
    let id = fixture.open_ticket("night");
    let ticket = fixture.tickets(&[]).remove(0);
    assert_eq!(ticket["ticket"], id.as_str());
    assert_eq!(ticket["title"], "Plan of night");
    assert_eq!(ticket["project"], fixture.project.root.to_str().unwrap());
    assert!(ticket["expires"].as_u64() > ticket["at"].as_u64());
    assert_eq!(ticket["answer"], Value::Null);
    let stage = json!({"name": "Stage", "text": "plan"});
    assert!(ticket["shown"].as_array().unwrap().contains(&stage), "{ticket}");
    let shown = text(&fixture.project.run(&["approvals"], b"").stdout);
    assert!(shown.contains(&id) && shown.contains("open") && shown.contains("night"), "{shown}");
    fixture.project.run(&["approve", &id, "-m", "go"], b"");
    assert_eq!(waiting.reply()["abort"], false);
    let answer = &fixture.tickets(&["--all"])[0]["answer"];
    assert_eq!((&answer["action"], &answer["message"]), (&json!("approve"), &json!("go")));
    assert_eq!(fixture.tickets(&[]), Vec::<Value>::new());
}

#[test]
fn serves_the_ticket_list_only_with_its_key() {
    let fixture = ApprovalFixture::new();
    let _waiting = fixture.start_fire("night");
    fixture.open_ticket("night");
    let mut served = ServeProcess::start(&fixture.project, 0);
    let closed = send_request("GET", &served.base, &[], "");
    assert_eq!(closed.status, 404);
    assert!(!closed.body.contains("Plan of night"), "{}", closed.body);
    let wrong = send_request("GET", &format!("{}/?key=0000", served.base), &[], "");
    assert!(wrong.status >= 400 && !wrong.body.contains("Plan of night"), "{}", wrong.status);
    let welcome = send_request("GET", &served.url, &[], "");
    let cookie = welcome.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = format!("cookie: {}", cookie.split(';').next().unwrap());
    let open = send_request("GET", &served.base, &[&cookie], "");
    assert_eq!(open.status, 200);
    assert!(open.body.contains("Plan of night"), "{}", open.body);
    let pid = rustix::process::Pid::from_child(&served.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let code = served.child.wait().unwrap().code();
    assert_eq!(code, Some(143));
}

/// The shipped example denies if its question cannot be sent.
#[test]
fn denies_in_the_example_when_its_message_cannot_be_sent() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/approval");
    let project =
        crate::test_project::TestProject::new().with("MESSAGE_URL", "http://127.0.0.1:9/");
    let output = project.run(&["-C", folder, "check"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("no complaints"), "{}", text(&output.stdout));
    let event = std::fs::read(format!("{folder}/deploy.json")).unwrap();
    let args = ["-C", folder, "fire", "--from", "claude", "--trust", "all", "--budget", "20"];
    let reply = text(&project.run(&args, &event).stdout);
    assert!(reply.contains("deny") && reply.contains("connection refused"), "{reply}");
    let plan = br#"{"hook_point":"on_stage_complete","vars":{"SESSION":"s","STAGE":"plan"}}"#;
    let args = ["-C", folder, "fire", "--from", "unified", "--trust", "all"];
    let output = project.run(&args, plan);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("connection refused"), "{}", text(&output.stdout));
}
