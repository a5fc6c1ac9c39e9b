//! Sample events: what an agent might send, for trying a hook by hand. The facts are the same in
//! every dialect; each dialect writes them in its own form.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gambrel_model::tool::text_block;
use gambrel_model::{
    CallerContext, Dialect, Event, EventSpec, Facts, Moment, ParsedEvent, ReceivedEvent, TaskFacts,
    TeamFacts, Tool, ToolKind, ToolResult,
};
use serde_json::{Value, json};

use crate::neutral::NEUTRAL;

/// The session of sample events.
const SESSION: &str = "sample";
/// 2026-01-01T00:00:00Z, so that a sample is the same every time.
const SAMPLE_TIME_MS: u64 = 1_767_225_600_000;

/// A sample of an event, as an agent in this folder would send it.
pub fn sample_event(dialect: &Dialect, spec: &'static EventSpec, cwd: &Path) -> Value {
    dialect.caller.sample_event(&neutral_event(&spec.moment, cwd), spec)
}

/// A neutral event with sample facts.
fn neutral_event(moment: &Moment, cwd: &Path) -> Event {
    let spec = NEUTRAL.find_spec(moment.name()).unwrap_or(&NEUTRAL.events()[0]);
    let parsed = ParsedEvent {
        moment: moment.clone(),
        session: SESSION.to_owned(),
        cwd: Some(cwd.display().to_string()),
        facts: sample_facts(moment),
        ..ParsedEvent::new(&NEUTRAL, spec, moment.name().to_owned(), Value::Null)
    };
    let context = CallerContext {
        id: SESSION.to_owned(),
        at: SAMPLE_TIME_MS,
        cwd: cwd.to_owned(),
        env: Arc::default(),
        ..CallerContext::default()
    };
    Event::new(ReceivedEvent { parsed, context }, cwd.to_owned())
}

fn sample_facts(moment: &Moment) -> Facts {
    let text = |text: &str| Some(text.to_owned());
    let mut facts = Facts { iteration: Some(1), ..Facts::default() };
    match moment {
        Moment::ToolBefore | Moment::ToolPermission => facts.tool = Some(sample_tool()),
        Moment::ToolAfter => {
            let content = vec![text_block("all tests passed\n")];
            let result = ToolResult { content, ..ToolResult::default() };
            facts.tool = Some(Tool { result: Some(result), ..sample_tool() });
        }
        Moment::ToolFailed => {
            let error = text("command not found");
            let content = vec![text_block("command not found")];
            let result = ToolResult { content, error: error.clone(), ..ToolResult::default() };
            facts.tool = Some(Tool { result: Some(result), ..sample_tool() });
            facts.error = error;
        }
        Moment::TaskCreated | Moment::TaskCompleted | Moment::TaskFailed => {
            facts.task = Some(sample_task(moment));
            facts.member = text("ada");
            facts.team = Some(sample_team());
        }
        Moment::MemberIdle => {
            facts.member = text("ada");
            facts.team = Some(sample_team());
        }
        Moment::SubagentStart | Moment::SubagentStop => {
            facts.member = text("Explore");
            facts.agent = text("agent-1");
        }
        Moment::CompactBefore => facts.cause = text("manual"),
        Moment::CompactAfter => facts.summary = text("The parser is fixed."),
        Moment::Error => facts.error = text("the agent exited with code 1"),
        Moment::StageEnd => facts.stage = text("implement"),
        _ => facts.prompt = text("Fix the parser and run the tests."),
    }
    facts
}

fn sample_tool() -> Tool {
    Tool {
        kind: ToolKind::Shell,
        shape: "shell".to_owned(),
        name: "shell".to_owned(),
        args: json!({"command": "cargo test"}),
        id: Some("call-1".to_owned()),
        result: None,
    }
}

fn sample_task(moment: &Moment) -> TaskFacts {
    let status = match moment {
        Moment::TaskCreated => "pending",
        Moment::TaskFailed => "failed",
        _ => "completed",
    };
    TaskFacts {
        id: "7".to_owned(),
        subject: "Fix the parser".to_owned(),
        description: "Empty input ends in an error.".to_owned(),
        owner: Some("ada".to_owned()),
        status: status.to_owned(),
        native: Value::Null,
    }
}

fn sample_team() -> TeamFacts {
    let (id, dir) = (SESSION.to_owned(), PathBuf::from("/tmp/team"));
    TeamFacts { list: id.clone(), id, dir, style: "normal".to_owned() }
}

/// A neutral event as its caller sends it.
pub(crate) fn neutral_sample(event: &Event) -> Value {
    json!({
        "moment": event.moment.name(), "session": event.session,
        "cwd": event.cwd.display().to_string(), "facts": event.facts,
    })
}
