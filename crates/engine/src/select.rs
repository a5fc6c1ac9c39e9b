//! Which hooks an event is for: by moment from an index, by matcher, by trust. Everything that was
//! considered and not chosen keeps its reason.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};

use gambrel_model::condition::Truth;
use gambrel_model::decision::UnmatchedHooks;
use gambrel_model::{
    Call, Carry, Complaint, Event, EventSpec, Hook, Moment, MomentKind, Program, Step, Subject,
    TrustEntry,
};

use crate::budget::Budget;
use crate::covered::Part;
use crate::firing::FIRING_VAR;
use crate::trust::{self, Trust};
use crate::{Engine, Loaded};

/// One hook that was considered for an event.
#[derive(Clone)]
pub struct Candidate {
    /// The hook.
    pub hook: Arc<Hook>,
    /// The row under which it hears the event.
    pub row: &'static EventSpec,
    /// Whether it is to run.
    pub selection: Selection,
    /// What is worth knowing about that, if anything.
    pub remark: String,
    /// The files that were looked at for its trust.
    pub(crate) parts: Arc<[Part]>,
    /// Whether these are the same wherever it runs.
    pub(crate) anchored: bool,
}

/// What becomes of a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// It runs.
    Run,
    /// It does not, and why.
    Skip(Skip),
    /// It does not, unless what takes its place turns out not to run either.
    Replaced(String),
}

/// Why a hook does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    /// In words.
    pub why: String,
    /// Whether a strict caller takes this for a gate that could not be asked.
    pub grave: bool,
    /// Whether it would have run, had there been any time left.
    pub late: bool,
}

impl Skip {
    pub(crate) fn with_reason(why: impl Into<String>) -> Self {
        Self { why: why.into(), grave: false, late: false }
    }

    pub(crate) fn fails_strict(why: impl Into<String>) -> Self {
        Self { why: why.into(), grave: true, late: false }
    }

    pub(crate) fn out_of_time(why: impl Into<String>) -> Self {
        Self { late: true, ..Self::fails_strict(why) }
    }
}

/// Hooks to run, in order, and hooks that are left out for a reason worth telling.
pub(crate) struct SelectedHooks {
    pub candidates: Vec<Candidate>,
    pub bystanders: UnmatchedHooks,
    /// Mistakes that only showed when a hook was looked at.
    pub complaints: Vec<Complaint>,
}

pub(crate) fn select_hooks(
    engine: &Engine<'_>,
    event: &Event,
    budget: &Budget,
    troubles: &mut Vec<String>,
) -> SelectedHooks {
    let loaded = &engine.loaded;
    let mut chooser = Selector {
        engine,
        event,
        trusted: None,
        parts: Vec::new(),
        anchored: false,
        twins: BTreeMap::new(),
        standing: BTreeSet::new(),
        depth: event.env.get(FIRING_VAR).map_or(0, |outer| outer.split(':').count()),
        complaints: Vec::new(),
        troubles,
    };
    let mut candidates = Vec::new();
    let mut considered = BTreeSet::new();
    for at in chooser.matching_hooks(budget).iter().copied() {
        let hook = &loaded.hooks[at];
        if let Some(row) = hook.event_spec_for(event) {
            considered.insert(at);
            let (fate, remark) = chooser.select_hook(hook);
            let parts = std::mem::take(&mut chooser.parts).into();
            let anchored = std::mem::take(&mut chooser.anchored);
            let hook = Arc::clone(hook);
            candidates.push(Candidate { hook, row, selection: fate, remark, parts, anchored });
        }
    }
    let complaints = chooser.complaints;
    SelectedHooks { candidates, bystanders: unmatched_hooks(loaded, event, considered), complaints }
}

/// Answers about so many subjects are kept; then they are forgotten and asked for again.
const MAX_CACHED_COUNT: usize = 1_024;

fn matches(hook: &Hook, event: &Event) -> bool {
    let Some(row) = hook.event_spec_for(event) else { return false };
    match row.subject {
        Subject::None => true,
        _ if hook.matcher.matches_all() => true,
        Subject::Tool => hook.matcher.matches(tool_names(hook, event).into_iter()),
        Subject::Cause(_) => hook.matcher.matches(event.facts.cause.as_deref().into_iter()),
    }
}

/// The tool's names in the hook's own words.
fn tool_names<'a>(hook: &Hook, event: &'a Event) -> Vec<&'a str> {
    let Some(tool) = &event.facts.tool else { return Vec::new() };
    if event.is_from(hook.dialect) {
        return vec![tool.name.as_str()];
    }
    let mut names: Vec<&str> =
        tool.words(hook.dialect.tools()).into_iter().map(|word| word.name).collect();
    if names.is_empty() || hook.dialect.matches_caller_tool_names() {
        names.push(tool.name.as_str());
    }
    names
}

