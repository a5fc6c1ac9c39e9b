//! Claude Code (`contracts/claude/CONTRACT.md`): JSON on stdin, exit codes and JSON on stdout,
//! hooks in three levels of settings files. Pure translation that starts no process.

mod call;
mod config;
mod describe;
mod ecmascript;
mod event_row;
mod events;
mod field_types;
mod findings;
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
pub mod sample;
pub mod schema;
pub mod self_reference;
pub mod settings_files;
mod spill;
mod stdout;
#[cfg(test)]
mod tests;
mod tool_result;
mod tools;
mod verdict;

pub use event_row::DEFAULT_TIMEOUT;
pub use events::first_version;

use gambrel_model::{
    Call, Caller, CallerContext, Carry, Complaint, ConfigPath, Decision, Description, Dialect,
    DialectProperties, Draft, Event, EventSpec, Hook, HookAnswer, HookFormat, LoadedDrafts,
    LoadedFile, Outcome, ParsedEvent, Reply, SearchRoots, SessionMemory,
};

use serde_json::Value;

use crate::HOOK_PROPERTIES;

/// The key of a hook's configuration that holds the folder of its plugin.
const PLUGIN_DIR_KEY: &str = "pluginRoot";

/// The row of Claude Code.
pub static CLAUDE: Dialect = Dialect {
    name: "claude",
    events: events::event_specs,
    tools: tools::TOOLS,
    properties: DialectProperties {
        product: "Claude Code",
        project_markers: &[".claude"],
        plugin_dir_key: Some(PLUGIN_DIR_KEY),
        event_keys: &["hook_event_name", "hookName"],
        session_keys: &["session_id"],
        incidental_keys: &["transcript_path", "tool_use_id"],
        rewritten_fields: &[
            ("output", "/tool_response"),
            ("output", "/error"),
            ("output", "/error_details"),
            ("claude.updatedMCPToolOutput", "/tool_response"),
            ("prompt", "/prompt"),
        ],
        agents: &["claude", "claude-agent-acp"],
        ..HOOK_PROPERTIES
    },
    caller: &Claude,
    hooks: Some(&Claude),
};

/// The dialect of Claude Code's settings files.
struct Claude;

impl Caller for Claude {
    fn receive_event(&self, native: &[u8], from: &CallerContext) -> Result<ParsedEvent, Complaint> {
        payload::parse_event(native, from)
    }

    fn session_memory(&self, event: &Event) -> SessionMemory {
        let flags = frontmatter_owner::invoked_skill_flags(event);
        SessionMemory { flags, ..SessionMemory::from_spec(event.spec) }
    }

    fn sample_event(&self, event: &Event, spec: &'static EventSpec) -> Value {
        sample::sample_event(event, spec)
    }

    fn write_reply(&self, event: &Event, decision: &Decision) -> Reply {
        reply::write_reply(event, decision)
    }
}

impl HookFormat for Claude {
    fn warn_script(&self, text: &str) -> Option<String> {
        findings::check_script(text)
    }

    fn search(&self, roots: &SearchRoots) -> Vec<ConfigPath> {
        config::config_paths(roots)
    }

    fn referenced_files(&self, found: &LoadedFile, roots: &SearchRoots) -> Vec<ConfigPath> {
        let mut files = plugin::referenced_files(found, roots);
        files.extend(mcp_servers::referenced_servers(found));
        files
    }

    fn load_hooks(&self, found: &[LoadedFile], roots: &SearchRoots) -> LoadedDrafts {
        config::load_drafts(found, roots)
    }

    fn skip_reason(&self, event: &Event, hook: &Hook) -> Option<String> {
        frontmatter_owner::skip_reason(event, hook).or_else(|| if_rule::skip_reason(event, hook))
    }

    fn run_remark(&self, event: &Event, hook: &Hook) -> Option<String> {
        if_rule::run_remark(event, hook)
    }

    fn stage_call(&self, event: &Event, hook: &Hook, _: &Carry) -> Call {
        call::stage_call(event, hook)
    }

    fn describe(&self, draft: &Draft) -> Description {
        describe::describe(draft)
    }

    fn read_outcome(&self, event: &Event, hook: &Hook, outcome: &Outcome) -> HookAnswer {
        HookAnswer::new(verdict::read_outcome(event, hook, outcome), outcome)
    }
}
