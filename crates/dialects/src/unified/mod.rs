//! agent-pipelines and `.gambrel/hooks.yaml` (`contracts/unified/CONTRACT.md`): lists of actions at
//! hook points, in YAML. All files have the same grammar.

mod action;
mod answer;
mod child_pipeline;
mod config;
mod describe;
mod events;
mod hook_policy;
mod notes;
mod payload;
mod plan_commands;
mod product_events;
mod question;
mod reply;
mod rule;
pub mod schema;
#[cfg(test)]
mod tests;
mod variables;
mod verdict;
mod webhook;

use gambrel_model::condition::Fact;
use gambrel_model::{
    Call, Caller, CallerContext, Carry, Complaint, ConfigPath, Decision, Description, Dialect,
    DialectProperties, Draft, Event, EventSpec, Hook, HookAnswer, HookFormat, LoadedDrafts,
    LoadedFile, Outcome, ParsedEvent, Reply, SearchRoots,
};

pub use plan_commands::project_agent;

use serde_json::Value;

use crate::HOOK_PROPERTIES;

use crate::neutral::payload::TOOLS;

/// The row of agent-pipelines and of `.gambrel/hooks.yaml`.
pub static UNIFIED: Dialect = Dialect {
    name: NAME,
    events: events::event_table,
    tools: TOOLS,
    properties: DialectProperties {
        product: "agent-pipelines",
        matches_caller_tool_names: true,
        project_markers: &[".gambrel"],
        event_keys: &["hook_point"],
        session_keys: &["session"],
        rewritten_fields: &[
            ("output", "/tool/result"),
            ("prompt", "/prompt"),
            ("prompt", "/vars/PROMPT"),
        ],
        ..HOOK_PROPERTIES
    },
    caller: &Unified,
    hooks: Some(&Unified),
};

/// The dialect of agent-pipelines and of `.gambrel/hooks.yaml`.
struct Unified;

/// The name on the command line, and in `Carry`.
const NAME: &str = "unified";

impl Caller for Unified {
    fn receive_event(&self, native: &[u8], from: &CallerContext) -> Result<ParsedEvent, Complaint> {
        payload::parse_event(native, from)
    }

    fn sample_event(&self, event: &Event, spec: &'static EventSpec) -> Value {
        payload::sample_event(event, spec.name)
    }

    fn write_reply(&self, event: &Event, decision: &Decision) -> Reply {
        reply::write_reply(event, decision)
    }
}

impl HookFormat for Unified {
    fn search(&self, roots: &SearchRoots) -> Vec<ConfigPath> {
        config::config_paths(roots)
    }

    fn load_hooks(&self, found: &[LoadedFile], roots: &SearchRoots) -> LoadedDrafts {
        config::load_drafts(found, roots)
    }

    fn lookup_fact(&self, event: &Event, carry: &Carry, name: &str) -> Fact {
        variables::condition_fact(event, carry, name)
    }

    fn skip_reason(&self, event: &Event, hook: &Hook) -> Option<String> {
        child_pipeline::skip_reason(event, hook)
    }

    fn stage_call(&self, event: &Event, hook: &Hook, carry: &Carry) -> Call {
        payload::stage_call(event, hook, carry)
    }

    fn describe(&self, draft: &Draft) -> Description {
        describe::describe(draft)
    }

    fn read_outcome(&self, event: &Event, hook: &Hook, outcome: &Outcome) -> HookAnswer {
        let carry = verdict::carry_update(hook, outcome);
        HookAnswer { verdict: verdict::read_outcome(event, hook, outcome), carry }
    }
}
