//! Values of variables are data. They arrive unchanged in commands, bodies, headers and queries;
//! nothing in them runs, and no structure changes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use gambrel::{Gambrel, Setup, TrustMode};
use serde_json::{Map, Value, json};

use crate::fake_runner::with_fake_runner;
use crate::hostile_values::all_values;
use crate::http_server::{HttpServer, Received, free_port, post_answer};
use crate::test_project::{TestProject, text, wait_until};

/// Every variable of agent-pipelines that a caller sets.
pub const CALLER_VARIABLES: [&str; 12] = [
    "SESSION",
    "STAGE",
    "NEXT_STAGE",
    "ITERATION",
    "MAX_ITERATIONS",
    "PROGRESS",
    "STATUS",
    "CTX",
    "LAST_DECISION",
    "CHANGED_FILES",
    "STAGE_OUTPUTS",
    "ERROR",
];
/// Records its arguments.
const RECORD: &str = "#!/bin/sh\nprintf '%s\\0' \"$@\" > direct.out\n";
/// A child pipeline that returns its inputs.
const COPY: &str = "#!/bin/sh\ncat \"$5\" > \"$3/output.json\"\n";
/// Every n-th value is also fired through the built program.
const SAMPLE: usize = 9;

/// Every variable bare, in double and in single quotes.
fn quote_each(names: &[&str]) -> String {
    let three = |name: &&str| format!("${{{name}}} \"${{{name}}}\" '${{{name}}}'");
    names.iter().map(three).collect::<Vec<_>>().join(" ")
}

fn for_each_name<T>(make: impl Fn(&str) -> T) -> impl Iterator<Item = (String, T)> {
    CALLER_VARIABLES.into_iter().map(move |name| (name.to_owned(), make(name)))
}

fn shell(command: &str) -> Value {
    json!({"type": "shell", "command": command, "await": true})
}

/// Hooks that put every variable into a shell command, arguments, a body, a query and headers.
fn hooks(server: &HttpServer) -> Value {
    let placed = |name: &str| json!(format!("${{{name}}}"));
    let body: Map<String, Value> = for_each_name(placed).collect();
    let headers: Map<String, Value> = for_each_name(|name| json!(format!("<${{{name}}}>")))
        .map(|(n, v)| (format!("x-{n}"), v))
        .collect();
    let query: Vec<String> =
        for_each_name(|name| format!("{name}=${{{name}}}")).map(|(_, p)| p).collect();
    let url = server.url(&format!("/body/${{N}}?{}", query.join("&")));
    json!({"hooks": {"on_error": [
        shell(&format!("printf '%s\\0' {} > shell.out", quote_each(&CALLER_VARIABLES))),
        shell(&format!("./record.sh {}", quote_each(&CALLER_VARIABLES))),
        {"type": "webhook", "url": url, "retries": 0,
            "body": {"outer": [body, {"said": "<${ERROR}>"}], "n": 1}},
        {"type": "webhook", "url": server.url("/header/${N}"), "retries": 0, "headers": headers},
    ]}})
}

fn event(value: &str, number: usize) -> String {
    let mut vars: Map<String, Value> = for_each_name(|_| json!(value)).collect();
    vars.insert("N".into(), json!(number));
    json!({"hook_point": "on_error", "vars": vars}).to_string()
}

fn project_with_sinks(server: &HttpServer) -> TestProject {
    let project = TestProject::new();
    project.script("record.sh", RECORD);
    project.file(".gambrel/hooks.yaml", &hooks(server).to_string());
    project
}

/// Checks that each recorded argument equals the value. An empty value disappears from its `bare`
/// places.
fn assert_recorded(path: &Path, value: &str, places: usize, bare: usize) {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{value:?}: {error}"));
    let value = value.replace('\0', "");
    let mut words: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
    assert_eq!(words.pop(), Some(&b""[..]));
    let count = if value.is_empty() { places - bare } else { places };
    assert_eq!(words.len(), count, "{value:?} became {words:?}");
    for word in words {
        assert_eq!(text(word), value, "in {}", path.display());
    }
    std::fs::remove_file(path).unwrap();
}

fn assert_nothing_ran(project: &TestProject, value: &str) {
    for folder in [&project.root, &project.base, &project.base.join("home")] {
        assert!(!folder.join("canary").exists(), "{value:?} was run");
    }
}

/// Checks the commands, which have ended. Webhooks may still be on their way.
fn check_commands(project: &TestProject, value: &str, reply: &Value) {
    for nth in [0, 1] {
        assert_eq!(reply["actions"][nth]["status"], "success", "{value:?}: {reply}");
    }
    assert_recorded(
        &project.root.join("shell.out"),
        value,
        CALLER_VARIABLES.len() * 3,
        CALLER_VARIABLES.len(),
    );
    assert_recorded(
        &project.root.join("direct.out"),
        value,
        CALLER_VARIABLES.len() * 3,
        CALLER_VARIABLES.len(),
    );
    assert_nothing_ran(project, value);
}

