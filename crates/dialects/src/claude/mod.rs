//! Claude Code (`contracts/claude/CONTRACT.md`): JSON on stdin, exit codes and JSON on stdout,
//! hooks in three levels of settings files. Pure translation; nothing here starts a process.

pub mod bridge;
mod call;
mod config;
mod ecmascript;
mod events;
mod fences;
mod frontmatter;
mod guard;
mod handler;
mod hosts;
mod judge;
mod kinds;
mod matcher;
mod native;
mod output;
mod owner;
mod partial;
mod payload;
mod plugin;
mod reach;
mod reply;
mod result;
pub mod schema;
mod servers;
mod spill;
mod stdout;
mod switches;
mod terms;
#[cfg(test)]
mod tests;
mod tools;
mod verdict;

pub use events::since;

use std::time::Duration;

use gambrel_model::{
    Arrival, Call, Carry, Complaint, Decision, Dialect, Draft, Event, EventSpec, Found, Hook,
    Outcome, Place, Reply, Roots, ToolWord, Verdict,
};

/// The dialect of settings files with three levels: event, matcher group, handlers.
pub struct Claude;

impl Dialect for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn events(&self) -> &'static [EventSpec] {
        events::EVENTS
    }

    fn tools(&self) -> &'static [ToolWord] {
        tools::TOOLS
    }

    fn places(&self, roots: &Roots) -> Vec<Place> {
        config::places(roots)
    }

    fn further(&self, found: &Found, roots: &Roots) -> Vec<Place> {
        plugin::further(found, roots)
    }

    fn load(&self, found: &[Found], roots: &Roots) -> (Vec<Draft>, Vec<Complaint>) {
        config::load(found, roots)
    }

    fn receive(&'static self, native: &[u8], arrival: Arrival) -> Result<Event, Complaint> {
        payload::receive(self, native, arrival)
    }

    fn objection(&self, event: &Event, hook: &Hook) -> Option<String> {
        owner::objection(event, hook).or_else(|| guard::objection(event, hook))
    }

    fn is_reportable(&self, row: &EventSpec) -> bool {
        !events::makes_worktree(row)
    }

    fn remark(&self, event: &Event, hook: &Hook) -> Option<String> {
        guard::remark(event, hook)
    }

    fn marks(&self, event: &Event) -> Vec<String> {
        owner::marks(event)
    }

    fn patience(&self, event: &Event) -> Option<Duration> {
        Some(terms::patience(event.row))
    }

    fn stage(&self, event: &Event, hook: &Hook, _: &Carry) -> Call {
        call::stage(event, hook)
    }

    fn read(&self, event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
        verdict::read(event, hook, outcome)
    }

    fn reply(&self, event: &Event, decision: &Decision) -> Reply {
        reply::reply(event, decision)
    }
}
