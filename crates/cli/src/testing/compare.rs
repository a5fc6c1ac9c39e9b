//! Compares what a case expects with what happened.

use gambrel_model::text::join_lines;
use serde_json::{Value, json};

use super::case_file::{CaseExpect, ReplyExpect};
use super::case_folder::CaseFolder;
use super::case_run::Observation;

/// A difference between what is expected and what was observed.
#[derive(Debug, PartialEq, Eq)]
pub struct CaseDifference {
    /// What differs: `ruling`, `reply.permissionDecision`.
    pub what: String,
    /// What is expected.
    pub expected: String,
    /// What was observed.
    pub observed: String,
}

/// All differences of one step.
pub fn find_differences(
    expect: &CaseExpect,
    observed: &Observation,
    folder: &CaseFolder,
) -> Vec<CaseDifference> {
    let mut found = Differences { folder, list: Vec::new() };
    let decision = &observed.decision;
    found.check_equal("ruling", expect.ruling.as_deref(), text_of(decision, "ruling"));
    found.check_equal("said", expect.for_caller.as_deref(), text_of(decision, "said"));
    found.check_hooks(expect, decision);
    for (key, expected) in &expect.texts {
        found.check_texts(key, expected, &observed_texts(decision, key));
    }
    let losses = texts_under(&decision["losses"], "what");
    for loss in expect.losses.iter().filter(|loss| !losses.contains(loss)) {
        found.add("losses", loss, &losses.join("\n"));
    }
    if let Some(pattern) = &expect.decision {
        found.check_pattern("decision", &folder.substitute_value(pattern), decision);
    }
    if let Some(reply) = &expect.reply {
        found.check_reply(reply, observed);
    }
    found.check_files(expect);
    found.list
}

struct Differences<'f> {
    folder: &'f CaseFolder,
    list: Vec<CaseDifference>,
}