/// A value as a request carries it: without the callback marker.
fn sent_value(value: &str) -> String {
    value.replace('\u{e000}', "")
}

/// Whether a header can hold a value at all.
fn fits_header(value: &str) -> bool {
    !value.bytes().any(|byte| (byte < 32 && byte != b'\t') || byte == 127)
}

fn check_requests(server: &HttpServer, values: &[(usize, String)]) {
    let headed = values.iter().filter(|(_, value)| fits_header(value)).count();
    wait_until("all requests", || server.count() >= values.len() + headed);
    let mut requests: BTreeMap<String, Received> = BTreeMap::new();
    for request in server.received() {
        assert!(
            requests.insert(request.path().to_owned(), request.clone()).is_none(),
            "{request:?}"
        );
    }
    for (number, value) in values {
        let request =
            requests.remove(&format!("/body/{number}")).unwrap_or_else(|| panic!("{value:?}"));
        check_body(&request, &sent_value(value));
        check_query(&request, &sent_value(value));
        match requests.remove(&format!("/header/{number}")) {
            Some(request) => check_headers(&request, &sent_value(value)),
            None => assert!(!fits_header(value), "{value:?} was not sent"),
        }
    }
    assert!(requests.is_empty(), "unexpected: {requests:?}");
}

fn check_body(request: &Received, value: &str) {
    let fields: Map<String, Value> = for_each_name(|_| json!(value)).collect();
    let whole = json!({"outer": [fields, {"said": format!("<{value}>")}], "n": 1});
    assert_eq!(request.json(), whole);
    assert_eq!(request.method, "POST");
    assert_eq!(request.header("content-type"), Some(&b"application/json"[..]));
}

fn check_query(request: &Received, value: &str) {
    let (_, query) = request.target.split_once('?').unwrap();
    let pairs: Vec<(&str, &str)> = query.split('&').map(|p| p.split_once('=').unwrap()).collect();
    let names: Vec<&str> = pairs.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, CALLER_VARIABLES, "{value:?}");
    for (_, written) in pairs {
        assert_eq!(percent_decode(written), value.as_bytes(), "{value:?}");
    }
}

fn percent_decode(written: &str) -> Vec<u8> {
    let mut bytes = written.bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        let mut digit = || char::from(bytes.next().unwrap()).to_digit(16).unwrap();
        out.push(if byte == b'%' { u8::try_from(digit() * 16 + digit()).unwrap() } else { byte });
    }
    out
}

fn check_headers(request: &Received, value: &str) {
    for name in CALLER_VARIABLES {
        let header = request.header(&format!("x-{name}").to_lowercase());
        let header = header.unwrap_or_else(|| panic!("{value:?}: no {name}"));
        assert_eq!(text(header), format!("<{value}>"));
    }
    assert!(request.headers.iter().all(|(name, _)| name != "x-injected"), "{request:?}");
    assert_eq!(text(&request.body), "{}");
}

#[test]
fn passes_every_value_unchanged_to_every_sink() {
    let server = HttpServer::start();
    let project = project_with_sinks(&server);
    let env: BTreeMap<String, String> = project.env.iter().cloned().collect();
    let mut setup = Setup { env: Arc::new(env), cwd: project.root.clone(), ..Setup::default() };
    setup.in_memory = true;
    setup.options.trust = TrustMode::All;
    let gambrel = Gambrel::new(setup);
    let values: Vec<(usize, String)> = all_values().into_iter().enumerate().collect();
    for (number, value) in &values {
        let native = event(value, *number);
        let event = gambrel.receive("unified", native.as_bytes()).unwrap();
        let reply = gambrel.fire(event).reply;
        check_commands(&project, value, &serde_json::from_slice(&reply.stdout).unwrap());
    }
    check_requests(&server, &values);
    assert_nothing_ran(&project, "one of them");
}

#[test]
fn passes_values_unchanged_through_the_built_program() {
    let server = HttpServer::start();
    let project = project_with_sinks(&server);
    let values: Vec<(usize, String)> =
        all_values().into_iter().enumerate().step_by(SAMPLE).collect();
    for (number, value) in &values {
        let output = project.run(&["fire", "--from", "unified"], event(value, *number).as_bytes());
        let reply = serde_json::from_slice(&output.stdout);
        let reply = reply.unwrap_or_else(|_| panic!("{value:?}: {}", text(&output.stderr)));
        check_commands(&project, value, &reply);
    }
    check_requests(&server, &values);
    assert_nothing_ran(&project, "one of them");
}