fn subjects_of_all<'a>(event: &'a Event, loaded: &Loaded) -> Vec<&'a str> {
    let mut names: Vec<&str> = event.facts.cause.as_deref().into_iter().collect();
    let Some(tool) = &event.facts.tool else { return names };
    names.push(&tool.name);
    for dialect in &loaded.dialects {
        names.extend(tool.words(dialect.tools()).into_iter().map(|word| word.name));
    }
    names
}

fn unmatched_hooks(
    loaded: &Arc<Loaded>,
    event: &Event,
    considered: BTreeSet<usize>,
) -> UnmatchedHooks {
    let loaded = Arc::clone(loaded);
    let (from, row, moment) = (event.dialect.name(), event.spec.name, event.moment.clone());
    UnmatchedHooks(Arc::new(move || {
        let on_shelves = loaded.moment_indexes(&moment).flat_map(|shelf| &shelf.all);
        let passed = on_shelves.filter(|at| !considered.contains(at));
        let hears = |hook: &&Arc<Hook>| hook.spec_for(from, row, &moment).is_some();
        let heard = passed.map(|at| &loaded.hooks[*at]).filter(hears);
        heard.map(|hook| skipped_step(hook, &unmatched_reason(hook))).collect()
    }))
}

fn unmatched_reason(hook: &Hook) -> String {
    format!("matcher `{}` is not met", hook.draft.matcher.words().unwrap_or_default())
}

/// A step of a hook that did not run.
pub(crate) fn skipped_step(hook: &Hook, why: &str) -> Step {
    Step {
        hook: hook.id.clone(),
        title: hook.title(),
        dialect: hook.dialect.name().to_owned(),
        action: hook.draft.action.clone(),
        source: hook.draft.source.location(),
        why: why.to_owned(),
        ..Step::default()
    }
}

/// A hook may fire hooks whose hooks fire hooks, and no further.
const MAX_NESTING_DEPTH: usize = 3;

struct Selector<'e, 'a> {
    engine: &'e Engine<'a>,
    event: &'e Event,
    /// Read once, and only when a project hook is met.
    trusted: Option<BTreeMap<String, TrustEntry>>,
    /// What was looked at for the hook whose fate was asked last.
    parts: Vec<Part>,
    /// Whether that is the same wherever it runs.
    anchored: bool,
    twins: BTreeMap<(&'static str, String), String>,
    /// Where the hooks come from that run: only they take another's place.
    standing: BTreeSet<String>,
    /// How many firings this one is inside of.
    depth: usize,
    complaints: Vec<Complaint>,
    troubles: &'e mut Vec<String>,
}

impl Selector<'_, '_> {
    /// The places of hooks whose matcher is met, in configured order. Patterns are asked once about
    /// each subject, however often it comes. One that may not be compiled yet, or for which no time
    /// is left, counts as met.
    fn matching_hooks(&mut self, budget: &Budget) -> Arc<[usize]> {
        let event = self.event;
        let tool = event.facts.tool.as_ref();
        let (name, shape) = tool.map_or(("", ""), |tool| (&tool.name, &tool.shape));
        let kind = tool.map(|tool| tool.kind);
        let cause = event.facts.cause.as_deref().unwrap_or_default();
        let (from, row, moment) = (event.dialect.name(), event.spec.name, event.moment.name());
        let subject = format!("{from}\0{row}\0{moment}\0{name}\0{shape}\0{kind:?}\0{cause}");
        let loaded = Arc::clone(&self.engine.loaded);
        let known = loaded
            .match_cache
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&subject)
            .cloned();
        if let Some(known) = known {
            return known;
        }
        let found: Arc<[usize]> = self.ask_matchers(&loaded, budget).into();
        let mut met = loaded.match_cache.lock().unwrap_or_else(PoisonError::into_inner);
        if met.len() >= MAX_CACHED_COUNT {
            met.clear();
        }
        if !budget.is_over() {
            met.insert(subject, Arc::clone(&found));
        }
        found
    }

    fn ask_matchers(&mut self, loaded: &Loaded, budget: &Budget) -> Vec<usize> {
        let event = self.event;
        let mut hits = BTreeSet::new();
        let all_names = subjects_of_all(event, loaded);
        for shelf in loaded.moment_indexes(&event.moment) {
            for name in &all_names {
                let named = shelf.named.get(*name).into_iter().flatten().copied();
                hits.extend(named.filter(|at| matches(&loaded.hooks[*at], event)));
            }
            for at in shelf.open.iter().copied() {
                let hook = &loaded.hooks[at];
                let ready = hook.matcher.is_compiled() || self.may_compile(hook);
                if !ready || budget.is_over() || matches(hook, event) {
                    hits.insert(at);
                }
            }
        }
        hits.into_iter().collect()
    }

