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
mod verdict;

use gambrel_model::{
    Call, CallerContext, Carry, Complaint, ConfigPath, Decision, Dialect, Draft, Event, EventSpec,
    Hook, LoadedFile, Outcome, Reply, SearchRoots, ToolWord, Verdict,
};

/// The dialect of oh-my-pi and pi.
pub struct Omp;

impl Dialect for Omp {
    fn name(&self) -> &'static str {
        "omp"
    }

    fn events(&self) -> &'static [EventSpec] {
        events::EVENTS
    }

    fn tools(&self) -> &'static [ToolWord] {
        events::TOOLS
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

    fn draft_specs(&self, draft: &Draft) -> Vec<&'static EventSpec> {
        let newer = draft.config[edition::EDITION_FIELD] == edition::EXTENSIONS;
        (if newer { events::extensions_events() } else { events::EVENTS }).iter().collect()
    }

    fn already_fired(&self, event: &Event) -> bool {
        event.spec.duplicate_of_earlier
            || events::earlier_twin(event.spec)
                .is_some_and(|row| event.session_counts.contains_key(&session_flag(row)))
    }

    fn session_flags(&self, event: &Event) -> Vec<String> {
        let later =
            |row: &&EventSpec| !row.duplicate_of_earlier && events::earlier_twin(row).is_some();
        let first = event.is_from(self)
            && events::earlier_twin(event.spec).is_none()
            && events::same_moment(event.spec).any(|row| later(&row));
        first.then(|| session_flag(event.spec)).into_iter().collect()
    }

    fn skip_reason(&self, event: &Event, hook: &Hook) -> Option<String> {
        results::skip_reason(event, hook)
    }

    fn receive_event(
        &'static self,
        native: &[u8],
        arrival: CallerContext,
    ) -> Result<Event, Complaint> {
        payload::parse_event(self, native, arrival)
    }

    fn stage_call(&self, event: &Event, hook: &Hook, carry: &Carry) -> Call {
        call::stage_call(event, hook, carry)
    }

    fn read_outcome(&self, event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
        verdict::read_outcome(event, hook, outcome)
    }

    fn write_reply(&self, event: &Event, decision: &Decision) -> Reply {
        reply::write_reply(event, decision)
    }
}

/// The session flag of an event that has fired.
fn session_flag(row: &EventSpec) -> String {
    format!("omp:{}", row.name)
}
