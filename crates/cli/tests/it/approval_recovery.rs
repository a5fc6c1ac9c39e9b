//! Approvals outlive the process that waits for them: a killed process, a port in use by another
//! program, an answer while no process waits.

use std::net::TcpListener;

use serde_json::json;

use crate::approval_fixture::{ApprovalFixture, ServeProcess, TIMEOUT_SECS, WaitingFire};
use crate::http_server::{link_port, post_answer, send_request, try_send_request};
use crate::test_project::wait_until;

#[test]
fn uses_an_answer_recorded_while_no_process_waits() {
    let fixture = ApprovalFixture::new();
    let waiting = fixture.start_fire("night");
    let ticket = fixture.open_ticket("night");
    waiting.kill();
    let done = fixture.project.json(&["approve", &ticket, "--message", "fine", "--json"]);
    assert_eq!(done["status"], "recorded");
    let reply = fixture.start_fire("night").reply();
    assert_eq!(reply["abort"], false, "{reply}");
    assert_eq!(reply["actions"][0]["status"], "success");
    assert_eq!(reply["actions"][0]["attempts"], 0, "nothing is sent again");
    assert_eq!(fixture.recorded_answer(), json!({"action": "approve", "message": "fine"}));
    assert_eq!(fixture.server.count(), 1);
    let all = fixture.tickets(&["--all"]);
    assert_eq!(all.len(), 1);
    assert_eq!(all[0]["ticket"], ticket.as_str());
}

/// Killed in the hook after the question: the repeated firing uses the answer without asking again,
/// and a later firing asks anew.
#[test]
fn uses_an_answer_for_one_firing_only() {
    let fixture = ApprovalFixture::new();
    let question = json!({
        "type": "webhook", "url": fixture.server.url("/ask"), "await": true,
        "callback_port": fixture.port, "timeout": TIMEOUT_SECS,
        "body": {"text": "Plan of ${SESSION}", "yes": "${CALLBACK_URL}?action=approve"},
    });
    let slow = "echo x >> after; [ -e quick ] || exec sleep 60";
    let after = json!({"type": "shell", "command": slow, "await": true});
    let hooks = json!({"hooks": {"on_stage_complete": [question, after]}});
    fixture.project.file(".gambrel/hooks.yaml", &hooks.to_string());
    let waiting = fixture.start_fire("night");
    let ticket = fixture.open_ticket("night");
    fixture.project.json(&["approve", &ticket, "--message", "fine", "--json"]);
    let after = fixture.project.root.join("after");
    wait_until("the hook after the question runs", || after.exists());
    // A parallel firing asks anew, because the answer is in use.
    let beside = fixture.start_fire("night");
    wait_until("another question", || fixture.server.count() == 2);
    beside.kill();
    waiting.kill();
    fixture.project.file("quick", "");
    let reply = fixture.start_fire("night").reply();
    assert_eq!(reply["abort"], false, "{reply}");
    assert_eq!(reply["actions"][0]["attempts"], 0, "nothing is sent again: {reply}");
    assert_eq!(fixture.server.count(), 2);
    let later = fixture.start_fire("night");
    let open = fixture.open_ticket("night");
    assert_ne!(open, ticket, "a later firing has a question of its own");
    later.kill();
}

#[test]
fn answers_a_restarted_process_through_the_old_link() {
    let fixture = ApprovalFixture::new();
    let waiting = fixture.start_fire("night");
    let ticket = fixture.open_ticket("night");
    let link = fixture.server.wait_for_nth(1).link();
    waiting.kill();
    assert!(try_send_request("GET", &link, &[], "").is_none(), "no process listens any more");
    let mut again = fixture.start_fire("night");
    wait_until("the link works again", || {
        try_send_request("GET", &link, &[], "").is_some_and(|s| s.status == 200)
    });
    assert_eq!(fixture.open_ticket("night"), ticket);
    assert!(again.is_waiting(), "a GET request does not answer");
    let response = post_answer(&link, "reject", "not yet");
    assert_eq!(response.status, 200, "{}", response.body);
    let reply = again.reply();
    assert_eq!(reply["abort"], true);
    assert!(reply["reason"].as_str().unwrap().contains("not yet"), "{reply}");
    assert_eq!(fixture.server.count(), 1, "one message for one question");
}

/// Starts one session after the other, on one port.
fn two_sessions(fixture: &ApprovalFixture) -> (WaitingFire, WaitingFire, [String; 2]) {
    let first = fixture.start_fire("first");
    fixture.open_ticket("first");
    let second = fixture.start_fire("second");
    fixture.open_ticket("second");
    let links = ["first", "second"].map(|session| fixture.request_of(session).link());
    assert_eq!(links.each_ref().map(|link| link_port(link)), [fixture.port; 2], "{links:?}");
    (first, second, links)
}