    /// Whether a hook's pattern may be compiled: somebody has trusted its definition.
    fn may_compile(&mut self, hook: &Hook) -> bool {
        let mode = self.engine.options.trust;
        if !trust::needs_trust(hook, mode) {
            return true;
        }
        let key = self.engine.loaded.trust_key(hook);
        self.trust_entries().contains_key(&key)
    }

    /// The trust store, read once, and only when a project hook is met.
    fn trust_entries(&mut self) -> &BTreeMap<String, TrustEntry> {
        let (ledger, troubles) = (self.engine.ledger, &mut *self.troubles);
        self.trusted.get_or_insert_with(|| {
            ledger.trust().unwrap_or_else(|error| {
                troubles.push(format!("no project hook is trusted: {error}"));
                BTreeMap::new()
            })
        })
    }

    fn select_hook(&mut self, hook: &Hook) -> (Selection, String) {
        if let Some(skip) = self.find_skip(hook) {
            return (Selection::Skip(skip), String::new());
        }
        let by = hook.draft.replaced_by.as_ref();
        if let Some(by) = by.filter(|by| self.standing.contains(*by)) {
            return (Selection::Replaced(by.clone()), String::new());
        }
        self.standing.insert(hook.draft.source.location());
        (Selection::Run, by.map(|by| replaced_reason(by)).unwrap_or_default())
    }

    fn find_skip(&mut self, hook: &Hook) -> Option<Skip> {
        let options = &self.engine.options;
        let own = self.event.is_from(hook.dialect);
        if self.depth >= MAX_NESTING_DEPTH {
            return Some(Skip::fails_strict(format!(
                "inside {MAX_NESTING_DEPTH} other firings already"
            )));
        }
        if !options.only.is_empty() && !options.only.iter().any(|o| o == hook.dialect.name()) {
            return Some(Skip::with_reason("left out by --only"));
        }
        if options.hosted && own {
            return Some(Skip::with_reason("hosted: the host runs its own hooks"));
        }
        if !own && self.event.dialect.already_fired(self.event) {
            return Some(Skip::with_reason(format!(
                "heard this moment before `{}`",
                self.event.name
            )));
        }
        let idle = hook.draft.disabled.as_ref();
        if let Some(why) = idle.filter(|why| is_switched_off(why)) {
            return Some(Skip::with_reason(why));
        }
        if hook.once_key().is_some_and(|name| self.event.session_counts.contains_key(&name)) {
            return Some(Skip::with_reason("once: it has run in this session"));
        }
        if let Some(skip) = self.trust_skip(hook) {
            return Some(skip);
        }
        if let Some(why) = idle {
            return Some(Skip::fails_strict(why));
        }
        if let Some(complaint) = hook.matcher_complaint() {
            let why = format!("its matcher is not valid: {}", complaint.message);
            self.complaints.push(complaint);
            return Some(Skip::fails_strict(why));
        }
        if let Some(complaint) = hook.pattern_complaint() {
            let why = complaint.message.clone();
            self.complaints.push(complaint);
            return Some(Skip::fails_strict(why));
        }
        // It may have been taken along because its pattern could not be asked before.
        if !matches(hook, self.event) {
            return Some(Skip::with_reason(unmatched_reason(hook)));
        }
        let twin = (hook.dialect.name(), hook.draft.dedup_key.clone()?);
        let first = self.twins.entry(twin).or_insert_with(|| hook.id.clone());
        (*first != hook.id)
            .then(|| Skip::with_reason(format!("shadowed by {first}: the same command")))
    }

    fn trust_skip(&mut self, hook: &Hook) -> Option<Skip> {
        let mode = self.engine.options.trust;
        if !trust::needs_trust(hook, mode) {
            return None;
        }
        self.trust_entries();
        let entries = self.trusted.as_ref()?;
        let (trust, parts) = Trust::with_parts(hook, &self.engine.loaded, entries, mode);
        self.parts = parts;
        let record = entries.get(&self.engine.loaded.trust_key(hook));
        self.anchored = record.is_some_and(|record| record.anchored);
        match trust.skip_reason() {
            None if trust == Trust::Denied => {
                Some(Skip::with_reason("refused by `gambrel untrust`"))
            }
            why => why.map(Skip::fails_strict),
        }
    }
}

