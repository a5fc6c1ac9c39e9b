//! Approvals outlive whoever waits for them: a killed process, a port that is somebody else's, an
//! answer that comes while nobody waits.

use std::net::TcpListener;

use serde_json::json;

use crate::approval_scene::{Scene, Served, TIMEOUT, Waiting};
use crate::ground::until;
use crate::mailbox::{port_of, post, say, try_say};

#[test]
fn an_answer_that_comes_while_nobody_waits_is_taken_at_once() {
    let scene = Scene::new();
    let waiting = scene.ask("night");
    let ticket = scene.ticket_of("night");
    waiting.kill();
    let done = scene.ground.json(&["approve", &ticket, "--message", "fine", "--json"]);
    assert_eq!(done["status"], "recorded");
    let reply = scene.ask("night").reply();
    assert_eq!(reply["abort"], false, "{reply}");
    assert_eq!(reply["actions"][0]["status"], "success");
    assert_eq!(reply["actions"][0]["attempts"], 0, "nothing is sent again");
    assert_eq!(scene.heard(), json!({"action": "approve", "message": "fine"}));
    assert_eq!(scene.mailbox.count(), 1);
    let all = scene.tickets(&["--all"]);
    assert_eq!(all.len(), 1);
    assert_eq!(all[0]["ticket"], ticket.as_str());
}

/// Killed in the hook after the question: the person is not asked again, and the answer serves the
/// firing that is started again and no later one.
#[test]
fn an_answer_is_spent_when_its_firing_has_ended() {
    let scene = Scene::new();
    let question = json!({
        "type": "webhook", "url": scene.mailbox.url("/ask"), "await": true,
        "callback_port": scene.port, "timeout": TIMEOUT,
        "body": {"text": "Plan of ${SESSION}", "yes": "${CALLBACK_URL}?action=approve"},
    });
    let slow = "echo x >> after; [ -e quick ] || exec sleep 60";
    let after = json!({"type": "shell", "command": slow, "await": true});
    let hooks = json!({"hooks": {"on_stage_complete": [question, after]}});
    scene.ground.file(".gambrel/hooks.yaml", &hooks.to_string());
    let waiting = scene.ask("night");
    let ticket = scene.ticket_of("night");
    scene.ground.json(&["approve", &ticket, "--message", "fine", "--json"]);
    let after = scene.ground.root.join("after");
    until("the hook after the question runs", || after.exists());
    // One beside it asks anew: the answer is in use.
    let beside = scene.ask("night");
    until("another question", || scene.mailbox.count() == 2);
    beside.kill();
    waiting.kill();
    scene.ground.file("quick", "");
    let reply = scene.ask("night").reply();
    assert_eq!(reply["abort"], false, "{reply}");
    assert_eq!(reply["actions"][0]["attempts"], 0, "nothing is sent again: {reply}");
    assert_eq!(scene.mailbox.count(), 2);
    let later = scene.ask("night");
    let open = scene.ticket_of("night");
    assert_ne!(open, ticket, "a later firing has a question of its own");
    later.kill();
}

#[test]
fn the_link_of_a_killed_process_answers_the_one_that_is_started_again() {
    let scene = Scene::new();
    let waiting = scene.ask("night");
    let ticket = scene.ticket_of("night");
    let link = scene.mailbox.wait_for(1).link();
    waiting.kill();
    assert!(try_say("GET", &link, &[], "").is_none(), "nobody listens any more");
    let mut again = scene.ask("night");
    until("the link works again", || {
        try_say("GET", &link, &[], "").is_some_and(|s| s.status == 200)
    });
    assert_eq!(scene.ticket_of("night"), ticket);
    assert!(again.is_waiting(), "looking is not answering");
    let said = post(&link, "reject", "not yet");
    assert_eq!(said.status, 200, "{}", said.body);
    let reply = again.reply();
    assert_eq!(reply["abort"], true);
    assert!(reply["reason"].as_str().unwrap().contains("not yet"), "{reply}");
    assert_eq!(scene.mailbox.count(), 1, "one message for one question");
}

/// One session after the other, on one port.
fn two_sessions(scene: &Scene) -> (Waiting, Waiting, [String; 2]) {
    let first = scene.ask("first");
    scene.ticket_of("first");
    let second = scene.ask("second");
    scene.ticket_of("second");
    let links = ["first", "second"].map(|session| scene.letter_of(session).link());
    assert_eq!(links.each_ref().map(|link| port_of(link)), [scene.port; 2], "{links:?}");
    (first, second, links)
}

