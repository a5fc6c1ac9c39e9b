//! Compares expectations with an observed run.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::case::{Expect, Given};

/// The observations of one run.
#[derive(Debug, Default)]
pub struct Observed {
    /// The neutral decision.
    pub decision: Value,
    pub stdout: String,
    pub stderr: String,
    pub exit: i32,
    /// By hook, one entry per run.
    pub given: BTreeMap<String, Vec<HookInput>>,
}

impl Observed {
    /// Whether a hook could not run because the program was built without its action.
    pub fn lacks_action(&self) -> bool {
        let texts = [self.decision.to_string(), self.stdout.clone(), self.stderr.clone()];
        texts.iter().any(|text| text.contains("` is built in"))
    }
}

/// The input of a hook in one run.
#[derive(Debug, Clone, Default)]
pub struct HookInput {
    pub stdin: String,
    pub env: BTreeMap<String, String>,
    pub args: Vec<String>,
}

/// Every difference, as text.
pub fn differences(expect: &Expect, observed: &Observed, root: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    let decision = &observed.decision;
    let trail = decision["trail"].as_array().cloned().unwrap_or_default();
    if let Some(ruling) = &expect.ruling {
        check_equal(&mut wrong, "ruling", ruling, decision["ruling"].as_str().unwrap_or_default());
    }
    if let Some(ruling) = &expect.for_caller {
        check_equal(&mut wrong, "said", ruling, decision["said"].as_str().unwrap_or_default());
    }
    if let Some(ran) = &expect.ran {
        let really: Vec<&Value> =
            trail.iter().filter(|s| s["ran"] == true && s["recheck"] != true).collect();
        let fits = ran.len() == really.len()
            && ran.iter().zip(&really).all(|(name, step)| is_hook(step, name));
        if !fits {
            let titles: Vec<&Value> = really.iter().map(|s| &s["title"]).collect();
            wrong.push(format!("ran: expected {ran:?}, saw {titles:?}"));
        }
    }
    for (name, part) in &expect.skipped {
        let step = trail.iter().find(|s| s["ran"] == false && is_hook(s, name));
        match step {
            None => wrong.push(format!("skipped: {name} is not among the skipped")),
            Some(step) if !text_of(step, "why").contains(part) => {
                wrong.push(format!("skipped: {name} because {:?}, expected {part:?}", step["why"]));
            }
            Some(_) => {}
        }
    }
    check_parts(
        &mut wrong,
        "reasons",
        expect.reasons.as_deref(),
        &texts(&decision["reasons"], "text"),
    );
    check_parts(&mut wrong, "context", expect.context.as_deref(), &texts(&decision["context"], ""));
    check_parts(&mut wrong, "notices", expect.notices.as_deref(), &texts(&decision["notices"], ""));
    let losses = texts(&decision["losses"], "what");
    for loss in expect.losses.iter().filter(|loss| !losses.contains(loss)) {
        wrong.push(format!("losses: no {loss} in {losses:?}"));
    }
    if let Some(pattern) = &expect.decision {
        check_pattern(&mut wrong, "decision", pattern, decision);
    }
    check_complaints(&mut wrong, expect, decision);
    check_reply(&mut wrong, expect, observed);
    for (hook, given) in &expect.given {
        check_input(
            &mut wrong,
            hook,
            given,
            observed.given.get(hook).map(Vec::as_slice).unwrap_or_default(),
        );
    }
    check_files(&mut wrong, expect, root);
    wrong
}

fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

/// A hook is named by a part of its title, its command or its file.
fn is_hook(step: &Value, name: &str) -> bool {
    let command = step["command"].to_string();
    [text_of(step, "title"), text_of(step, "source"), &command].iter().any(|t| t.contains(name))
}

fn check_equal(wrong: &mut Vec<String>, what: &str, expected: &str, observed: &str) {
    if expected != observed {
        wrong.push(format!("{what}: expected {expected:?}, saw {observed:?}"));
    }
}

fn texts(list: &Value, key: &str) -> Vec<String> {
    let text = |item: &Value| match key {
        "" => item.as_str().unwrap_or_default().to_owned(),
        key => text_of(item, key).to_owned(),
    };
    list.as_array().map(|items| items.iter().map(text).collect()).unwrap_or_default()
}

fn check_parts(
    wrong: &mut Vec<String>,
    what: &str,
    expected: Option<&[String]>,
    observed: &[String],
) {
    let Some(expected) = expected else { return };
    let fits = expected.len() == observed.len()
        && expected.iter().zip(observed).all(|(e, s)| s.contains(e));
    if !fits {
        wrong.push(format!("{what}: expected {expected:?}, saw {observed:?}"));
    }
}

fn check_complaints(wrong: &mut Vec<String>, expect: &Expect, decision: &Value) {
    let Some(expected) = &expect.complaints else { return };
    let list = decision["complaints"].as_array().cloned().unwrap_or_default();
    let observed: Vec<String> = list
        .iter()
        .map(|c| {
            format!(
                "{}:{}: {} ({})",
                c["line"],
                c["column"],
                text_of(c, "message"),
                text_of(c, "help")
            )
        })
        .collect();
    check_parts(wrong, "complaints", Some(expected), &observed);
}

