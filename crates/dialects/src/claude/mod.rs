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
    Call, CallerContext, Carry, Complaint, ConfigPath, Decision, Dialect, Draft, Event, EventSpec,
    Hook, LoadedFile, Outcome, Reply, SearchRoots, ToolWord, Verdict,
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

    fn search(&self, roots: &SearchRoots) -> Vec<ConfigPath> {
        config::places(roots)
    }

    fn referenced_files(&self, found: &LoadedFile, roots: &SearchRoots) -> Vec<ConfigPath> {
        plugin::further(found, roots)
    }

    fn load_hooks(
        &self,
        found: &[LoadedFile],
        roots: &SearchRoots,
    ) -> (Vec<Draft>, Vec<Complaint>) {
        config::load(found, roots)
    }

    fn receive_event(
        &'static self,
        native: &[u8],
        arrival: CallerContext,
    ) -> Result<Event, Complaint> {
        payload::receive(self, native, arrival)
    }

    fn skip_reason(&self, event: &Event, hook: &Hook) -> Option<String> {
        owner::objection(event, hook).or_else(|| guard::objection(event, hook))
    }

    fn is_reportable(&self, row: &EventSpec) -> bool {
        !events::makes_worktree(row)
    }

    fn run_remark(&self, event: &Event, hook: &Hook) -> Option<String> {
        guard::remark(event, hook)
    }

    fn session_flags(&self, event: &Event) -> Vec<String> {
        owner::marks(event)
    }

    fn host_timeout(&self, event: &Event) -> Option<Duration> {
        Some(terms::patience(event.spec))
    }

    fn stage_call(&self, event: &Event, hook: &Hook, _: &Carry) -> Call {
        call::stage(event, hook)
    }

    fn read_outcome(&self, event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
        verdict::read(event, hook, outcome)
    }

    fn write_reply(&self, event: &Event, decision: &Decision) -> Reply {
        reply::reply(event, decision)
    }
}
