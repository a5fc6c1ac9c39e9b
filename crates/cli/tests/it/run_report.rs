//! A run as a report, and runs and firings on the page of `gambrel serve`.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::approval_fixture::ServeProcess;
use crate::http_server::send_request;
use crate::run_fixture::{project_with_stage, run_to};
use crate::test_project::{BASH_LS, TestProject, text, wait_until};

/// A run of two iterations in which one call is blocked. Secrets are in its texts.
fn project_with_run() -> TestProject {
    let project = project_with_stage("termination: {type: fixed, iterations: 2}");
    let project = project.with("API_TOKEN", "s3cr3t-value-0123456789");
    let call = json!({"tool": "shell", "args": {"command": "rm -rf / # s3cr3t-value-0123456789"}});
    let turn = json!({"tools": [call], "summary": "cleaned up <b>all</b>"});
    project.file("turns.yaml", &json!({"turns": [turn]}).to_string());
    let rule = json!({"name": "guard", "rule": {"block": "rm -rf", "message": "not for agents"}});
    let note = json!({"type": "shell", "name": "lint", "await": true, "command": "true"});
    let hooks = json!({"hooks": {"on_tool_before": [rule], "on_iteration_complete": [note]}});
    project.file(".gambrel/hooks.yaml", &hooks.to_string());
    run_to(&project, &["work", "--agent", "script:turns.yaml"], 0);
    project
}

fn report(project: &TestProject, args: &[&str]) -> String {
    let output = project.run(&[&["report", "work"], args].concat(), b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn writes_one_html_file() {
    let project = project_with_run();
    let page = report(&project, &["--html"]);
    for words in
        ["cleaned up &lt;b&gt;all&lt;/b&gt;", "guard", "deny", "not for agents", "rm -rf /"]
    {
        assert!(page.contains(words), "{words}: {page}");
    }
    for bad in ["<script", "s3cr3t-value", "http://", "https://", "<b>all"] {
        assert!(!page.contains(bad), "{bad}: {page}");
    }
    let printed = report(&project, &["--html", "-o", "report.html"]);
    assert_eq!(printed, "");
    let written = std::fs::read_to_string(project.root.join("report.html")).unwrap();
    assert!(written.starts_with("<!DOCTYPE html>") && written.ends_with("</html>"), "{written}");
}

#[test]
fn prints_text_and_json() {
    let project = project_with_run();
    let shown = report(&project, &[]);
    let first = shown.lines().next().unwrap();
    assert!(first.starts_with("work  complete"), "{shown}");
    assert!(shown.contains("deny  guard  rm -rf /") && shown.contains("not for agents"), "{shown}");
    assert!(!shown.contains("lint"), "hooks without a decision are left out: {shown}");
    let timeline: Value = serde_json::from_str(&report(&project, &["--json"])).unwrap();
    let iterations = timeline["stages"][0]["iterations"].as_array().unwrap();
    assert_eq!(iterations.len(), 2);
    let hooks = iterations[0]["hooks"].as_array().unwrap();
    let guard = hooks.iter().find(|hook| hook["title"] == "guard").unwrap();
    assert_eq!((&guard["verdict"], &guard["product"]), (&"deny".into(), &"agent-pipelines".into()));
    assert!(hooks.iter().any(|hook| hook["title"] == "lint" && hook["verdict"] == "silent"));
    assert_eq!(timeline["summary"]["status"], "complete");
    let unknown = project.run(&["report", "../work", "--html"], b"");
    assert_eq!(unknown.status.code(), Some(64));
}

/// A rewrite is a decision; a module that has nothing to do with an event is not listed.
#[test]
fn shows_rewrites_and_leaves_out_idle_modules() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    let call = json!({"tool": "shell", "args": {"command": "cat .env"}, "output": "KEY=abc-123"});
    project.file("turns.yaml", &json!({"turns": [{"tools": [call]}]}).to_string());
    let rule = json!({"name": "no keys", "rule": {"redact": "abc-[0-9]+"}});
    let hooks = json!({"hooks": {"on_tool_after": [rule]}});
    project.file(".gambrel/hooks.yaml", &hooks.to_string());
    project.file(".omp/hooks/idle.ts", "export default (pi) => pi.on('tool_call', () => {});\n");
    let output = project.run(&["run", "work", "--agent", "script:turns.yaml"], b"");
    let printed = text(&output.stderr);
    assert!(
        printed.contains("hook no keys (") && printed.contains("): rewrote output"),
        "{printed}"
    );
    assert_eq!(printed.matches("hook idle.ts").count(), 1, "at tool.before only: {printed}");
    let shown = report(&project, &[]);
    assert!(shown.contains("rewrote output  no keys  cat .env"), "{shown}");
    assert!(!shown.contains("idle.ts"), "{shown}");
    let page = report(&project, &["--html"]);
    assert!(page.contains("rewrote output</span>") && !page.contains("has no handler"), "{page}");
    let timeline: Value = serde_json::from_str(&report(&project, &["--json"])).unwrap();
    let hooks = timeline["stages"][0]["iterations"][0]["hooks"].as_array().unwrap();
    let rule = hooks.iter().find(|hook| hook["title"] == "no keys").unwrap();
    assert_eq!((&rule["verdict"], &rule["rewrote"]), (&"silent".into(), &json!(["output"])));
    let served = ServeProcess::start(&project, 0);
    let cookie = cookie_of(&served);
    let page = send_request("GET", &served.base, &[&cookie], "").body;
    assert!(page.contains("rewrote output</span>"), "{page}");
}

/// A hook that took too long has not agreed.
#[test]
fn says_which_hook_gave_no_answer() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    let call = json!({"tool": "shell", "args": {"command": "ls"}});
    project.file("turns.yaml", &json!({"turns": [{"tools": [call]}]}).to_string());
    project.guard("sleep 30", 1);
    let printed = text(&project.run(&["run", "work", "--agent", "script:turns.yaml"], b"").stderr);
    assert!(printed.contains("ms): no answer\n"), "{printed}");
    let shown = report(&project, &[]);
    assert!(shown.contains("no answer  sleep 30  ls  timed out after 1 s"), "{shown}");
    let page = report(&project, &["--html"]);
    assert!(page.contains("no answer</span>") && !page.contains("no objection"), "{page}");
    let served = ServeProcess::start(&project, 0);
    let cookie = cookie_of(&served);
    let page = send_request("GET", &served.base, &[&cookie], "").body;
    assert!(page.contains("no answer</span>"), "{page}");
}