#[test]
fn whoever_holds_the_port_takes_answers_for_all() {
    let scene = Scene::new();
    let (mut first, second, [one, other]) = two_sessions(&scene);
    assert_ne!(one, other);
    assert_eq!(post(&other, "approve", "the second").status, 200);
    assert_eq!(second.reply()["actions"][0]["status"], "success");
    assert_eq!(scene.heard()["message"], "the second");
    assert!(first.is_waiting(), "the other's answer is not its own");
    let late = post(&other, "reject", "");
    assert_eq!(late.status, 409);
    assert!(late.body.contains("the second"), "{}", late.body);
    assert_eq!(post(&one, "reject", "").status, 200);
    assert_eq!(first.reply()["abort"], true);
}

#[test]
fn when_the_holder_goes_the_next_one_takes_its_place() {
    let scene = Scene::new();
    let (holder, heir, [_, link]) = two_sessions(&scene);
    holder.kill();
    until("the heir serves", || try_say("GET", &link, &[], "").is_some_and(|s| s.status == 200));
    assert_eq!(post(&link, "approve", "").status, 200);
    assert_eq!(heir.reply()["abort"], false);
}

/// The same in a ledger whose folder the first of them makes.
#[test]
fn the_first_to_wait_in_a_new_ledger_takes_answers_for_all() {
    let scene = Scene::new();
    assert!(!scene.ground.base.join("state").exists());
    two_sessions(&scene);
}

#[test]
fn two_projects_wait_on_one_port_and_each_gets_its_own_answer() {
    let here = Scene::new();
    let there = here.beside();
    let (at_home, abroad) = (here.ask("same name"), there.ask("same name"));
    let (one, other) = (here.mailbox.wait_for(1).link(), there.mailbox.wait_for(1).link());
    assert_eq!((port_of(&one), port_of(&other)), (here.port, here.port));
    assert_eq!(post(&other, "reject", "").status, 200);
    assert_eq!(post(&one, "approve", "").status, 200);
    let (home, away) = (at_home.reply(), abroad.reply());
    assert_eq!((&home["abort"], &away["abort"]), (&json!(false), &json!(true)));
    assert_eq!(here.heard()["action"], "approve");
}

#[test]
fn a_port_that_a_stranger_holds_is_passed_over() {
    let scene = Scene::new();
    let _stranger = TcpListener::bind(("127.0.0.1", scene.port)).unwrap();
    let waiting = scene.ask("night");
    let link = scene.mailbox.wait_for(1).link();
    let port = port_of(&link);
    assert!(port > scene.port && port <= scene.port + 50, "{link}");
    assert_eq!(post(&link, "approve", "").status, 200);
    assert_eq!(waiting.reply()["abort"], false);
}

/// The same after the stranger has gone: the link that is out leads to the neighbour still.
#[test]
fn a_link_to_the_port_beside_works_after_a_crash() {
    let scene = Scene::new();
    let stranger = TcpListener::bind(("127.0.0.1", scene.port)).unwrap();
    let waiting = scene.ask("night");
    scene.ticket_of("night");
    let link = scene.mailbox.wait_for(1).link();
    waiting.kill();
    drop(stranger);
    let _again = scene.ask("night");
    until("the link works", || try_say("GET", &link, &[], "").is_some_and(|s| s.status == 200));
}

#[test]
fn looking_and_guessing_never_answer() {
    let scene = Scene::new();
    let mut waiting = scene.ask("night");
    let ticket = scene.ticket_of("night");
    let link = scene.mailbox.wait_for(1).link();
    for method in ["GET", "HEAD", "OPTIONS"] {
        try_say(method, &format!("{link}?action=approve"), &[], "");
    }
    let wrong = link.replace("/callback/", "/callback/x");
    assert_eq!(post(&wrong, "approve", "").status, 404);
    let foreign = ["origin: https://elsewhere.example", "content-type: application/json"];
    let yes = r#"{"action":"approve"}"#;
    assert_eq!(say("POST", &link, &foreign, yes).status, 403);
    assert_eq!(scene.ticket_of("night"), ticket);
    assert!(waiting.is_waiting());
    assert_eq!(post(&link, "approve", "").status, 200);
    assert_eq!(waiting.reply()["abort"], false);
}

#[test]
fn an_expired_question_says_that_it_is_gone() {
    let scene = Scene::new();
    let served = Served::on(&scene.ground, scene.port);
    scene.hang("on_stage_complete", 1);
    let reply = scene.ask("night").reply();
    assert_eq!(reply["abort"], true, "on_timeout is abort: {reply}");
    let link = scene.mailbox.wait_for(1).link();
    let (_, token) = link.split_once("/callback/").unwrap();
    let said = post(&format!("{}/callback/{token}", served.base), "approve", "");
    assert_eq!(said.status, 410, "{}", said.body);
    assert!(scene.tickets(&[]).is_empty());
    assert_eq!(scene.tickets(&["--all"])[0]["state"], "expired");
}
