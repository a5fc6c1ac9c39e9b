//! The trait of a dialect. One implementation per product; each is pure: text and values in, values
//! out.

use std::time::Duration;

use crate::call::Call;
use crate::carry::{Carry, PreviousHook};
use crate::complaint::Complaint;
use crate::condition::Fact;
use crate::config_path::{ConfigPath, LoadedFile, SearchRoots};
use crate::decision::{Decision, Reply};
use crate::event::{CallerContext, Event};
use crate::hook::{ANY, Draft, Hook};
use crate::outcome::Outcome;
use crate::spec::EventSpec;
use crate::tool::ToolWord;
use crate::verdict::{Slot, Verdict};

/// One product's format of events and hooks: a row of the table `DIALECTS`.
pub trait Dialect: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// Its event table, the only place for native event names.
    fn events(&self) -> &'static [EventSpec];

    /// The table of its tools.
    fn tools(&self) -> &'static [ToolWord] {
        &[]
    }

    /// Whether matchers may also use the caller's tool names.
    fn matches_caller_tool_names(&self) -> bool {
        false
    }

    /// Whether the caller can express a slot that belongs to one dialect.
    fn accepts_foreign_slot(&self, slot: &Slot) -> bool {
        slot.dialect().is_none_or(|dialect| dialect == self.name())
    }

    /// Where its hooks may be, in the order in which the hooks run.
    fn search(&self, roots: &SearchRoots) -> Vec<ConfigPath>;

    /// Further files that a loaded file names.
    fn referenced_files(&self, found: &LoadedFile, roots: &SearchRoots) -> Vec<ConfigPath> {
        let _ = (found, roots);
        Vec::new()
    }

    /// Reads hooks and complaints. A bad entry does not stop it.
    fn load_hooks(&self, found: &[LoadedFile], roots: &SearchRoots)
    -> (Vec<Draft>, Vec<Complaint>);

    /// Parses a native event.
    fn receive_event(
        &'static self,
        native: &[u8],
        arrival: CallerContext,
    ) -> Result<Event, Complaint>;

    /// The value of a name in a condition.
    fn lookup_fact(&self, event: &Event, carry: &Carry, name: &str) -> Fact {
        let _ = (event, carry, name);
        Fact::Absent
    }

    /// Why a rule of the dialect skips a hook for this event.
    fn skip_reason(&self, event: &Event, hook: &Hook) -> Option<String> {
        let _ = (event, hook);
        None
    }

    /// A remark for a hook that runs although a rule of the dialect matches only in doubt.
    fn run_remark(&self, event: &Event, hook: &Hook) -> Option<String> {
        let _ = (event, hook);
        None
    }

    /// The event specs for which a hook receives events.
    fn draft_specs(&self, draft: &Draft) -> Vec<&'static EventSpec> {
        let hears = |row: &&EventSpec| draft.event == ANY || row.name == draft.event;
        self.events().iter().filter(hears).collect()
    }

    /// Whether other dialects received this moment under an earlier name.
    fn already_fired(&self, event: &Event) -> bool {
        event.spec.duplicate_of_earlier
    }

    /// Whether a host may report an event for which no hook exists. False where a hook replaces
    /// work of the host.
    fn is_reportable(&self, row: &EventSpec) -> bool {
        let _ = row;
        true
    }

    /// Flags that an event sets in its session state.
    fn session_flags(&self, event: &Event) -> Vec<String> {
        let _ = event;
        Vec::new()
    }

    /// How long a live host of this dialect waits for the reply.
    fn host_timeout(&self, event: &Event) -> Option<Duration> {
        let _ = event;
        None
    }

    /// Builds the call of a hook.
    fn stage_call(&self, event: &Event, hook: &Hook, carry: &Carry) -> Call;

    /// Reads an outcome as a verdict.
    fn read_outcome(&self, event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict;

    /// Updates the values that the dialect's next hook receives.
    fn update_carry(&self, hook: &Hook, outcome: &Outcome, last: &mut PreviousHook) {
        let _ = hook;
        last.record_outcome(outcome);
    }

    /// Writes the native reply. It only formats; the decision is already degraded.
    fn write_reply(&self, event: &Event, decision: &Decision) -> Reply;
}