impl Differences<'_> {
    fn add(&mut self, what: &str, expected: &str, observed: &str) {
        let (what, expected) = (what.to_owned(), expected.to_owned());
        self.list.push(CaseDifference { what, expected, observed: observed.to_owned() });
    }

    fn check_equal(&mut self, what: &str, expected: Option<&str>, observed: &str) {
        if let Some(expected) = expected.filter(|expected| *expected != observed) {
            self.add(what, expected, observed);
        }
    }

    fn check_hooks(&mut self, expect: &CaseExpect, decision: &Value) {
        let trail = decision["trail"].as_array().map(Vec::as_slice).unwrap_or_default();
        if let Some(ran) = &expect.ran {
            let steps: Vec<&Value> =
                trail.iter().filter(|s| s["ran"] == true && s["recheck"] != true).collect();
            let fits = ran.len() == steps.len()
                && ran.iter().zip(&steps).all(|(name, step)| is_hook(step, name));
            if !fits {
                let titles: Vec<String> =
                    steps.iter().map(|step| join_lines(text_of(step, "title"))).collect();
                self.add("ran", &ran.join("\n"), &titles.join("\n"));
            }
        }
        for (name, part) in &expect.skipped {
            let part = self.folder.substitute(part);
            let step = trail.iter().find(|step| step["ran"] == false && is_hook(step, name));
            let why = step.map(|step| text_of(step, "why"));
            match why {
                Some(why) if why.contains(&part) => {}
                Some(why) => self.add(&format!("skipped {name}"), &part, why),
                None => self.add(&format!("skipped {name}"), &part, "it is not among the skipped"),
            }
        }
    }

    /// Each text has the expected part, and there are no others.
    fn check_texts(&mut self, what: &str, expected: &[String], observed: &[String]) {
        let fits = expected.len() == observed.len()
            && expected.iter().zip(observed).all(|(part, text)| text.contains(part));
        if !fits {
            self.add(what, &expected.join("\n"), &observed.join("\n"));
        }
    }

    /// A pattern: objects may have more keys, lists and scalars must be equal, and `"*"` matches any
    /// value but null.
    fn check_pattern(&mut self, at: &str, pattern: &Value, value: &Value) {
        match (pattern, value) {
            (Value::String(any), observed) if any == "*" && !observed.is_null() => {}
            (Value::Object(pattern), Value::Object(object)) => {
                for (key, pattern) in pattern {
                    let value = object.get(key).unwrap_or(&Value::Null);
                    self.check_pattern(&format!("{at}.{key}"), pattern, value);
                }
            }
            (Value::Array(pattern), Value::Array(items)) if pattern.len() == items.len() => {
                for (index, (pattern, value)) in pattern.iter().zip(items).enumerate() {
                    self.check_pattern(&format!("{at}[{index}]"), pattern, value);
                }
            }
            (pattern, value) if pattern == value => {}
            (pattern, value) => self.add(at, &show(pattern), &show(value)),
        }
    }

    fn check_reply(&mut self, expect: &ReplyExpect, observed: &Observation) {
        let json = serde_json::from_str::<Value>(&observed.stdout).unwrap_or(Value::Null);
        let shown =
            |json: &Value| if json.is_null() { observed.stdout.clone() } else { show(json) };
        if let Some(expected) = &expect.json {
            let expected = self.folder.substitute_value(expected);
            if expected != json {
                self.add("reply", &show(&expected), &shown(&json));
            }
        }
        if let Some(pattern) = &expect.like {
            self.check_pattern("reply", &self.folder.substitute_value(pattern), &json);
        }
        for path in &expect.without {
            let value = path.split('.').try_fold(&json, |value, key| value.get(key));
            if let Some(value) = value {
                self.add(&format!("reply.{path}"), "absent", &show(value));
            }
        }
        let text = expect.text.as_ref().map(|text| self.folder.substitute(text));
        self.check_equal("reply", text.as_deref(), &observed.stdout);
        if let Some(part) = expect.stderr.as_ref().filter(|p| !observed.stderr.contains(*p)) {
            self.add("stderr", part, &observed.stderr);
        }
        if let Some(exit) = expect.exit.filter(|exit| *exit != i64::from(observed.exit)) {
            self.add("exit", &exit.to_string(), &observed.exit.to_string());
        }
    }

    fn check_files(&mut self, expect: &CaseExpect) {
        for path in &expect.absent {
            if self.folder.place_of(path).is_ok_and(|place| place.exists()) {
                self.add(&format!("file {path}"), "absent", "it is there");
            }
        }
        for (path, part) in &expect.files {
            let part = self.folder.substitute(part);
            let text = self.folder.read_file(path);
            match text {
                None => self.add(&format!("file {path}"), &part, "there is no such file"),
                Some(text) if !text.contains(&part) => {
                    self.add(&format!("file {path}"), &part, &text);
                }
                Some(_) => {}
            }
        }
    }
}

/// A hook is named by a part of its title, its command or its file.
fn is_hook(step: &Value, name: &str) -> bool {
    let command = step["command"].to_string();
    [text_of(step, "title"), text_of(step, "source"), &command].iter().any(|t| t.contains(name))
}

fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn texts_under(list: &Value, key: &str) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items.map(|item| text_of(item, key).to_owned()).collect()
}

/// The texts of one list of a decision.
fn observed_texts(decision: &Value, key: &str) -> Vec<String> {
    match key {
        "reasons" => texts_under(&decision["reasons"], "text"),
        "complaints" => {
            let complaints = decision["complaints"].as_array().into_iter().flatten();
            let show = |c: &Value| {
                let (message, help) = (text_of(c, "message"), text_of(c, "help"));
                format!("{}:{}: {message} ({help})", c["line"], c["column"])
            };
            complaints.map(show).collect()
        }
        key => {
            let texts = decision[key].as_array().into_iter().flatten();
            texts.filter_map(Value::as_str).map(str::to_owned).collect()
        }
    }
}

/// A value as it is shown in a difference.
fn show(value: &Value) -> String {
    match value {
        Value::Null => "(nothing)".to_owned(),
        Value::String(text) => text.clone(),
        Value::Object(_) | Value::Array(_) => format!("{value:#}"),
        other => json!(other).to_string(),
    }
}