/// Answers of users and outputs of children are untrusted values too.
#[test]
fn passes_answers_and_child_outputs_unchanged() {
    let answer = Arc::new(std::sync::Mutex::new(String::new()));
    let message = Arc::clone(&answer);
    let server = HttpServer::with_answer(move |request| {
        let (link, message) = (request.link(), message.lock().unwrap().clone());
        std::thread::spawn(move || post_answer(&link, "approve", &message));
        Some(200)
    });
    let project = with_fake_runner(TestProject::new(), COPY);
    project.script("record.sh", RECORD);
    let names = ["HOOK_RESPONSE", "SPAWN_OUTPUT"];
    let ask = json!({"type": "webhook", "url": server.url("/ask"), "await": true,
        "callback_port": free_port(), "timeout": 30, "body": {"link": "${CALLBACK_URL}"}});
    let hooks = json!({"hooks": {"on_error": [
        ask,
        {"type": "spawn", "pipeline": "copy", "inputs": {"value": "${ERROR}"}},
        shell(&format!("printf '%s\\0' {} > shell.out", quote_each(&names))),
        shell(&format!("./record.sh {}", quote_each(&names))),
    ]}});
    project.file(".gambrel/hooks.yaml", &hooks.to_string());
    for (number, value) in all_values().into_iter().enumerate().step_by(SAMPLE) {
        answer.lock().unwrap().clone_from(&value);
        let output = project.run(&["fire", "--from", "unified"], event(&value, number).as_bytes());
        assert_nothing_ran(&project, &value);
        let expected_answer = json!({"action": "approve", "message": value});
        let arguments = text(&std::fs::read(project.root.join("shell.out")).unwrap_or_default());
        let words: Vec<&str> = arguments.split_terminator('\0').collect();
        assert_eq!(words.len(), 6, "{value:?}: {arguments:?} {}", text(&output.stdout));
        for (nth, word) in words.iter().enumerate() {
            let whole = if nth < 3 { expected_answer.clone() } else { json!({"value": value}) };
            assert_eq!(serde_json::from_str::<Value>(word).unwrap(), whole, "{word}");
        }
        let direct = std::fs::read(project.root.join("direct.out")).unwrap();
        assert_eq!(text(&direct), arguments);
    }
}

#[test]
fn keeps_child_folders_inside_the_run() {
    let project = with_fake_runner(TestProject::new(), COPY);
    let hooks = json!({"hooks": {"on_error": [{"type": "spawn", "pipeline": "copy"}]}});
    project.file(".gambrel/hooks.yaml", &hooks.to_string());
    let far = "x".repeat(4_000);
    let words = ["3", "3/../../../canary", "3/../../../../../canary", "..", "/canary", &far];
    let one = words.iter().map(|word| json!({"SESSION": "s", "ITERATION": word}));
    let many = words.iter().map(|word| json!({"SESSION": word, "ITERATION": 3}));
    for vars in one.chain(many) {
        let native = json!({"hook_point": "on_error", "vars": vars}).to_string();
        let output = project.run(&["fire", "--from", "unified"], native.as_bytes());
        let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(reply["actions"][0]["status"], "success", "{vars}: {reply}");
    }
    let runs = project.root.join(".gambrel/runs");
    let inside = |path: &Path| std::fs::read_dir(path).unwrap().count();
    assert_eq!(inside(&runs), 1 + words.len());
    assert_eq!(inside(&runs.join("s/children")), words.len());
    assert_eq!(inside(&runs.join("s")), 1);
    assert_nothing_ran(&project, "a name");
}

#[test]
fn passes_long_values_whole_or_fails() {
    let project = TestProject::new();
    let hooks = json!({"hooks": {"on_error": [
        shell("printf '%s\\0' \"${STAGE}\" > shell.out"),
        shell("echo ${LAST_HOOK_STATUS} > then.out"),
    ]}});
    project.file(".gambrel/hooks.yaml", &hooks.to_string());
    for length in [1_000, 100_000, 130_000, 2_000_000] {
        let value = "$(touch canary)'\"".repeat(length / 17);
        let native = json!({"hook_point": "on_error", "vars": {"STAGE": value}}).to_string();
        let output = project.run(&["fire", "--from", "unified"], native.as_bytes());
        let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
        let status = reply["actions"][0]["status"].as_str().unwrap();
        let then = std::fs::read_to_string(project.root.join("then.out")).unwrap();
        assert_eq!(then.trim(), status, "the next action knows");
        match status {
            "success" => assert_recorded(&project.root.join("shell.out"), &value, 1, 0),
            _ => assert!(!project.root.join("shell.out").exists() && length > 100_000, "{reply}"),
        }
        assert_nothing_ran(&project, "a long one");
    }
}
