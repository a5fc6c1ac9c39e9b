//! A person at a terminal answers what waits; an agent may not; a host that cannot wait is told
//! where the answer will be, and finds it when it tries again.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::approval_scene::{Scene, Served, TIMEOUT};
use crate::ground::text;
use crate::mailbox::say;

/// What a host that waits for one second is told about a command.
fn hosted(scene: &Scene, command: &str) -> String {
    let args = ["fire", "--from", "claude", "--hosted", "--budget", "1"];
    let output = scene.ground.run(&args, tool(command).as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn tool(command: &str) -> String {
    let input = json!({"command": command});
    json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash",
        "tool_input": input, "tool_use_id": "1"})
    .to_string()
}

fn gate() -> Scene {
    let scene = Scene::new();
    scene.hang("on_tool_before", TIMEOUT);
    scene
}

#[test]
fn a_host_that_cannot_wait_is_denied_and_passes_once_it_is_approved() {
    let scene = gate();
    let refused: Value = serde_json::from_str(&hosted(&scene, "deploy")).unwrap();
    let first = scene.ticket_of("s");
    let said = &refused["hookSpecificOutput"];
    assert_eq!(said["permissionDecision"], "deny", "{refused}");
    assert!(said["permissionDecisionReason"].as_str().unwrap().contains(&first), "{refused}");
    assert_eq!(scene.ground.json(&["approve", &first, "--json"])["status"], "recorded");
    let passed = hosted(&scene, "deploy");
    assert!(!passed.contains("deny"), "{passed}");
    assert_eq!(scene.heard()["action"], "approve");
    assert_eq!(scene.mailbox.count(), 1);
    let third = hosted(&scene, "deploy");
    assert!(third.contains("deny"), "one yes is for one call: {third}");
    let second = scene.ticket_of("s");
    assert_ne!(first, second);
    assert!(third.contains(&second), "{third}");
    assert_eq!(scene.mailbox.count(), 2);
}

#[test]
fn a_persons_no_holds_for_the_retry() {
    let scene = gate();
    hosted(&scene, "deploy");
    let ticket = scene.ticket_of("s");
    let output = scene.ground.run(&["deny", &ticket, "--message", "it is Friday"], b"");
    assert_eq!(output.status.code(), Some(0));
    let told = hosted(&scene, "deploy");
    assert!(told.contains("deny") && told.contains("it is Friday"), "{told}");
}

