//! A toy contract: one file `toy.txt` with lines `EVENT COMMAND`; a hook refuses by printing `no`.
//! One folder and one row: that is all a dialect needs.

use gambrel::model::{
    Arrival, Call, Carry, Complaint, Decision, Dialect, Draft, Ear, Event, EventSpec, Facts, Found,
    Holding, Hook, Moment, Order, Outcome, PatchRule, Place, Powers, Program, Reply, Roots, Ruling,
    Scope, Shell, Slot, Source, Spot, Tool, ToolKind, ToolWord, Verdict,
};
use serde_json::{Value, json};

pub struct Toy;

static EVENTS: &[EventSpec] = &[
    EventSpec::new("about-to", Moment::ToolBefore)
        .order(Order::InTurn)
        .rewrites(PatchRule::Last, &[Slot::Input])
        .may(Powers::DENY.and(Powers::TELL))
        .can(Powers::DENY.and(Powers::TELL)),
    EventSpec::new("began", Moment::SessionStart).may(Powers::TELL).can(Powers::TELL),
];

static TOOLS: &[ToolWord] = &[ToolWord {
    kind: ToolKind::Shell,
    shape: "shell",
    name: "run",
    fields: &[("command", "line")],
}];

impl Dialect for Toy {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn events(&self) -> &'static [EventSpec] {
        EVENTS
    }

    fn tools(&self) -> &'static [ToolWord] {
        TOOLS
    }

    fn places(&self, _: &Roots) -> Vec<Place> {
        vec![Place {
            path: "toy.txt".into(),
            scope: Scope::Project,
            holding: Holding::Text,
            tag: "toy",
        }]
    }

    fn load(&self, found: &[Found], _: &Roots) -> (Vec<Draft>, Vec<Complaint>) {
        let mut drafts = Vec::new();
        for file in found {
            for (n, line) in file.text.lines().enumerate() {
                let Some((event, command)) = line.split_once(' ') else { continue };
                let spot = Spot {
                    path: file.place.path.clone(),
                    line: n + 1,
                    column: 1,
                    ..Spot::default()
                };
                drafts.push(Draft {
                    event: event.into(),
                    source: Source { spot, scope: Scope::Project, base: file.base.clone() },
                    action: "shell".into(),
                    config: json!({"command": command}),
                    ..Draft::default()
                });
            }
        }
        (drafts, Vec::new())
    }

    fn receive(&'static self, native: &[u8], arrival: Arrival) -> Result<Event, Complaint> {
        let native: Value = serde_json::from_slice(native)
            .map_err(|e| Complaint::error(Spot::default(), e.to_string()))?;
        let name = native["what"].as_str().unwrap_or_default().to_owned();
        let row = EVENTS.iter().find(|row| row.name == name);
        let row = row.ok_or_else(|| Complaint::error(Spot::default(), "no such event"))?;
        let tool = native.get("with").map(|with| Tool::from_native(TOOLS, "run", with));
        Ok(Event {
            id: arrival.id,
            at: arrival.at,
            from: self,
            row,
            name,
            moment: row.moment.clone(),
            session: "toy".into(),
            cwd: arrival.cwd.clone(),
            project: arrival.cwd,
            facts: Facts { tool, ..Facts::default() },
            native,
            line: None,
            patched: Default::default(),
            seen: Default::default(),
            secrets: arrival.secrets,
            env: arrival.env,
            caller: arrival.caller,
        })
    }

    fn stage(&self, event: &Event, hook: &Hook, _: &Carry) -> Call {
        let line = event.facts.tool.as_ref().map(|tool| tool.to_native(TOOLS).1);
        let text = hook.draft.config["command"].as_str().unwrap_or_default().to_owned();
        Call {
            program: Program::Shell { shell: Shell::Sh, text },
            stdin: line.map(|line| line.to_string().into_bytes()),
            cwd: event.cwd.clone(),
            ..Call::default()
        }
    }

    fn read(&self, _: &Event, _: &Hook, outcome: &Outcome) -> Verdict {
        match outcome.stdout.text().trim() {
            "no" => Verdict::ruled(Ruling::Deny, "the toy says no"),
            "" => Verdict::default(),
            words => Verdict::says(Ear::Agent, words),
        }
    }

    fn reply(&self, _: &Event, decision: &Decision) -> Reply {
        let words: Vec<&str> = decision.said.words(Ear::Agent).collect();
        let answer = json!({"go": !decision.said.ruling.refuses(), "why": decision.said.why(), "words": words});
        Reply { stdout: answer.to_string().into_bytes(), ..Reply::default() }
    }
}
