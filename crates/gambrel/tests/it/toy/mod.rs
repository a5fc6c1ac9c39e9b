//! A toy contract: one file `toy.txt` with lines `EVENT COMMAND`; a hook denies by printing `no`. A
//! command that begins with `=` is the answer itself. A dialect needs one folder and one row.

pub mod answer_action;

use gambrel_model::{
    Audience, Call, Caller, CallerContext, Carry, Complaint, ConfigPath, Decision, Dialect,
    DialectProperties, Draft, Event, EventSpec, Expect, Facts, Hook, HookAnswer, HookFormat,
    LoadedFile, Moment, Order, Outcome, ParsedEvent, PatchRule, Powers, Program, Reply, Ruling,
    Scope, SearchRoots, Shell, Slot, Source, SourceSpan, Tool, ToolKind, ToolWord, Verdict,
};
use serde_json::{Value, json};

struct Toy;

static EVENTS: &[EventSpec] = &[
    EventSpec::new("about-to", Moment::ToolBefore)
        .with_order(Order::Sequential)
        .with_rewrites(PatchRule::Last, &[Slot::Input])
        .with_hook_powers(Powers::DENY.union(Powers::MESSAGE_AGENT))
        .with_caller_powers(Powers::DENY.union(Powers::MESSAGE_AGENT)),
    EventSpec::new("began", Moment::SessionStart)
        .with_hook_powers(Powers::MESSAGE_AGENT)
        .with_caller_powers(Powers::MESSAGE_AGENT),
];

static TOOLS: &[ToolWord] = &[ToolWord {
    kind: ToolKind::Shell,
    shape: "shell",
    name: "run",
    fields: &[("command", "line")],
}];

pub static TOY: Dialect = Dialect {
    name: "toy",
    events: || EVENTS,
    tools: TOOLS,
    properties: DialectProperties::DEFAULT,
    caller: &Toy,
    hooks: Some(&Toy),
};

impl Caller for Toy {
    fn receive_event(&self, native: &[u8], _: &CallerContext) -> Result<ParsedEvent, Complaint> {
        let native: Value = serde_json::from_slice(native)
            .map_err(|e| Complaint::error(SourceSpan::default(), e.to_string()))?;
        let name = native["what"].as_str().unwrap_or_default().to_owned();
        let row = EVENTS.iter().find(|row| row.name == name);
        let row = row.ok_or_else(|| Complaint::error(SourceSpan::default(), "no such event"))?;
        let tool = native.get("with").map(|with| Tool::from_native(TOOLS, "run", with));
        let facts = Facts { tool, ..Facts::default() };
        let parsed = ParsedEvent::new(&TOY, row, name, native);
        Ok(ParsedEvent { session: "toy".into(), facts, ..parsed })
    }

    fn sample_event(&self, _: &Event, spec: &'static EventSpec) -> Value {
        json!({"what": spec.name, "with": {"line": "ls"}})
    }

    fn write_reply(&self, _: &Event, decision: &Decision) -> Reply {
        let words: Vec<&str> = decision.for_caller.messages_for(Audience::AgentNow).collect();
        let answer = json!({"go": !decision.for_caller.ruling.is_refusal(), "why": decision.for_caller.ruling_reasons(), "words": words});
        Reply { stdout: answer.to_string().into_bytes(), ..Reply::default() }
    }
}

impl HookFormat for Toy {
    fn search(&self, _: &SearchRoots) -> Vec<ConfigPath> {
        vec![ConfigPath {
            path: "toy.txt".into(),
            scope: Scope::Project,
            expect: Expect::File,
            tag: "toy",
        }]
    }

    fn load_hooks(&self, found: &[LoadedFile], _: &SearchRoots) -> (Vec<Draft>, Vec<Complaint>) {
        let mut drafts = Vec::new();
        for file in found {
            for (n, line) in file.text.lines().enumerate() {
                let Some((event, command)) = line.split_once(' ') else { continue };
                let spot = SourceSpan {
                    path: file.place.path.clone(),
                    line: n + 1,
                    column: 1,
                    ..SourceSpan::default()
                };
                drafts.push(Draft {
                    event: event.into(),
                    source: Source { spot, scope: Scope::Project, base: file.base.clone() },
                    action: if command.starts_with('=') { "answer" } else { "shell" }.into(),
                    config: json!({"command": command}),
                    ..Draft::default()
                });
            }
        }
        (drafts, Vec::new())
    }

    fn stage_call(&self, event: &Event, hook: &Hook, _: &Carry) -> Call {
        let line = event.facts.tool.as_ref().map(|tool| tool.to_native(TOOLS).1);
        let text = hook.draft.config["command"].as_str().unwrap_or_default().to_owned();
        if let Some(answer) = text.strip_prefix('=') {
            return Call { body: json!(answer), cwd: event.cwd.clone(), ..Call::default() };
        }
        Call {
            program: Program::Shell { shell: Shell::Sh, text },
            stdin: line.map(|line| line.to_string().into_bytes().into()),
            cwd: event.cwd.clone(),
            ..Call::default()
        }
    }

    fn read_outcome(&self, _: &Event, _: &Hook, outcome: &Outcome) -> HookAnswer {
        let verdict = match outcome.stdout.to_text().trim() {
            "no" => Verdict::with_ruling(Ruling::Deny, "the toy says no"),
            "" => Verdict::default(),
            words => Verdict::with_only_message(Audience::AgentNow, words),
        };
        HookAnswer::new(verdict, outcome)
    }
}
