//! Callback links that other machines can open, and links whose process has ended.

use serde_json::{Value, json};

use crate::approval_fixture::{ApprovalFixture, ServeProcess, TIMEOUT_SECS};
use crate::http_server::{send_request, try_send_request};
use crate::test_project::{TestProject, text, wait_until};

const PUBLIC: &str = "https://hooks.example.com";

/// The link of a session's message, whatever it begins with.
fn sent_link(fixture: &ApprovalFixture, session: &str) -> String {
    let body = fixture.request_of(session).json();
    let link = body["yes"].as_str().unwrap();
    link.split('?').next().unwrap().to_owned()
}

/// Posts an answer as a proxy passes it on.
fn post_publicly(port: u16, link: &str) -> u16 {
    let path = link.strip_prefix(PUBLIC).unwrap();
    let local = format!("http://localhost:{port}{path}");
    let headers = ["x-forwarded-host: hooks.example.com", "origin: https://hooks.example.com"];
    send_request("POST", &local, &headers, "action=approve").status
}

fn project_with_public_url() -> TestProject {
    let project = TestProject::new();
    let config = project.base.join("home/.config/gambrel/config.yaml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(config, format!("public_url: {PUBLIC}/\n")).unwrap();
    project
}

#[test]
fn begins_links_with_the_public_url_of_the_configuration() {
    let port = crate::http_server::free_port();
    let fixture = ApprovalFixture::with_port(project_with_public_url(), port);
    let waiting = fixture.start_fire("night");
    fixture.open_ticket("night");
    let link = sent_link(&fixture, "night");
    assert!(link.starts_with("https://hooks.example.com/callback/"), "{link}");
    assert_eq!(post_publicly(port, &link), 200);
    assert_eq!(waiting.reply()["abort"], false);
}

#[test]
fn begins_links_with_the_public_url_of_serve() {
    let fixture = ApprovalFixture::new();
    let more = ["--public-url", PUBLIC];
    let served = ServeProcess::start_with(&fixture.project, fixture.port, &more);
    assert_eq!(served.public_url.as_deref(), Some(PUBLIC));
    let waiting = fixture.start_fire("night");
    fixture.open_ticket("night");
    assert_eq!(post_publicly(fixture.port, &sent_link(&fixture, "night")), 200);
    assert_eq!(waiting.reply()["abort"], false);
}

#[test]
fn reports_an_unusable_public_url() {
    let project = project_with_public_url();
    let config = project.base.join("home/.config/gambrel/config.yaml");
    std::fs::write(config, "public_url: https://hooks.example.com/gambrel\n").unwrap();
    let output = project.run(&["check"], b"");
    assert_eq!(output.status.code(), Some(1));
    let shown = text(&output.stdout);
    assert!(shown.contains("only a scheme, a host and a port"), "{shown}");
    for (args, words) in [
        (&["serve", "--public-url", "hooks.example.com"][..], "begins with https:// or http://"),
        (&["serve", "--bind", "0.0.0.0"], "--public-url"),
        (&["serve", "--bind", "nowhere"], "nowhere"),
    ] {
        let output = project.run(args, b"");
        assert_eq!(output.status.code(), Some(64), "{args:?}");
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    }
}

/// A project cannot send its users to another server.
#[test]
fn ignores_a_public_url_of_the_project() {
    let fixture = ApprovalFixture::new();
    fixture.project.file(".gambrel/config.yaml", "public_url: https://evil.example\n");
    let _waiting = fixture.start_fire("night");
    fixture.open_ticket("night");
    assert!(sent_link(&fixture, "night").starts_with("http://localhost:"));
}

fn fire_hosted(fixture: &ApprovalFixture) -> String {
    let event = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash",
        "tool_input": {"command": "deploy"}, "tool_use_id": "1"});
    let args = ["fire", "--from", "claude", "--hosted", "--budget", "1"];
    text(&fixture.project.run(&args, event.to_string().as_bytes()).stdout)
}

#[test]
fn says_that_nobody_serves_the_link() {
    let fixture = ApprovalFixture::new();
    fixture.add_question("on_tool_before", TIMEOUT_SECS);
    let reply = fire_hosted(&fixture);
    assert!(reply.contains("nobody serves its link now: start `gambrel serve`"), "{reply}");

    let served = ServeProcess::start(&fixture.project, fixture.port);
    let link = fixture.server.wait_for_nth(1).link();
    wait_until("serve answers the link", || {
        try_send_request("GET", &link, &[], "").is_some_and(|page| page.status == 200)
    });
    let reply = fire_hosted(&fixture);
    assert!(reply.contains("try again once it is given"), "{reply}");
    assert!(!reply.contains("nobody serves"), "{reply}");
    assert_eq!(send_request("POST", &link, &[], "action=approve").status, 200);
    assert!(!fire_hosted(&fixture).contains("deny"));
    drop(served);
}

#[test]
fn keeps_links_alive_after_the_asking_process() {
    let fixture = ApprovalFixture::new();
    let waiting = fixture.start_fire("night");
    fixture.open_ticket("night");
    let link = fixture.server.wait_for_nth(1).link();
    let served = ServeProcess::start(&fixture.project, fixture.port);
    assert!(!link.starts_with(&served.base), "the waiting process has the usual port");
    waiting.kill();
    wait_until("serve takes over", || {
        try_send_request("GET", &link, &[], "").is_some_and(|page| page.status == 200)
    });
    assert_eq!(send_request("POST", &link, &[], "action=approve").status, 200);
    assert_eq!(fixture.start_fire("night").reply()["abort"], false);
}

/// A module asks without a link: only a page or a command can answer.
#[test]
fn names_the_commands_that_answer_a_question() {
    let project = TestProject::new().with("GAMBREL_UI", "page");
    let module = "export default (pi) => pi.on('tool_call', async (_, ctx) => {\n\
        if (!await ctx.ui.confirm('Deploy?', 'to production')) return { block: true };\n});\n";
    project.file(".omp/hooks/a.ts", module);
    let event = json!({"type": "tool_call", "toolName": "bash", "toolCallId": "1",
        "input": {"command": "deploy"}});
    let waiting = project.start(&["fire", "--from", "omp"], event.to_string().as_bytes());
    let first = || project.json(&["approvals", "--json"])[0].clone();
    wait_until("the question is open", || first()["ticket"].is_string());
    let ticket: Value = first();
    assert_eq!(ticket["why"], "to production");
    let id = ticket["ticket"].as_str().unwrap();
    project.run(&["approve", id], b"");
    let stderr = text(&waiting.wait_with_output().unwrap().stderr);
    let words = format!(
        "a question waits: Deploy?: `gambrel approve {id}` or `gambrel deny {id}`; for a page of \
         questions start `gambrel serve`"
    );
    assert!(stderr.contains(&words), "{stderr}");
}
