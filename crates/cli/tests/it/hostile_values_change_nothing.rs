//! Values are data: whatever a caller puts into a variable arrives as it is, in every quote of a
//! command, in a body, in a header, in a query; nothing of it runs and nothing changes shape.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use gambrel::{Gambrel, Setup, TrustMode};
use serde_json::{Map, Value, json};

use crate::ground::{Ground, text, until};
use crate::hostile::values;
use crate::mailbox::{Letter, Mailbox, post, quiet_port};
use crate::stand_in::with_children;

/// Every variable of agent-pipelines that a caller sets.
const NAMES: [&str; 12] = [
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
/// Writes its arguments down.
const RECORD: &str = "#!/bin/sh\nprintf '%s\\0' \"$@\" > direct.out\n";
/// A child pipeline that gives back what it was given.
const COPY: &str = "#!/bin/sh\ncat \"$5\" > \"$3/output.json\"\n";
/// Fires every n-th value through the program itself, which starts processes for it.
const SAMPLE: usize = 9;

/// Every variable bare, in double and in single quotes.
fn quoted(names: &[&str]) -> String {
    let three = |name: &&str| format!("${{{name}}} \"${{{name}}}\" '${{{name}}}'");
    names.iter().map(three).collect::<Vec<_>>().join(" ")
}

fn each<T>(make: impl Fn(&str) -> T) -> impl Iterator<Item = (String, T)> {
    NAMES.into_iter().map(move |name| (name.to_owned(), make(name)))
}

fn shell(command: &str) -> Value {
    json!({"type": "shell", "command": command, "await": true})
}

/// Through a shell, straight to a program, in a body and a query, and in headers.
fn hooks(mailbox: &Mailbox) -> Value {
    let placed = |name: &str| json!(format!("${{{name}}}"));
    let body: Map<String, Value> = each(placed).collect();
    let headers: Map<String, Value> =
        each(|name| json!(format!("<${{{name}}}>"))).map(|(n, v)| (format!("x-{n}"), v)).collect();
    let query: Vec<String> = each(|name| format!("{name}=${{{name}}}")).map(|(_, p)| p).collect();
    let url = mailbox.url(&format!("/body/${{N}}?{}", query.join("&")));
    json!({"hooks": {"on_error": [
        shell(&format!("printf '%s\\0' {} > shell.out", quoted(&NAMES))),
        shell(&format!("./record.sh {}", quoted(&NAMES))),
        {"type": "webhook", "url": url, "retries": 0,
            "body": {"outer": [body, {"said": "<${ERROR}>"}], "n": 1}},
        {"type": "webhook", "url": mailbox.url("/header/${N}"), "retries": 0, "headers": headers},
    ]}})
}

fn event(value: &str, number: usize) -> String {
    let mut vars: Map<String, Value> = each(|_| json!(value)).collect();
    vars.insert("N".into(), json!(number));
    json!({"hook_point": "on_error", "vars": vars}).to_string()
}

fn ground(mailbox: &Mailbox) -> Ground {
    let ground = Ground::new();
    ground.script("record.sh", RECORD);
    ground.file(".gambrel/hooks.yaml", &hooks(mailbox).to_string());
    ground
}

/// The arguments that a command wrote down are this value and nothing else, in each of so many
/// places; of those some are bare, where an empty value is no argument at all.
fn recorded(path: &Path, value: &str, places: usize, bare: usize) {
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

fn nothing_ran(ground: &Ground, value: &str) {
    for folder in [&ground.root, &ground.base, &ground.base.join("home")] {
        assert!(!folder.join("canary").exists(), "{value:?} was run");
    }
}

/// Commands have ended; what nobody waits for may still be under way.
fn check_commands(ground: &Ground, value: &str, reply: &Value) {
    for nth in [0, 1] {
        assert_eq!(reply["actions"][nth]["status"], "success", "{value:?}: {reply}");
    }
    recorded(&ground.root.join("shell.out"), value, NAMES.len() * 3, NAMES.len());
    recorded(&ground.root.join("direct.out"), value, NAMES.len() * 3, NAMES.len());
    nothing_ran(ground, value);
}

/// What a request carries of a value: all of it but the mark that stands for a link.
fn sent(value: &str) -> String {
    value.replace('\u{e000}', "")
}

/// Whether a header can hold a value at all.
fn fits_header(value: &str) -> bool {
    !value.bytes().any(|byte| (byte < 32 && byte != b'\t') || byte == 127)
}

fn check_letters(mailbox: &Mailbox, values: &[(usize, String)]) {
    let headed = values.iter().filter(|(_, value)| fits_header(value)).count();
    until("all letters", || mailbox.count() >= values.len() + headed);
    let mut letters: BTreeMap<String, Letter> = BTreeMap::new();
    for letter in mailbox.letters() {
        assert!(letters.insert(letter.path().to_owned(), letter.clone()).is_none(), "{letter:?}");
    }
    for (number, value) in values {
        let letter =
            letters.remove(&format!("/body/{number}")).unwrap_or_else(|| panic!("{value:?}"));
        check_body(&letter, &sent(value));
        check_query(&letter, &sent(value));
        match letters.remove(&format!("/header/{number}")) {
            Some(letter) => check_headers(&letter, &sent(value)),
            None => assert!(!fits_header(value), "{value:?} was not sent"),
        }
    }
    assert!(letters.is_empty(), "nobody asked for {letters:?}");
}

fn check_body(letter: &Letter, value: &str) {
    let fields: Map<String, Value> = each(|_| json!(value)).collect();
    let whole = json!({"outer": [fields, {"said": format!("<{value}>")}], "n": 1});
    assert_eq!(letter.json(), whole);
    assert_eq!(letter.method, "POST");
    assert_eq!(letter.header("content-type"), Some(&b"application/json"[..]));
}

fn check_query(letter: &Letter, value: &str) {
    let (_, query) = letter.target.split_once('?').unwrap();
    let pairs: Vec<(&str, &str)> = query.split('&').map(|p| p.split_once('=').unwrap()).collect();
    let names: Vec<&str> = pairs.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, NAMES, "{value:?}");
    for (_, written) in pairs {
        assert_eq!(decoded(written), value.as_bytes(), "{value:?}");
    }
}

fn decoded(written: &str) -> Vec<u8> {
    let mut bytes = written.bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        let mut digit = || char::from(bytes.next().unwrap()).to_digit(16).unwrap();
        out.push(if byte == b'%' { u8::try_from(digit() * 16 + digit()).unwrap() } else { byte });
    }
    out
}

