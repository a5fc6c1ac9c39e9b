//! Claude Code (`contracts/claude/CONTRACT.md`): JSON on stdin, exit codes and JSON on stdout,
//! hooks in three levels of settings files. Pure translation that starts no process.

mod call;
mod config;
mod ecmascript;
mod events;
mod field_types;
mod frontmatter;
mod frontmatter_owner;
mod handler;
mod hook_input;
mod hook_policy;
mod hosts;
mod http_allowlists;
mod if_rule;
mod kill_switches;
mod matcher;
mod mcp_servers;
mod model_handler;
mod output;
mod partial_output;
mod payload;
mod plugin;
mod remote_handlers;
mod reply;
pub mod schema;
pub mod self_reference;
mod spill;
mod stdout;
#[cfg(test)]
mod tests;
mod tool_result;
mod tools;
mod verdict;

pub use events::first_version;

use std::time::Duration;

use gambrel_model::{
    Call, CallerContext, Carry, Complaint, ConfigPath, Decision, Dialect, Draft, Event, EventSpec,
    Hook, LoadedFile, Outcome, Reply, SearchRoots, ToolWord, Verdict,
};

/// The dialect of Claude Code's settings files.
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
        config::config_paths(roots)
    }

    fn referenced_files(&self, found: &LoadedFile, roots: &SearchRoots) -> Vec<ConfigPath> {
        plugin::referenced_files(found, roots)
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

    fn skip_reason(&self, event: &Event, hook: &Hook) -> Option<String> {
        frontmatter_owner::skip_reason(event, hook).or_else(|| if_rule::skip_reason(event, hook))
    }

    fn is_reportable(&self, row: &EventSpec) -> bool {
        !events::makes_worktree(row)
    }

    fn run_remark(&self, event: &Event, hook: &Hook) -> Option<String> {
        if_rule::run_remark(event, hook)
    }

    fn session_flags(&self, event: &Event) -> Vec<String> {
        frontmatter_owner::invoked_skill_flags(event)
    }

    fn host_timeout(&self, event: &Event) -> Option<Duration> {
        Some(hook_policy::host_timeout(event.spec))
    }

    fn stage_call(&self, event: &Event, hook: &Hook, _: &Carry) -> Call {
        call::stage_call(event, hook)
    }

    fn read_outcome(&self, event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
        verdict::read_outcome(event, hook, outcome)
    }

    fn write_reply(&self, event: &Event, decision: &Decision) -> Reply {
        reply::write_reply(event, decision)
    }
}
