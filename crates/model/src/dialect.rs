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
    /// Its word on the command line.
    fn name(&self) -> &'static str;

    /// The table of its events: the one place where a native event name is written.
    fn events(&self) -> &'static [EventSpec];

    /// The table of its tools.
    fn tools(&self) -> &'static [ToolWord] {
        &[]
    }

    /// Whether its matchers may name a tool as its caller does, besides its own words.
    fn matches_caller_tool_names(&self) -> bool {
        false
    }

    /// Whether its callers have a word for what stands in a slot that only one dialect knows.
    fn accepts_foreign_slot(&self, slot: &Slot) -> bool {
        slot.dialect().is_none_or(|dialect| dialect == self.name())
    }

    /// Where its hooks may be, in the order in which they run.
    fn search(&self, roots: &SearchRoots) -> Vec<ConfigPath>;

    /// More places, which a file that was found names itself.
    fn referenced_files(&self, found: &LoadedFile, roots: &SearchRoots) -> Vec<ConfigPath> {
        let _ = (found, roots);
        Vec::new()
    }

    /// What is written there. Never stops at a bad entry.
    fn load_hooks(&self, found: &[LoadedFile], roots: &SearchRoots)
    -> (Vec<Draft>, Vec<Complaint>);

    /// Understands a native event.
    fn receive_event(
        &'static self,
        native: &[u8],
        arrival: CallerContext,
    ) -> Result<Event, Complaint>;

    /// What a condition of one of its hooks sees under a name.
    fn lookup_fact(&self, event: &Event, carry: &Carry, name: &str) -> Fact {
        let _ = (event, carry, name);
        Fact::Absent
    }

    /// Why one of its hooks is not for an event after all, by a rule of the dialect's own.
    fn skip_reason(&self, event: &Event, hook: &Hook) -> Option<String> {
        let _ = (event, hook);
        None
    }

    /// Why one of its hooks runs although a rule of the dialect's own is met only in doubt.
    fn run_remark(&self, event: &Event, hook: &Hook) -> Option<String> {
        let _ = (event, hook);
        None
    }

    /// The rows under which one of its hooks hears events.
    fn draft_specs(&self, draft: &Draft) -> Vec<&'static EventSpec> {
        let hears = |row: &&EventSpec| draft.event == ANY || row.name == draft.event;
        self.events().iter().filter(hears).collect()
    }

    /// Whether hooks of other dialects have heard this moment under another name already.
    fn already_fired(&self, event: &Event) -> bool {
        event.spec.duplicate_of_earlier
    }

    /// Whether a host may report an event to gambrel where no hook waits for it. Not where a hook
    /// takes the place of what the host does itself.
    fn is_reportable(&self, row: &EventSpec) -> bool {
        let _ = row;
        true
    }

    /// Names that an event leaves in its session's memory, to be seen by later ones.
    fn session_flags(&self, event: &Event) -> Vec<String> {
        let _ = event;
        Vec::new()
    }

    /// How long a live host of this dialect waits for the answer to an event.
    fn host_timeout(&self, event: &Event) -> Option<Duration> {
        let _ = event;
        None
    }

    /// What a hook is to be run with.
    fn stage_call(&self, event: &Event, hook: &Hook, carry: &Carry) -> Call;

    /// What a hook's outcome means.
    fn read_outcome(&self, event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict;

    /// What a hook's outcome leaves to the dialect's next hook.
    fn update_carry(&self, hook: &Hook, outcome: &Outcome, last: &mut PreviousHook) {
        let _ = hook;
        last.note(outcome);
    }

    /// How a caller is told. Only spells: what can be said was settled before.
    fn write_reply(&self, event: &Event, decision: &Decision) -> Reply;
}