fn check_headers(letter: &Letter, value: &str) {
    for name in NAMES {
        let header = letter.header(&format!("x-{name}").to_lowercase());
        let header = header.unwrap_or_else(|| panic!("{value:?}: no {name}"));
        assert_eq!(text(header), format!("<{value}>"));
    }
    assert!(letter.headers.iter().all(|(name, _)| name != "x-injected"), "{letter:?}");
    assert_eq!(text(&letter.body), "{}");
}

#[test]
fn in_every_variable_and_every_sink() {
    let mailbox = Mailbox::open();
    let ground = ground(&mailbox);
    let env: BTreeMap<String, String> = ground.env.iter().cloned().collect();
    let mut setup = Setup { env: Arc::new(env), cwd: ground.root.clone(), ..Setup::default() };
    setup.in_memory = true;
    setup.options.trust = TrustMode::All;
    let gambrel = Gambrel::new(setup);
    let values: Vec<(usize, String)> = values().into_iter().enumerate().collect();
    for (number, value) in &values {
        let native = event(value, *number);
        let mut event = gambrel.receive("unified", native.as_bytes()).unwrap();
        let reply = gambrel.fire(&mut event).reply;
        check_commands(&ground, value, &serde_json::from_slice(&reply.stdout).unwrap());
    }
    check_letters(&mailbox, &values);
    nothing_ran(&ground, "one of them");
}

#[test]
fn through_the_program_and_its_supervisors() {
    let mailbox = Mailbox::open();
    let ground = ground(&mailbox);
    let values: Vec<(usize, String)> = values().into_iter().enumerate().step_by(SAMPLE).collect();
    for (number, value) in &values {
        let output = ground.run(&["fire", "--from", "unified"], event(value, *number).as_bytes());
        let reply = serde_json::from_slice(&output.stdout);
        let reply = reply.unwrap_or_else(|_| panic!("{value:?}: {}", text(&output.stderr)));
        check_commands(&ground, value, &reply);
    }
    check_letters(&mailbox, &values);
    nothing_ran(&ground, "one of them");
}

