//! Compares answers and replies with the published schemas: the dialect refuses exactly the answers
//! that do not fit, and every reply fits. The validator here is independent of the dialect's.

use gambrel_dialects::DIALECTS;
use gambrel_dialects::claude::schema::{Direction, event_names, event_schema};
use gambrel_model::{
    CallerContext, Captured, Decision, Dialect, End, Event, Hook, LoadedFile, Outcome, SearchRoots,
    Verdict,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn claude() -> &'static Dialect {
    DIALECTS.iter().find(|dialect| dialect.name == "claude").unwrap()
}

fn hook(event: &str) -> Hook {
    let settings = json!({"hooks": {event: [{"hooks": [{"type": "command", "command": "x"}]}]}});
    let roots = SearchRoots { root: "/p".into(), project: "/p".into(), ..SearchRoots::default() };
    let place = claude()
        .hooks
        .unwrap()
        .search(&roots)
        .into_iter()
        .find(|place| place.tag == "project")
        .unwrap();
    let text = settings.to_string();
    let found = LoadedFile { place, base: "/p".into(), text, entries: Vec::new() };
    let (mut drafts, _) = claude().hooks.unwrap().load_hooks(&[found], &roots);
    Hook::from_draft(claude(), drafts.remove(0)).0.unwrap()
}

fn event(name: &str) -> Event {
    let native = json!({"hook_event_name": name, "session_id": "s", "tool_name": "Bash",
        "tool_input": {"command": "ls"}, "tool_response": "x"});
    claude().receive_event(native.to_string().as_bytes(), CallerContext::default()).unwrap()
}

fn read(name: &str, answer: &Value, code: i32) -> Verdict {
    let stdout = Captured::from_text(&answer.to_string());
    let stderr = Captured::from_text("no");
    let outcome = Outcome { stdout, stderr, ..Outcome::from_end(End::Exited(code)) };
    claude().hooks.unwrap().read_outcome(&event(name), &hook(name), &outcome).verdict
}

fn is_bad(verdict: &Verdict) -> bool {
    verdict.gate_failures.iter().any(|why| why.starts_with("bad_output"))
}

fn fits(schema: &Value, value: &Value) -> bool {
    let kind = match schema["type"].as_str() {
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("number") => value.is_number(),
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        // Unknown types fit nothing.
        Some(_) => false,
        None => true,
    };
    let word = schema["enum"].as_array().is_none_or(|words| words.contains(value));
    let only = schema.get("const").is_none_or(|only| only == value);
    let has = |name: &Value| value.get(name.as_str().unwrap()).is_some();
    let whole = !value.is_object()
        || schema["required"].as_array().is_none_or(|names| names.iter().all(has));
    let fields = value.as_object().into_iter().flatten();
    let known = fields.filter_map(|(name, field)| Some((schema["properties"].get(name)?, field)));
    let items = value.as_array().into_iter().flatten().map(|item| (&schema["items"], item));
    let parts = known.chain(items).all(|(schema, part)| fits(schema, part));
    kind && word && only && whole && parts
}

const VALUES: &str = r#"[null, true, false, 5, -1.5, "", "x", "allow", "deny", "block", "approve", "accept",
    "decline", "ask", "defer", [], ["a"], ["a", 1], [{}], {}, {"a": 1},
    {"behavior": "allow"}, {"behavior": "deny", "message": "m", "interrupt": true}, {"behavior": 1}]"#;

/// Answers with one field of the schema each, for every field and every value.
fn answers(name: &str) -> Vec<Value> {
    let values: Vec<Value> = serde_json::from_str(VALUES).unwrap();
    let schema = event_schema(name, Direction::Output).unwrap();
    let fields = |of: &Value| -> Vec<String> {
        of["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
    };
    let own = &schema["properties"]["hookSpecificOutput"];
    let inner = &own["properties"]["decision"];
    let mut answers = vec![json!({}), json!({"unknown": 1})];
    for value in &values {
        let with = |key: &str, mut of: Map<String, Value>| {
            of.insert(key.to_owned(), value.clone());
            Value::Object(of)
        };
        let named = || Map::from_iter([("hookEventName".to_owned(), json!(name))]);
        answers.extend(fields(&schema).iter().map(|field| with(field, Map::new())));
        let owns = fields(own).into_iter().chain(["unknown".to_owned()]);
        answers
            .extend(owns.map(|field| json!({"hookSpecificOutput": with(field.as_str(), named())})));
        for behavior in ["allow", "deny"] {
            let decided = || Map::from_iter([("behavior".to_owned(), json!(behavior))]);
            answers.extend(fields(inner).iter().map(|field| {
                let mut own = named();
                own.insert("decision".into(), with(field, decided()));
                json!({"hookSpecificOutput": own})
            }));
        }
    }
    // An async request is not an answer.
    answers.retain(|answer| answer["async"] != true);
    answers
}

#[test]
fn refuses_exactly_the_answers_that_do_not_fit_the_schema() {
    let (mut refused, mut taken) = (0, 0);
    for name in event_names() {
        let schema = event_schema(name, Direction::Output).unwrap();
        for answer in answers(name) {
            let bad = is_bad(&read(name, &answer, 0));
            assert_eq!(bad, !fits(&schema, &answer), "{name}: {answer}");
            (refused, taken) = (refused + usize::from(bad), taken + usize::from(!bad));
        }
    }
    assert!(refused > 5_000 && taken > 1_000, "{refused} refused, {taken} taken");
}

#[test]
fn exit_code_two_blocks_with_any_answer() {
    for name in event_names() {
        let plain = read(name, &json!("plain text"), 2).ruling;
        for answer in answers(name) {
            let beside = read(name, &answer, 2).ruling;
            assert!(beside >= plain, "{name}: {answer}: {beside:?} instead of {plain:?}");
        }
    }
}

/// The reply to the answers of several hooks at one event, merged as in a firing.
fn replied(name: &str, printed: &[(Value, i32)]) -> (Verdict, String) {
    let (event, hook) = (event(name), hook(name));
    let row = hook.specs[0];
    let merged = printed.iter().fold(Verdict::default(), |all, (answer, code)| {
        all.then(read(name, answer, *code).within_hook_powers(row).0)
    });
    let for_caller = merged.keep_supported_rewrites(event.spec).0.degrade_for(event.spec).now;
    let decision = Decision::with_caller_verdict(for_caller.clone());
    let reply = claude().caller.write_reply(&event, &decision);
    (for_caller, String::from_utf8(reply.stdout).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn replies_fit_the_schema_and_have_the_strictest_ruling(
        at in any::<prop::sample::Index>(),
        picks in proptest::collection::vec((any::<prop::sample::Index>(), 0..3_i32), 1..4),
    ) {
        let all: Vec<&str> = event_names().collect();
        let name = *at.get(&all);
        let answers = answers(name);
        let printed: Vec<(Value, i32)> =
            picks.iter().map(|(pick, code)| (pick.get(&answers).clone(), *code)).collect();
        let (verdict, reply) = replied(name, &printed);
        let row = hook(name).specs[0];
        let ruling = |answer: &Value, code| read(name, answer, code).within_hook_powers(row).0.ruling;
        let strictest = printed.iter().map(|(answer, code)| ruling(answer, *code)).max();
        prop_assert_eq!(Some(verdict.ruling), strictest);
        if name != "WorktreeCreate" && !reply.is_empty() {
            let reply: Value = serde_json::from_str(&reply).unwrap();
            prop_assert!(fits(&event_schema(name, Direction::Output).unwrap(), &reply), "{name}: {printed:?}: {reply}");
        }
    }
}
