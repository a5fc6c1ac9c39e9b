//! A dialect: one row with its event table, and the traits of its two halves. The caller parses
//! native events and writes replies; the hook format finds hooks and runs them. Both are pure: text
//! and values in, values out.

use serde_json::Value;

use crate::call::Call;
use crate::carry::{Carry, HookAnswer};
use crate::complaint::Complaint;
use crate::condition::Fact;
use crate::config_path::{ConfigPath, LoadedFile, SearchRoots};
use crate::decision::{Decision, Reply};
use crate::description::Description;
use crate::event::{CallerContext, Event, ParsedEvent, ReceivedEvent};
use crate::hook::{ANY, Draft, Hook, LoadedDrafts};
use crate::outcome::Outcome;
use crate::spec::EventSpec;
use crate::tool::ToolWord;
use crate::verdict::Slot;

/// One product's format of events and hooks: a row of the table `DIALECTS`.
pub struct Dialect {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its event table, the only place for native event names. A function, because some tables are
    /// computed at their first use.
    pub events: fn() -> &'static [EventSpec],
    /// The table of its tools.
    pub tools: &'static [ToolWord],
    /// Small differences between dialects.
    pub properties: DialectProperties,
    /// Parses native events and writes native replies.
    pub caller: &'static dyn Caller,
    /// Finds hooks, builds their calls and reads their outcomes. `None` for a dialect without hooks.
    pub hooks: Option<&'static dyn HookFormat>,
}

/// Small differences between dialects.
#[derive(Debug, Clone, Copy)]
pub struct DialectProperties {
    /// The name of the product, for people; empty: the dialect's name.
    pub product: &'static str,
    /// Whether matchers may also use the caller's tool names.
    pub matches_caller_tool_names: bool,
    /// Whether the caller can express slots of other dialects.
    pub accepts_foreign_slots: bool,
    /// Files and folders that mark a project.
    pub project_markers: &'static [&'static str],
    /// Variables that name the project's folder.
    pub project_dir_vars: &'static [&'static str],
    /// Variables that name the folder of a hook's plugin, at the start of a path in its command.
    pub path_vars: &'static [&'static str],
    /// The key of a hook's configuration that holds this folder.
    pub plugin_dir_key: Option<&'static str>,
    /// Keys of a native event that hold its name.
    pub event_keys: &'static [&'static str],
    /// Keys of a native event that hold its session.
    pub session_keys: &'static [&'static str],
    /// Keys of a native event by which no hook decides: ids of the call, paths of transcripts.
    pub incidental_keys: &'static [&'static str],
    /// Slots, and the fields of a native event that hold them, as JSON pointers.
    pub rewritten_fields: &'static [(&'static str, &'static str)],
    /// Programs of agents that run hooks of this dialect themselves.
    pub agents: &'static [&'static str],
}

impl DialectProperties {
    /// A dialect without special properties.
    pub const DEFAULT: Self = Self {
        product: "",
        matches_caller_tool_names: false,
        accepts_foreign_slots: false,
        project_markers: &[],
        project_dir_vars: &[],
        path_vars: &[],
        plugin_dir_key: None,
        event_keys: &[],
        session_keys: &[],
        incidental_keys: &[],
        rewritten_fields: &[],
        agents: &[],
    };

    /// The fields of a native event that hold a slot, as JSON pointers.
    pub fn pointers_of(&self, slot: &Slot) -> impl Iterator<Item = &'static str> {
        let word = String::from(slot.clone());
        let fields = self.rewritten_fields.iter();
        fields.filter(move |(name, _)| *name == word).map(|(_, pointer)| *pointer)
    }
}

impl Dialect {
    /// The name of its product, for people.
    pub fn product(&self) -> &'static str {
        if self.properties.product.is_empty() { self.name } else { self.properties.product }
    }

    /// Its event table.
    pub fn events(&self) -> &'static [EventSpec] {
        (self.events)()
    }

    /// The row of an event's name. For an unknown name, the row with an empty name.
    pub fn find_spec(&self, name: &str) -> Option<&'static EventSpec> {
        let rows = self.events();
        let named = rows.iter().find(|row| row.name == name);
        named.or_else(|| rows.iter().find(|row| row.name.is_empty()))
    }

    /// Parses a native event of the project in the caller's folder.
    pub fn receive_event(&self, native: &[u8], context: CallerContext) -> Result<Event, Complaint> {
        let parsed = self.caller.receive_event(native, &context)?;
        let project = context.cwd.clone();
        Ok(Event::new(ReceivedEvent { parsed, context }, project))
    }

    /// Whether the caller can express a slot.
    pub fn accepts_slot(&self, slot: &Slot) -> bool {
        let is_own = slot.dialect().is_none_or(|dialect| dialect == self.name);
        is_own || self.properties.accepts_foreign_slots
    }
}

/// The half of a dialect that parses native events and writes native replies.
pub trait Caller: Sync {
    /// Parses a native event.
    fn receive_event(&self, native: &[u8], from: &CallerContext) -> Result<ParsedEvent, Complaint>;

    /// Writes the native reply. It only formats; the decision is already degraded.
    fn write_reply(&self, event: &Event, decision: &Decision) -> Reply;

    /// A sample of the native event of a row, with the facts of a neutral event.
    fn sample_event(&self, event: &Event, spec: &'static EventSpec) -> Value;

    /// What a session remembers of an event.
    fn session_memory(&self, event: &Event) -> SessionMemory {
        SessionMemory::from_spec(event.spec)
    }
}

/// What a session remembers of its events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionMemory {
    /// Whether other dialects received this moment under an earlier name.
    pub already_fired: bool,
    /// Flags that the event sets in its session state.
    pub flags: Vec<String>,
}

impl SessionMemory {
    /// The memory of an event that sets no flags.
    pub fn from_spec(spec: &EventSpec) -> Self {
        Self { already_fired: spec.duplicate_of_earlier, flags: Vec::new() }
    }
}

/// The half of a dialect that finds hooks, builds their calls and reads their outcomes.
pub trait HookFormat: Sync {
    /// Where its hooks may be, in the order in which the hooks run.
    fn search(&self, roots: &SearchRoots) -> Vec<ConfigPath>;

    /// Further files that a loaded file names.
    fn referenced_files(&self, found: &LoadedFile, roots: &SearchRoots) -> Vec<ConfigPath> {
        let _ = (found, roots);
        Vec::new()
    }

    /// Reads hooks and complaints. A bad entry does not stop it.
    fn load_hooks(&self, found: &[LoadedFile], roots: &SearchRoots) -> LoadedDrafts;

    /// The rows of the event table for which a hook receives events.
    fn draft_specs(&self, events: &'static [EventSpec], draft: &Draft) -> Vec<&'static EventSpec> {
        let is_any = draft.event == ANY;
        let hears = |row: &&EventSpec| is_any || row.name == draft.event;
        events.iter().filter(hears).collect()
    }

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

    /// A remark about the text of a command or script, for `check`: an answer that is not read.
    fn warn_script(&self, text: &str) -> Option<String> {
        let _ = text;
        None
    }

    /// Builds the call of a hook.
    fn stage_call(&self, event: &Event, hook: &Hook, carry: &Carry) -> Call;

    /// A hook in words, for lists and before the user trusts it.
    fn describe(&self, draft: &Draft) -> Description {
        Description::of_action(draft)
    }

    /// Reads an outcome as a verdict, and the values for the dialect's next hook.
    fn read_outcome(&self, event: &Event, hook: &Hook, outcome: &Outcome) -> HookAnswer;
}
