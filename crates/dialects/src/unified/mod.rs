//! agent-pipelines and `.gambrel/hooks.yaml` (`contracts/unified/CONTRACT.md`): lists of actions at
//! hook points, in YAML. All files have the same grammar.

mod action;
mod answer;
mod child_pipeline;
mod config;
mod events;
mod hook_policy;
mod notes;
mod payload;
mod reply;
mod rule;
#[cfg(test)]
mod tests;
mod variables;
mod verdict;
mod webhook;

use gambrel_model::condition::Fact;
use gambrel_model::{
    Call, CallerContext, Carry, Complaint, ConfigPath, Decision, Dialect, Draft, Event, EventSpec,
    Hook, LoadedFile, Outcome, PreviousHook, Reply, SearchRoots, ToolWord, Verdict,
};

use crate::neutral::Neutral;

/// The dialect of agent-pipelines and of `.gambrel/hooks.yaml`.
pub struct Unified;

/// The name on the command line, and in `Carry`.
const NAME: &str = "unified";

impl Dialect for Unified {
    fn name(&self) -> &'static str {
        NAME
    }

    fn events(&self) -> &'static [EventSpec] {
        events::event_table()
    }

    fn tools(&self) -> &'static [ToolWord] {
        Neutral.tools()
    }

    fn matches_caller_tool_names(&self) -> bool {
        true
    }

    fn search(&self, roots: &SearchRoots) -> Vec<ConfigPath> {
        config::config_paths(roots)
    }

    fn load_hooks(
        &self,
        found: &[LoadedFile],
        roots: &SearchRoots,
    ) -> (Vec<Draft>, Vec<Complaint>) {
        config::load_drafts(found, roots)
    }

    fn receive_event(
        &'static self,
        native: &[u8],
        arrival: CallerContext,
    ) -> Result<Event, Complaint> {
        payload::parse_event(self, native, arrival)
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

    fn read_outcome(&self, event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
        verdict::read_outcome(event, hook, outcome)
    }

    fn update_carry(&self, hook: &Hook, outcome: &Outcome, last: &mut PreviousHook) {
        verdict::update_previous(hook, outcome, last);
    }

    fn write_reply(&self, event: &Event, decision: &Decision) -> Reply {
        reply::write_reply(event, decision)
    }
}