#[test]
fn words_from_the_terminal_reach_the_next_action() {
    let scene = Scene::new();
    let waiting = scene.ask("night");
    let ticket = scene.ticket_of("night");
    let message = "yes; \"but\" $(touch canary) `x` slowly\n";
    let output = scene.ground.run(&["approve", &ticket, "--message", message], b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(waiting.reply()["abort"], false);
    assert_eq!(scene.heard(), json!({"action": "approve", "message": message}));
    assert!(!scene.ground.root.join("canary").exists());
}

#[test]
fn the_first_answer_stands() {
    let scene = Scene::new();
    let waiting = scene.ask("night");
    let ticket = scene.ticket_of("night");
    waiting.kill();
    let first = scene.ground.json(&["deny", &ticket, "--message", "no", "--json"]);
    let told = json!({"ticket": ticket, "status": "recorded", "action": "reject", "message": "no"});
    assert_eq!(first, told);
    let second = scene.ground.run(&["approve", &ticket], b"");
    assert_eq!(second.status.code(), Some(1));
    assert!(text(&second.stdout).contains("reject"), "{}", text(&second.stdout));
    let third = scene.ground.json(&["approve", &ticket, "--json"]);
    let told = json!({"ticket": ticket, "status": "already", "action": "reject", "message": "no"});
    assert_eq!(third, told);
    assert_eq!(scene.ask("night").reply()["abort"], true);
}

#[test]
fn an_agent_may_look_but_not_answer() {
    let mut scene = Scene::new();
    let _waiting = scene.ask("night");
    let ticket = scene.ticket_of("night");
    scene.ground.env.push(("CLAUDECODE".into(), "1".into()));
    for args in [&["approve", &ticket][..], &["deny", &ticket], &["serve", "--port", "0"]] {
        let output = scene.ground.run(args, b"");
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(text(&output.stderr).contains("CLAUDECODE"), "{}", text(&output.stderr));
    }
    assert_eq!(scene.tickets(&[])[0]["state"], "open");
}

#[test]
fn a_ticket_goes_by_the_beginning_of_its_name() {
    let scene = Scene::new();
    let waiting = scene.ask("night");
    let ticket = scene.ticket_of("night");
    for wrong in ["zz", "", "../x", "*"] {
        let output = scene.ground.run(&["approve", wrong], b"");
        assert_eq!(output.status.code(), Some(1), "{wrong:?}: {}", text(&output.stderr));
    }
    let output = scene.ground.run(&["approve", &ticket[..6]], b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(waiting.reply()["abort"], false);
}

#[test]
fn a_beginning_that_several_share_is_not_taken() {
    let scene = gate();
    // Names are hexadecimal: of seventeen, two begin alike.
    let shared = (0..3).find_map(|round| {
        std::thread::scope(|scope| {
            for nth in 0..6 {
                let scene = &scene;
                scope.spawn(move || hosted(scene, &format!("deploy {round} {nth}")));
            }
        });
        two_alike(&scene.tickets(&[]))
    });
    let shared = shared.expect("eighteen tickets");
    let output = scene.ground.run(&["approve", &shared], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("several"), "{}", text(&output.stderr));
    assert!(scene.tickets(&[]).iter().all(|ticket| ticket["answer"].is_null()));
}

fn two_alike(tickets: &[Value]) -> Option<String> {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for ticket in tickets {
        *count.entry(&ticket["ticket"].as_str().unwrap()[..1]).or_default() += 1;
    }
    count.into_iter().find(|(_, count)| *count > 1).map(|(letter, _)| letter.to_owned())
}

#[test]
fn a_list_of_tickets_has_its_shape() {
    let scene = Scene::new();
    assert_eq!(scene.ground.json(&["approvals", "--json"]), json!([]));
    let waiting = scene.ask("night");
    let id = scene.ticket_of("night");
    let ticket = scene.tickets(&[]).remove(0);
    assert_eq!(ticket["ticket"], id.as_str());
    assert_eq!(ticket["title"], "Plan of night");
    assert_eq!(ticket["project"], scene.ground.root.to_str().unwrap());
    assert!(ticket["expires"].as_u64() > ticket["at"].as_u64());
    assert_eq!(ticket["answer"], Value::Null);
    let stage = json!({"name": "Stage", "text": "plan"});
    assert!(ticket["shown"].as_array().unwrap().contains(&stage), "{ticket}");
    let shown = text(&scene.ground.run(&["approvals"], b"").stdout);
    assert!(shown.contains(&id) && shown.contains("open") && shown.contains("night"), "{shown}");
    scene.ground.run(&["approve", &id, "-m", "go"], b"");
    assert_eq!(waiting.reply()["abort"], false);
    let answer = &scene.tickets(&["--all"])[0]["answer"];
    assert_eq!((&answer["action"], &answer["message"]), (&json!("approve"), &json!("go")));
    assert_eq!(scene.tickets(&[]), Vec::<Value>::new());
}

#[test]
fn the_page_of_all_questions_needs_its_key() {
    let scene = Scene::new();
    let _waiting = scene.ask("night");
    scene.ticket_of("night");
    let mut served = Served::on(&scene.ground, 0);
    let closed = say("GET", &served.base, &[], "");
    assert_eq!(closed.status, 404);
    assert!(!closed.body.contains("Plan of night"), "{}", closed.body);
    let wrong = say("GET", &format!("{}/?key=0000", served.base), &[], "");
    assert!(wrong.status >= 400 && !wrong.body.contains("Plan of night"), "{}", wrong.status);
    let welcome = say("GET", &served.url, &[], "");
    let cookie = welcome.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = format!("cookie: {}", cookie.split(';').next().unwrap());
    let open = say("GET", &served.base, &[&cookie], "");
    assert_eq!(open.status, 200);
    assert!(open.body.contains("Plan of night"), "{}", open.body);
    let pid = rustix::process::Pid::from_child(&served.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let code = served.child.wait().unwrap().code();
    assert_eq!(code, Some(143));
}

/// The shipped example and the README show approvals that hold.
#[test]
fn the_example_holds_when_its_message_cannot_be_sent() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/approval");
    let ground = crate::ground::Ground::new().with("MESSAGE_URL", "http://127.0.0.1:9/");
    let output = ground.run(&["-C", folder, "check"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("nothing to complain of"), "{}", text(&output.stdout));
    let event = std::fs::read(format!("{folder}/deploy.json")).unwrap();
    let args = ["-C", folder, "fire", "--from", "claude", "--trust", "all", "--budget", "20"];
    let told = text(&ground.run(&args, &event).stdout);
    assert!(told.contains("deny") && told.contains("connection refused"), "{told}");
    let plan = br#"{"hook_point":"on_stage_complete","vars":{"SESSION":"s","STAGE":"plan"}}"#;
    let args = ["-C", folder, "fire", "--from", "unified", "--trust", "all"];
    let output = ground.run(&args, plan);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("connection refused"), "{}", text(&output.stdout));
}
