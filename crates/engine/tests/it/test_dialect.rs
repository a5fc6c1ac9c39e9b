//! Two dialects with the same events; only hooks of the second one can veto the end of a turn. Hooks are JSON objects in `NAME.json`; a hook's `answer`
//! is what it prints.

use gambrel_model::{
    Audience, Call, Caller, CallerContext, Carry, Complaint, ConfigPath, Decision, Dialect,
    DialectProperties, Disabled, Draft, End, Event, EventSpec, Expect, Facts, Hook, HookAnswer,
    HookFormat, HookPolicy, LoadedFile, MatcherText, Moment, Order, Outcome, ParsedEvent, Pass,
    PatchRule, Powers, Reply, Ruling, Scope, SearchRoots, Slot, Source, SourceSpan, SpannedText,
    Subject, Tool, Verdict,
};
use serde::Deserialize;
use serde_json::{Value, json};

pub static FIRST: Dialect = Dialect {
    name: "first",
    events: || &FIRST_EVENTS,
    tools: &[],
    properties: DialectProperties::DEFAULT,
    caller: &TestCaller,
    hooks: Some(&TestFormat("first.json")),
};

pub static SECOND: Dialect = Dialect {
    name: "second",
    hooks: Some(&TestFormat("second.json")),
    events: || &SECOND_EVENTS,
    tools: &[],
    properties: DialectProperties::DEFAULT,
    caller: &TestCaller,
};

pub static TABLE: &[&Dialect] = &[&FIRST, &SECOND];

const MESSAGES: Powers =
    Powers::MESSAGE_AGENT.union(Powers::MESSAGE_NEXT_TURN).union(Powers::MESSAGE_USER);
const RULINGS: Powers = Powers::ALLOW.union(Powers::ASK).union(Powers::DENY).union(Powers::HALT);
const ALL: Powers = RULINGS.union(MESSAGES);

const fn row(name: &'static str, moment: Moment, order: Order, can: Powers) -> EventSpec {
    EventSpec::new(name, moment).with_order(order).with_hook_powers(ALL).with_caller_powers(can)
}

const TURN_ENDS: EventSpec =
    row("turn_ends", Moment::IterationEnd, Order::Sequential, Powers::DENY);

static FIRST_EVENTS: [EventSpec; 5] = event_table(TURN_ENDS);
static SECOND_EVENTS: [EventSpec; 5] = event_table(TURN_ENDS.with_end_veto());

/// One event per order of hooks, and the events of a turn.
const fn event_table(turn_ends: EventSpec) -> [EventSpec; 5] {
    [
        row("at_once", Moment::ToolBefore, Order::Parallel, ALL)
            .with_subject(Subject::Tool)
            .with_rewrites(PatchRule::Last, &[Slot::Input]),
        row("until_refused", Moment::ToolPermission, Order::UntilRefused, ALL),
        row("in_order", Moment::ToolAfter, Order::Sequential, ALL),
        row("turn_begins", Moment::IterationStart, Order::Sequential, ALL),
        turn_ends,
    ]
}

struct TestCaller;

impl Caller for TestCaller {
    fn receive_event(&self, native: &[u8], _: &CallerContext) -> Result<ParsedEvent, Complaint> {
        let native: Value = serde_json::from_slice(native).expect("JSON");
        let name = native["event"].as_str().unwrap_or_default().to_owned();
        let spec = FIRST.find_spec(&name).expect("an event of the table");
        let tool = native.get("input").map(|input| Tool {
            name: "shell".into(),
            args: input.clone(),
            ..Tool::default()
        });
        let dialect = if native["from"] == "second" { &SECOND } else { &FIRST };
        let facts = Facts { tool, ..Facts::default() };
        let pass = Pass::deserialize(&native["pass"]).unwrap_or_default();
        let firing_key = native["firing_key"].as_str().map(str::to_owned);
        let parsed = ParsedEvent::new(dialect, spec, name, native);
        Ok(ParsedEvent { session: "s".into(), facts, pass, firing_key, ..parsed })
    }

