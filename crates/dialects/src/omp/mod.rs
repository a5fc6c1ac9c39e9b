//! oh-my-pi (`contracts/omp/CONTRACT.md`): TypeScript modules with typed events. Finds modules,
//! builds their calls and reads their results. The module action runs them.

mod call;
mod config;
pub mod declarations;
mod edition;
mod effects;
mod events;
mod fields;
mod payload;
mod reply;
mod results;
mod sample;
mod verdict;

pub use verdict::DETAILS_SLOT;

use gambrel_model::description::value_text;
use gambrel_model::{
    Call, Caller, CallerContext, Carry, Complaint, ConfigPath, Decision, Description, Dialect,
    DialectProperties, Draft, Event, EventSpec, Hook, HookAnswer, HookFormat, LoadedDrafts,
    LoadedFile, Outcome, ParsedEvent, Reply, SearchRoots, SessionMemory,
};

use serde_json::Value;

use crate::HOOK_PROPERTIES;

/// The row of oh-my-pi and pi.
pub static OMP: Dialect = Dialect {
    name: "omp",
    events: || events::EVENTS,
    tools: events::TOOLS,
    properties: DialectProperties {
        product: "oh-my-pi",
        project_markers: &[".omp"],
        event_keys: &["type"],
        session_keys: &["sessionId", "session"],
        incidental_keys: &["toolCallId"],
        rewritten_fields: &[
            ("output", "/content"),
            ("output", "/details"),
            (verdict::DETAILS_SLOT, "/details"),
            ("prompt", "/text"),
            ("prompt", "/prompt"),
            ("messages", "/messages"),
        ],
        agents: &["omp", "pi"],
        ..HOOK_PROPERTIES
    },
    caller: &Omp,
    hooks: Some(&Omp),
};

/// The dialect of oh-my-pi and pi.
struct Omp;

impl Caller for Omp {
    fn receive_event(&self, native: &[u8], from: &CallerContext) -> Result<ParsedEvent, Complaint> {
        payload::parse_event(native, from)
    }

    fn session_memory(&self, event: &Event) -> SessionMemory {
        let spec = event.spec;
        let twin = events::earlier_twin(spec);
        let has_fired = |row| event.session_counts.contains_key(&session_flag(row));
        let later =
            |row: &EventSpec| !row.duplicate_of_earlier && events::earlier_twin(row).is_some();
        let is_first =
            event.is_from(&OMP) && twin.is_none() && events::same_moment(spec).any(later);
        SessionMemory {
            already_fired: spec.duplicate_of_earlier || twin.is_some_and(has_fired),
            flags: is_first.then(|| session_flag(spec)).into_iter().collect(),
        }
    }

    fn sample_event(&self, event: &Event, spec: &'static EventSpec) -> Value {
        sample::sample_event(event, spec)
    }

    fn write_reply(&self, event: &Event, decision: &Decision) -> Reply {
        reply::write_reply(event, decision)
    }
}

impl HookFormat for Omp {
    fn search(&self, roots: &SearchRoots) -> Vec<ConfigPath> {
        config::config_paths(roots)
    }

    fn load_hooks(&self, found: &[LoadedFile], roots: &SearchRoots) -> LoadedDrafts {
        config::load_drafts(found, roots)
    }

    fn draft_specs(&self, events: &'static [EventSpec], draft: &Draft) -> Vec<&'static EventSpec> {
        let newer = draft.config[edition::EDITION_FIELD] == edition::EXTENSIONS;
        (if newer { events::extensions_events() } else { events }).iter().collect()
    }

    fn skip_reason(&self, event: &Event, hook: &Hook) -> Option<String> {
        results::skip_reason(event, hook)
    }

    fn stage_call(&self, event: &Event, hook: &Hook, carry: &Carry) -> Call {
        call::stage_call(event, hook, carry)
    }

    fn describe(&self, draft: &Draft) -> Description {
        let path = value_text(&draft.config["path"]);
        Description::new(draft, &["path"], path, &[])
    }

    fn read_outcome(&self, event: &Event, hook: &Hook, outcome: &Outcome) -> HookAnswer {
        HookAnswer::new(verdict::read_outcome(event, hook, outcome), outcome)
    }
}

/// The session flag of an event that has fired.
fn session_flag(row: &EventSpec) -> String {
    format!("omp:{}", row.name)
}