/// Whether a hook does not run because somebody switched it off, and not because it is broken.
pub(crate) fn is_switched_off(why: &str) -> bool {
    why.starts_with("disabled")
}

/// Files elsewhere that a trusted hook runs with this call, with the same bytes as those that were
/// trusted; or why it is not run: a name of its own leads to something else from where it would run.
pub(crate) fn check_not_substituted(
    engine: &Engine<'_>,
    event: &Event,
    candidate: &Candidate,
    call: &Call,
) -> Result<Vec<Part>, Skip> {
    let hook = &candidate.hook;
    if call.program == Program::None || !trust::needs_trust(hook, engine.options.trust) {
        return Ok(Vec::new());
    }
    trust::find_substituted_file(candidate, &call.cwd, &event.project).map_err(|file| {
        let why = format!("changed: {} is in place of what was trusted", file.display());
        Skip::fails_strict(format!(
            "{why}; a name that begins at the project's folder cannot stray"
        ))
    })
}

/// What a hook would be run with.
pub(crate) fn stage_call(event: &Event, hook: &Hook, carry: &Carry) -> Result<Call, Skip> {
    let staged = catch_unwind(AssertUnwindSafe(|| hook.dialect.stage_call(event, hook, carry)));
    staged.map_err(|_| Skip::fails_strict("a fault of gambrel's own: not staged"))
}

/// What is worth knowing of a hook whose place nobody takes.
pub(crate) fn replaced_reason(by: &str) -> String {
    format!("runs in its own place, because {by} does not")
}

/// Whether a hook's condition holds at its turn; the reason when it does not.
pub(crate) fn check_condition(
    event: &Event,
    hook: &Hook,
    carry: &Carry,
) -> Result<Option<String>, Skip> {
    if let Some(why) = hook.dialect.skip_reason(event, hook) {
        return Err(Skip::with_reason(why));
    }
    let doubt = hook.dialect.run_remark(event, hook);
    let Some(when) = &hook.when else { return Ok(doubt) };
    let gate = event.kind() == MomentKind::Gate;
    match when.eval(&|name| hook.dialect.lookup_fact(event, carry, name)) {
        Ok(Truth::Yes) => Ok(doubt),
        Ok(Truth::No) => Err(Skip::with_reason(format!("condition `{}` is false", when.text()))),
        Ok(Truth::Unknown(name)) if gate => {
            Ok(Some(format!("runs although this caller has no {name}: a gate is asked in doubt")))
        }
        Ok(Truth::Unknown(name)) => Err(Skip::with_reason(format!(
            "condition `{}`: this caller has no {name}",
            when.text()
        ))),
        Err(error) if gate => {
            Ok(Some(format!("runs although its condition failed: {}", error.message)))
        }
        Err(error) => Err(Skip::fails_strict(format!("condition failed: {}", error.message))),
    }
}

pub(crate) fn explain_hooks(engine: &Engine<'_>, event: &Event) -> Vec<Candidate> {
    let budget = Budget::new(engine, event);
    let mut selection = select_hooks(engine, event, &budget, &mut Vec::new());
    for candidate in &mut selection.candidates {
        if candidate.selection != Selection::Run {
            continue;
        }
        match dry_run(engine, event, candidate) {
            Ok(remark) => candidate.remark.extend(remark),
            Err(skip) => candidate.selection = Selection::Skip(skip),
        }
    }
    let chosen: BTreeSet<String> = selection.candidates.iter().map(|c| c.hook.id.clone()).collect();
    let others = engine.loaded.hooks.iter().filter(|hook| !chosen.contains(&hook.id));
    for hook in others {
        let (row, why) = match hook.event_spec_for(event) {
            Some(row) => (row, unmatched_reason(hook)),
            None => (hook.specs[0], other_moment(hook, &event.moment)),
        };
        let fate = Selection::Skip(Skip::with_reason(why));
        let (remark, parts) = (String::new(), Arc::default());
        let hook = Arc::clone(hook);
        selection.candidates.push(Candidate {
            hook,
            row,
            selection: fate,
            remark,
            parts,
            anchored: false,
        });
    }
    selection.candidates
}

/// What its turn would find, as far as that can be told before.
fn dry_run(
    engine: &Engine<'_>,
    event: &Event,
    candidate: &Candidate,
) -> Result<Option<String>, Skip> {
    let hook = &candidate.hook;
    let remark = check_condition(event, hook, &Carry::default())?;
    let call = stage_call(event, hook, &Carry::default())?;
    check_not_substituted(engine, event, candidate, &call).map(|_| remark)
}

fn other_moment(hook: &Hook, moment: &Moment) -> String {
    format!("hangs on {} ({}), not on {moment}", hook.draft.event, hook.moment())
}