    fn sample_event(&self, _: &Event, spec: &'static EventSpec) -> Value {
        json!({"event": spec.name, "input": {"command": "ls"}})
    }

    fn write_reply(&self, _: &Event, decision: &Decision) -> Reply {
        let words: Vec<&str> = decision.for_caller.messages_for(Audience::AgentNow).collect();
        Reply { stdout: words.join("\n").into_bytes(), ..Reply::default() }
    }
}

struct TestFormat(&'static str);

impl HookFormat for TestFormat {
    fn search(&self, _: &SearchRoots) -> Vec<ConfigPath> {
        vec![ConfigPath {
            path: self.0.into(),
            scope: Scope::Project,
            expect: Expect::File,
            tag: "",
        }]
    }

    fn load_hooks(&self, found: &[LoadedFile], _: &SearchRoots) -> (Vec<Draft>, Vec<Complaint>) {
        let hooks = |file: &LoadedFile| -> Vec<Draft> {
            let all: Vec<Value> = serde_json::from_str(&file.text).expect("a list of hooks");
            all.iter().enumerate().map(|(at, hook)| build_draft(file, at, hook)).collect()
        };
        (found.iter().flat_map(hooks).collect(), Vec::new())
    }

    fn stage_call(&self, event: &Event, hook: &Hook, carry: &Carry) -> Call {
        let input = event.facts.tool.as_ref().map(|tool| &tool.args);
        let body = json!({
            "name": hook.title(), "answer": hook.draft.config["answer"], "input": input,
            "previous": carry.previous_of(hook.dialect.name).ok,
        });
        Call { body, limits: hook.draft.policy.limits.clone(), ..Call::default() }
    }

    fn read_outcome(&self, _: &Event, hook: &Hook, outcome: &Outcome) -> HookAnswer {
        let verdict = match &outcome.end {
            End::TimedOut => hook.draft.policy.on_timeout.with_reason("it took too long"),
            _ => read_verdict(&outcome.stdout.to_text()),
        };
        HookAnswer::new(verdict, outcome)
    }
}

fn build_draft(file: &LoadedFile, at: usize, hook: &Value) -> Draft {
    let text = |key: &str| hook[key].as_str().map(str::to_owned);
    let path = file.place.path.clone();
    let place = path.display().to_string();
    let spot = SourceSpan { path, line: at + 1, ..SourceSpan::default() };
    let matcher = text("matcher").map(|text| SpannedText { text, ..SpannedText::default() });
    Draft {
        event: text("event").expect("an event"),
        source: Source { spot, scope: Scope::Project, base: file.base.clone() },
        name: text("name"),
        matcher: matcher.map_or(MatcherText::All, MatcherText::Pattern),
        action: "scripted".into(),
        config: json!({"answer": hook["answer"]}),
        policy: HookPolicy { max_refusals_in_row: hook["cap"].as_u64(), ..HookPolicy::default() },
        disabled: text("off").map(Disabled::off),
        dedup_key: text("same"),
        replaced_by: hook["replaced_by_line"].as_u64().map(|line| format!("{place}:{line}")),
        once: hook["once"] == true,
        ..Draft::default()
    }
}

/// Reads `{"ruling": "deny", "message": "…", "next": "…", "input": {…}}`.
fn read_verdict(text: &str) -> Verdict {
    let answer: Value = serde_json::from_str(text).unwrap_or_default();
    let ruling: Option<Ruling> = serde_json::from_value(answer["ruling"].clone()).ok();
    let mut verdict =
        ruling.map_or_else(Verdict::default, |ruling| Verdict::with_ruling(ruling, "because"));
    if let Some(text) = answer["message"].as_str() {
        verdict = verdict.with_message(Audience::AgentNow, text);
    }
    if let Some(text) = answer["next"].as_str() {
        verdict = verdict.with_message(Audience::AgentNextTurn, text);
    }
    match answer.get("input") {
        Some(input) => verdict.with_rewrite(Slot::Input, input.clone()),
        None => verdict,
    }
}