/// What a person answers, and what a child leaves, is as foreign as any value.
#[test]
fn in_answers_and_in_outputs_of_children() {
    let answer = Arc::new(std::sync::Mutex::new(String::new()));
    let message = Arc::clone(&answer);
    let mailbox = Mailbox::answering(move |letter| {
        let (link, message) = (letter.link(), message.lock().unwrap().clone());
        std::thread::spawn(move || post(&link, "approve", &message));
        Some(200)
    });
    let ground = with_children(Ground::new(), COPY);
    ground.script("record.sh", RECORD);
    let names = ["HOOK_RESPONSE", "SPAWN_OUTPUT"];
    let ask = json!({"type": "webhook", "url": mailbox.url("/ask"), "await": true,
        "callback_port": quiet_port(), "timeout": 30, "body": {"link": "${CALLBACK_URL}"}});
    let hooks = json!({"hooks": {"on_error": [
        ask,
        {"type": "spawn", "pipeline": "copy", "inputs": {"value": "${ERROR}"}},
        shell(&format!("printf '%s\\0' {} > shell.out", quoted(&names))),
        shell(&format!("./record.sh {}", quoted(&names))),
    ]}});
    ground.file(".gambrel/hooks.yaml", &hooks.to_string());
    for (number, value) in values().into_iter().enumerate().step_by(SAMPLE) {
        answer.lock().unwrap().clone_from(&value);
        let output = ground.run(&["fire", "--from", "unified"], event(&value, number).as_bytes());
        nothing_ran(&ground, &value);
        let said = json!({"action": "approve", "message": value});
        let told = text(&std::fs::read(ground.root.join("shell.out")).unwrap_or_default());
        let words: Vec<&str> = told.split_terminator('\0').collect();
        assert_eq!(words.len(), 6, "{value:?}: {told:?} {}", text(&output.stdout));
        for (nth, word) in words.iter().enumerate() {
            let whole = if nth < 3 { said.clone() } else { json!({"value": value}) };
            assert_eq!(serde_json::from_str::<Value>(word).unwrap(), whole, "{word}");
        }
        let direct = std::fs::read(ground.root.join("direct.out")).unwrap();
        assert_eq!(text(&direct), told);
    }
}

#[test]
fn a_child_stays_among_its_siblings() {
    let ground = with_children(Ground::new(), COPY);
    let hooks = json!({"hooks": {"on_error": [{"type": "spawn", "pipeline": "copy"}]}});
    ground.file(".gambrel/hooks.yaml", &hooks.to_string());
    let far = "x".repeat(4_000);
    let words = ["3", "3/../../../canary", "3/../../../../../canary", "..", "/canary", &far];
    let one = words.iter().map(|word| json!({"SESSION": "s", "ITERATION": word}));
    let many = words.iter().map(|word| json!({"SESSION": word, "ITERATION": 3}));
    for vars in one.chain(many) {
        let native = json!({"hook_point": "on_error", "vars": vars}).to_string();
        let output = ground.run(&["fire", "--from", "unified"], native.as_bytes());
        let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(reply["actions"][0]["status"], "success", "{vars}: {reply}");
    }
    let runs = ground.root.join(".gambrel/runs");
    let inside = |path: &Path| std::fs::read_dir(path).unwrap().count();
    assert_eq!(inside(&runs), 1 + words.len());
    assert_eq!(inside(&runs.join("s/children")), words.len());
    assert_eq!(inside(&runs.join("s")), 1);
    nothing_ran(&ground, "a name");
}

#[test]
fn a_value_of_any_length_arrives_whole_or_not_at_all() {
    let ground = Ground::new();
    let hooks = json!({"hooks": {"on_error": [
        shell("printf '%s\\0' \"${STAGE}\" > shell.out"),
        shell("echo ${LAST_HOOK_STATUS} > then.out"),
    ]}});
    ground.file(".gambrel/hooks.yaml", &hooks.to_string());
    for length in [1_000, 100_000, 130_000, 2_000_000] {
        let value = "$(touch canary)'\"".repeat(length / 17);
        let native = json!({"hook_point": "on_error", "vars": {"STAGE": value}}).to_string();
        let output = ground.run(&["fire", "--from", "unified"], native.as_bytes());
        let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
        let status = reply["actions"][0]["status"].as_str().unwrap();
        let then = std::fs::read_to_string(ground.root.join("then.out")).unwrap();
        assert_eq!(then.trim(), status, "the next action knows");
        match status {
            "success" => recorded(&ground.root.join("shell.out"), &value, 1, 0),
            _ => assert!(!ground.root.join("shell.out").exists() && length > 100_000, "{reply}"),
        }
        nothing_ran(&ground, "a long one");
    }
}