/// The cookie of a browser that has opened the printed address.
fn cookie_of(served: &ServeProcess) -> String {
    let welcome = send_request("GET", &served.url, &[], "");
    let cookie = welcome.head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    format!("cookie: {}", cookie.unwrap().split(';').next().unwrap())
}

#[test]
fn serves_runs_and_firings() {
    let project = project_with_run();
    let served = ServeProcess::start(&project, 0);
    let cookie = cookie_of(&served);
    let page = send_request("GET", &served.base, &[&cookie], "").body;
    for words in ["href=\"/runs/work\"", "complete", "Recent firings", "iteration.start", "deny"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let run = send_request("GET", &format!("{}/runs/work", served.base), &[&cookie], "").body;
    for words in ["not for agents", "cleaned up &lt;b&gt;all", "agent-pipelines", "1 hook without"]
    {
        assert!(run.contains(words), "{words}: {run}");
    }
    assert!(!page.contains("s3cr3t-value") && !run.contains("s3cr3t-value"));
}

/// The page of a run while its agent works, and when it is over.
#[test]
fn follows_a_run_to_its_end() {
    let project = project_with_stage("termination: {type: fixed, iterations: 1}");
    project.script(
        "agent.sh",
        "#!/bin/sh\ncat > /dev/null\nfor i in $(seq 600); do [ -e go ] || sleep 0.05; done\n\
         printf '{\"decision\":\"stop\",\"summary\":\"all done\"}' > \"$STATUS\"\n",
    );
    let started = project.run(&["run", "work", "--detach"], b"");
    assert_eq!(started.status.code(), Some(0), "{}", text(&started.stderr));
    let served = ServeProcess::start(&project, 0);
    let cookie = cookie_of(&served);
    let page = |path: &str| send_request("GET", &format!("{}{path}", served.base), &[&cookie], "");
    wait_until("the agent works", || page("/runs/work").body.contains("agent works"));
    assert!(page("").body.contains(">running<"), "{}", page("").body);
    project.file("go", "");
    wait_until("the run is complete", || page("/runs/work").body.contains("all done"));
    wait_until("the list says so", || page("").body.contains(">complete<"));
}

#[test]
fn pushes_new_firings_to_open_pages() {
    let project = project_with_run();
    let served = ServeProcess::start(&project, 0);
    let cookie = cookie_of(&served);
    let host = served.base.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    write!(stream, "GET /events HTTP/1.1\r\nhost: {host}\r\n{cookie}\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let mut next_event = || {
        let data = lines.by_ref().find_map(|line| line.strip_prefix("data: ").map(str::to_owned));
        serde_json::from_str::<Value>(&data.unwrap()).unwrap()["html"].as_str().unwrap().to_owned()
    };
    assert!(!next_event().contains("PreToolUse"));
    project.decide("claude", BASH_LS);
    let html = next_event();
    for words in ["PreToolUse", "Claude Code", "<strong>Bash</strong>", "<code>ls</code>"] {
        assert!(html.contains(words), "{words}: {html}");
    }
    let id = project.json(&["log", "--json", "-n", "1"])["short_id"].as_str().unwrap().to_owned();
    assert!(html.contains(&format!("<code>gambrel show {id}</code>")), "{html}");
}
