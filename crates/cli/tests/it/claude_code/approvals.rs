//! Approvals of a tool call inside Claude Code. An approval lets the call run with the approver's
//! message; a question that cannot be sent keeps the gate closed.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::session::{Answer, Session};
use super::versions::{ClaudeCode, in_each_version};
use crate::http_server::{HttpServer, Received, free_port, post_answer};

/// For the first request: Claude Code starts, and its model makes the call.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(60);

/// A webhook that asks about one command and waits for the answer.
fn ask_about(command: &str, url: &str) -> Value {
    json!({
        "type": "webhook", "url": url, "await": true, "timeout": 60, "callback_port": free_port(),
        "body": {"text": "may it run?", "link": "${CALLBACK_URL}"},
        "when": format!("${{TOOL_COMMAND}} == '{command}'"),
    })
}

fn wait_for_request(server: &HttpServer) -> Option<Received> {
    let deadline = Instant::now() + MESSAGE_TIMEOUT;
    while Instant::now() < deadline {
        if let Some(request) = server.received().into_iter().next() {
            return Some(request);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    None
}

/// Runs a session whose hook asks about `touch asked.txt`, and answers the question.
fn run_with_answer(
    claude: &ClaudeCode,
    (action, words): (&str, &str),
    commands: &[&str],
    args: &[&str],
) -> (Session, Answer) {
    let server = HttpServer::start();
    let question = ask_about("touch asked.txt", &server.url("/ask"));
    let session = Session::with_trusted_hooks(claude, &json!({"on_tool_before": [question]}));
    let answer = std::thread::scope(|scope| {
        scope.spawn(|| {
            let request = wait_for_request(&server)?;
            Some(post_answer(&request.link(), action, words))
        });
        session.prompt(commands, args)
    });
    assert_eq!(server.count(), 1, "{answer}");
    (session, answer)
}

#[test]
fn an_approval_lets_the_call_run_with_the_approvers_message() {
    in_each_version(|claude| {
        let approval = ("approve", "but be gentle with it");
        let commands = ["touch unasked.txt", "touch asked.txt"];
        let mode = ["--permission-mode", "default"];
        let (session, answer) = run_with_answer(claude, approval, &commands, &mode);
        // The mode refuses commands without approval.
        assert!(!session.has("unasked.txt"), "{answer}");
        assert!(session.has("asked.txt"), "{answer}");
        assert!(answer.reached_model("but be gentle with it"), "{answer}");
    });
}

#[test]
fn a_rejection_blocks_the_call_with_its_message() {
    in_each_version(|claude| {
        let rejection = ("reject", "not on a Friday");
        let allowed = ["--allowedTools", "Bash"];
        let (session, answer) = run_with_answer(claude, rejection, &["touch asked.txt"], &allowed);
        assert!(!session.has("asked.txt"), "{answer}");
        let result = answer.tool_result(0);
        assert!(result.contains("not on a Friday"), "{result}\n{answer}");
    });
}

#[test]
fn a_question_that_cannot_be_sent_keeps_the_gate_closed() {
    in_each_version(|claude| {
        let refused = format!("http://127.0.0.1:{}/ask", free_port());
        let hooks = json!({"on_tool_before": [
            ask_about("touch unset.txt", "${APPROVALS_URL_THAT_NOBODY_SET}"),
            ask_about("touch refused.txt", &refused),
        ]});
        let session = Session::with_trusted_hooks(claude, &hooks);
        let commands = ["touch unset.txt", "touch refused.txt", "touch free.txt"];
        let answer = session.prompt(&commands, &["--allowedTools", "Bash"]);
        assert!(!session.has("unset.txt") && !session.has("refused.txt"), "{answer}");
        let result = answer.tool_result(0);
        assert!(result.contains("APPROVALS_URL_THAT_NOBODY_SET"), "{result}\n{answer}");
        let result = answer.tool_result(1);
        assert!(
            result.contains("is_error\":true") && result.contains("127.0.0.1"),
            "{result}\n{answer}"
        );
        // Bash itself works: only the questions blocked the first two calls.
        assert!(session.has("free.txt"), "{answer}");
    });
}