fn check_reply(wrong: &mut Vec<String>, expect: &Expect, observed: &Observed) {
    let Some(reply) = &expect.reply else { return };
    let json = || serde_json::from_str::<Value>(&observed.stdout).unwrap_or(Value::Null);
    if let Some(expected) = &reply.json {
        let is = json();
        if *expected != is {
            wrong.push(format!("reply: expected {expected}, saw {}", observed.stdout));
        }
    }
    if let Some(pattern) = &reply.like {
        check_pattern(wrong, "reply", pattern, &json());
    }
    for path in &reply.without {
        let found = path.split('.').try_fold(&json(), |value, key| value.get(key)).is_some();
        if found {
            wrong.push(format!("reply: has {path}: {}", observed.stdout));
        }
    }
    if let Some(text) = &reply.text {
        check_equal(wrong, "reply text", text, &observed.stdout);
    }
    if let Some(part) =
        reply.stderr.as_ref().filter(|part| !observed.stderr.contains(part.as_str()))
    {
        wrong.push(format!("stderr: no {part:?} in {:?}", observed.stderr));
    }
    if let Some(exit) = reply.exit.filter(|exit| *exit != observed.exit) {
        wrong.push(format!("exit: expected {exit}, saw {}", observed.exit));
    }
}

/// A pattern: objects may have more keys, lists and scalars must be equal, and `"*"` matches any
/// value but null.
pub fn check_pattern(wrong: &mut Vec<String>, at: &str, pattern: &Value, value: &Value) {
    match (pattern, value) {
        (Value::String(any), observed) if any == "*" && !observed.is_null() => {}
        (Value::Object(pattern), Value::Object(object)) => {
            for (key, pattern) in pattern {
                let value = object.get(key).unwrap_or(&Value::Null);
                check_pattern(wrong, &format!("{at}.{key}"), pattern, value);
            }
        }
        (Value::Array(pattern), Value::Array(items)) if pattern.len() == items.len() => {
            for (n, (pattern, value)) in pattern.iter().zip(items).enumerate() {
                check_pattern(wrong, &format!("{at}[{n}]"), pattern, value);
            }
        }
        (pattern, value) if pattern == value => {}
        (pattern, value) => wrong.push(format!("{at}: expected {pattern}, saw {value}")),
    }
}

fn check_input(wrong: &mut Vec<String>, hook: &str, expect: &Given, runs: &[HookInput]) {
    if let Some(times) = expect.times.filter(|times| *times != runs.len()) {
        wrong.push(format!("{hook}: expected {times} runs, saw {}", runs.len()));
    }
    let Some(run) = runs.last() else {
        if expect.times != Some(0) {
            wrong.push(format!("{hook}: it was given nothing: it did not run"));
        }
        return;
    };
    if let Some(pattern) = &expect.stdin {
        let json = serde_json::from_str(&run.stdin).unwrap_or(Value::Null);
        check_pattern(wrong, &format!("{hook} stdin"), pattern, &json);
    }
    if let Some(text) = &expect.stdin_text {
        check_equal(wrong, &format!("{hook} stdin"), text, &run.stdin);
    }
    if let Some(secret) = expect.signed_by.as_ref().filter(|secret| !is_signed(run, secret)) {
        wrong.push(format!("{hook}: not signed with {secret}: {:?}", run.env));
    }
    let anything = |name: &str, value: &str| value == "*" && run.env.contains_key(name);
    for (name, value) in expect.env.iter().filter(|(name, value)| !anything(name, value)) {
        check_equal(
            wrong,
            &format!("{hook} env {name}"),
            value,
            run.env.get(name).map_or("(unset)", |v| v),
        );
    }
    for name in expect.no_env.iter().filter(|name| run.env.contains_key(*name)) {
        wrong.push(format!("{hook}: env has {name}"));
    }
    for (name, pattern) in &expect.env_json {
        let json = run.env.get(name).and_then(|text| serde_json::from_str(text).ok());
        check_pattern(wrong, &format!("{hook} env {name}"), pattern, &json.unwrap_or(Value::Null));
    }
    if let Some(args) = expect.args.as_ref().filter(|args| **args != run.args) {
        wrong.push(format!("{hook}: expected arguments {args:?}, saw {:?}", run.args));
    }
}

/// Whether a request has the right Standard Webhooks signature.
fn is_signed(run: &HookInput, secret: &str) -> bool {
    use base64::Engine as _;
    use hmac::{KeyInit as _, Mac as _};
    let base64 = base64::engine::general_purpose::STANDARD;
    let header = |name: &str| run.env.get(name).cloned().unwrap_or_default();
    let key = base64.decode(secret.trim_start_matches("whsec_")).unwrap();
    let mut mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(&key).unwrap();
    let signed = format!("{}.{}.{}", header("webhook-id"), header("webhook-timestamp"), run.stdin);
    mac.update(signed.as_bytes());
    let expected = format!("v1,{}", base64.encode(mac.finalize().into_bytes()));
    !header("webhook-id").is_empty() && header("webhook-signature") == expected
}

fn check_files(wrong: &mut Vec<String>, expect: &Expect, root: &Path) {
    let there = expect.absent.iter().filter(|path| root.join(path).exists());
    wrong.extend(there.map(|path| format!("files: {path} is there")));
    for (path, part) in &expect.files {
        // A `*` in the last segment matches any name.
        let full = root.join(path);
        let found = match path.split_once('*') {
            None => std::fs::read_to_string(&full).ok(),
            Some((head, tail)) => {
                let folder = root.join(head);
                let names = std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
                let mut fits = names.filter(|e| e.file_name().to_string_lossy().ends_with(tail));
                fits.next().and_then(|e| std::fs::read_to_string(e.path()).ok())
            }
        };
        match found {
            None => wrong.push(format!("files: no {path}")),
            Some(text) if !text.contains(part) => {
                wrong.push(format!("files: {path} has no {part:?}: {text}"))
            }
            Some(_) => {}
        }
    }
}