#[test]
fn answers_all_processes_on_one_port() {
    let fixture = ApprovalFixture::new();
    let (mut first, second, [one, other]) = two_sessions(&fixture);
    assert_ne!(one, other);
    assert_eq!(post_answer(&other, "approve", "the second").status, 200);
    assert_eq!(second.reply()["actions"][0]["status"], "success");
    assert_eq!(fixture.recorded_answer()["message"], "the second");
    assert!(first.is_waiting(), "the other's answer is not its own");
    let late = post_answer(&other, "reject", "");
    assert_eq!(late.status, 409);
    assert!(late.body.contains("the second"), "{}", late.body);
    assert_eq!(post_answer(&one, "reject", "").status, 200);
    assert_eq!(first.reply()["abort"], true);
}

#[test]
fn takes_over_the_port_when_its_owner_ends() {
    let fixture = ApprovalFixture::new();
    let (holder, successor, [_, link]) = two_sessions(&fixture);
    holder.kill();
    wait_until("the next process serves", || {
        try_send_request("GET", &link, &[], "").is_some_and(|s| s.status == 200)
    });
    assert_eq!(post_answer(&link, "approve", "").status, 200);
    assert_eq!(successor.reply()["abort"], false);
}

/// The state folder does not exist before the first process.
#[test]
fn shares_one_port_in_a_new_ledger() {
    let fixture = ApprovalFixture::new();
    assert!(!fixture.project.base.join("state").exists());
    two_sessions(&fixture);
}

#[test]
fn keeps_answers_of_two_projects_on_one_port_apart() {
    let here = ApprovalFixture::new();
    let there = here.second_project();
    let (first, second) = (here.start_fire("same name"), there.start_fire("same name"));
    let (one, other) = (here.server.wait_for_nth(1).link(), there.server.wait_for_nth(1).link());
    assert_eq!((link_port(&one), link_port(&other)), (here.port, here.port));
    assert_eq!(post_answer(&other, "reject", "").status, 200);
    assert_eq!(post_answer(&one, "approve", "").status, 200);
    let (first_reply, second_reply) = (first.reply(), second.reply());
    assert_eq!((&first_reply["abort"], &second_reply["abort"]), (&json!(false), &json!(true)));
    assert_eq!(here.recorded_answer()["action"], "approve");
}

#[test]
fn skips_a_port_in_use_by_another_program() {
    let fixture = ApprovalFixture::new();
    let _listener = TcpListener::bind(("127.0.0.1", fixture.port)).unwrap();
    let waiting = fixture.start_fire("night");
    let link = fixture.server.wait_for_nth(1).link();
    let port = link_port(&link);
    assert!(port > fixture.port && port <= fixture.port + 50, "{link}");
    assert_eq!(post_answer(&link, "approve", "").status, 200);
    assert_eq!(waiting.reply()["abort"], false);
}

/// The other program has ended, but the link that was sent still leads to the next port.
#[test]
fn keeps_links_to_the_next_port_working_after_a_crash() {
    let fixture = ApprovalFixture::new();
    let listener = TcpListener::bind(("127.0.0.1", fixture.port)).unwrap();
    let waiting = fixture.start_fire("night");
    fixture.open_ticket("night");
    let link = fixture.server.wait_for_nth(1).link();
    waiting.kill();
    drop(listener);
    let _again = fixture.start_fire("night");
    wait_until("the link works", || {
        try_send_request("GET", &link, &[], "").is_some_and(|s| s.status == 200)
    });
}

#[test]
fn ignores_get_requests_and_wrong_tokens() {
    let fixture = ApprovalFixture::new();
    let mut waiting = fixture.start_fire("night");
    let ticket = fixture.open_ticket("night");
    let link = fixture.server.wait_for_nth(1).link();
    for method in ["GET", "HEAD", "OPTIONS"] {
        try_send_request(method, &format!("{link}?action=approve"), &[], "");
    }
    let wrong = link.replace("/callback/", "/callback/x");
    assert_eq!(post_answer(&wrong, "approve", "").status, 404);
    let foreign = ["origin: https://elsewhere.example", "content-type: application/json"];
    let yes = r#"{"action":"approve"}"#;
    assert_eq!(send_request("POST", &link, &foreign, yes).status, 403);
    assert_eq!(fixture.open_ticket("night"), ticket);
    assert!(waiting.is_waiting());
    assert_eq!(post_answer(&link, "approve", "").status, 200);
    assert_eq!(waiting.reply()["abort"], false);
}

#[test]
fn reports_an_expired_ticket_as_gone() {
    let fixture = ApprovalFixture::new();
    let served = ServeProcess::start(&fixture.project, fixture.port);
    fixture.add_question("on_stage_complete", 1);
    let reply = fixture.start_fire("night").reply();
    assert_eq!(reply["abort"], true, "on_timeout is abort: {reply}");
    let link = fixture.server.wait_for_nth(1).link();
    let (_, token) = link.split_once("/callback/").unwrap();
    let response = post_answer(&format!("{}/callback/{token}", served.base), "approve", "");
    assert_eq!(response.status, 410, "{}", response.body);
    assert!(fixture.tickets(&[]).is_empty());
    assert_eq!(fixture.tickets(&["--all"])[0]["state"], "expired");
}
