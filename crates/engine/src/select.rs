//! Selects the hooks of an event: by moment from an index, by matcher, by trust. Every hook that is
//! not chosen has a reason.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use gambrel_model::decision::UnmatchedHooks;
use gambrel_model::{Carry, Complaint, Event, Hook, Moment, MomentKind, Step, Subject, TrustEntry};

use crate::budget::Budget;
use crate::candidate::{Candidate, Selection, Skip, replaced_reason};
use crate::covered::HookFile;
use crate::stage::{FIRING_VAR, check_condition, check_not_substituted, stage_call};
use crate::trust::{self, Trust};
use crate::{Engine, Loaded};

/// Hooks to run, in order, and skipped hooks with their reason.
pub(crate) struct SelectedHooks {
    pub candidates: Vec<Candidate>,
    pub unmatched: UnmatchedHooks,
    /// Mistakes found while selecting.
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
        dedup_keys: BTreeMap::new(),
        running_locations: BTreeSet::new(),
        depth: event.context.env.get(FIRING_VAR).map_or(0, |outer| outer.split(':').count()),
        already_fired: event.dialect.caller.session_memory(event).already_fired,
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
    SelectedHooks { candidates, unmatched: unmatched_hooks(loaded, event, considered), complaints }
}

/// Maximum number of cached subjects; then the cache is cleared.
const MAX_CACHED_COUNT: usize = 1_024;

fn matches_event(hook: &Hook, event: &Event) -> bool {
    let Some(row) = hook.event_spec_for(event) else { return false };
    match row.subject {
        Subject::None => true,
        _ if hook.matcher.matches_all() => true,
        Subject::Tool => hook.matcher.matches(tool_names(hook, event).into_iter()),
        Subject::Cause(_) => hook.matcher.matches(event.facts.cause.as_deref().into_iter()),
    }
}

/// The tool's names in the hook's dialect.
fn tool_names<'a>(hook: &Hook, event: &'a Event) -> Vec<&'a str> {
    let Some(tool) = &event.facts.tool else { return Vec::new() };
    if event.is_from(hook.dialect) {
        return vec![tool.name.as_str()];
    }
    let mut names: Vec<&str> =
        tool.words_in(hook.dialect.tools).into_iter().map(|word| word.name).collect();
    if names.is_empty() || hook.dialect.properties.matches_caller_tool_names {
        names.push(tool.name.as_str());
    }
    names
}

fn subjects_of_all<'a>(event: &'a Event, loaded: &Loaded) -> Vec<&'a str> {
    let mut names: Vec<&str> = event.facts.cause.as_deref().into_iter().collect();
    let Some(tool) = &event.facts.tool else { return names };
    names.push(&tool.name);
    for dialect in &loaded.dialects {
        names.extend(tool.words_in(dialect.tools).into_iter().map(|word| word.name));
    }
    names
}

fn unmatched_hooks(
    loaded: &Arc<Loaded>,
    event: &Event,
    considered: BTreeSet<usize>,
) -> UnmatchedHooks {
    let loaded = Arc::clone(loaded);
    let (from, row, moment) = (event.dialect.name, event.spec.name, event.moment.clone());
    UnmatchedHooks(Arc::new(move || {
        let of_moment = loaded.moment_indexes(&moment).flat_map(|index| index.all.clone());
        let passed = of_moment.filter(|at| !considered.contains(at));
        let receives = |hook: &&Arc<Hook>| hook.spec_for(from, row, &moment).is_some();
        let received = passed.map(|at| &loaded.hooks[at]).filter(receives);
        received.map(|hook| Step::from_skipped_hook(hook, &unmatched_reason(hook))).collect()
    }))
}

fn unmatched_reason(hook: &Hook) -> String {
    format!("matcher `{}` is not met", hook.draft.matcher.to_text().unwrap_or_default())
}

/// Maximum nesting of firings.
const MAX_NESTING_DEPTH: usize = 3;

struct Selector<'e, 'a> {
    engine: &'e Engine<'a>,
    event: &'e Event,
    /// Read once, and only when a project hook is met.
    trusted: Option<BTreeMap<String, TrustEntry>>,
    /// The files that were read for the last checked hook.
    parts: Vec<HookFile>,
    /// Whether they are the same in every folder.
    anchored: bool,
    dedup_keys: BTreeMap<(&'static str, String), String>,
    /// Locations of hooks that run; only these replace others.
    running_locations: BTreeSet<String>,
    /// The number of enclosing firings.
    depth: usize,
    /// Whether other dialects received this moment under an earlier name.
    already_fired: bool,
    complaints: Vec<Complaint>,
    troubles: &'e mut Vec<String>,
}

impl Selector<'_, '_> {
    /// Indexes of hooks whose matcher matches, in configured order. Results are cached per subject.
    /// A pattern that may not be compiled yet, or for which no time is left, counts as a match.
    fn matching_hooks(&mut self, budget: &Budget) -> Arc<[usize]> {
        let event = self.event;
        let tool = event.facts.tool.as_ref();
        let (name, shape) = tool.map_or(("", ""), |tool| (&tool.name, &tool.shape));
        let kind = tool.map(|tool| tool.kind);
        let cause = event.facts.cause.as_deref().unwrap_or_default();
        let (from, row, moment) = (event.dialect.name, event.spec.name, event.moment.name());
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
        for index in loaded.moment_indexes(&event.moment) {
            for name in &all_names {
                let named = index.hooks_named(name);
                hits.extend(named.filter(|at| matches_event(&loaded.hooks[*at], event)));
            }
            for at in index.open.iter().copied() {
                let hook = &loaded.hooks[at];
                let ready = hook.matcher.is_compiled() || self.may_compile(hook);
                if !ready || budget.is_over() || matches_event(hook, event) {
                    hits.insert(at);
                }
            }
        }
        hits.into_iter().collect()
    }

    /// Whether a hook's pattern may be compiled: its definition is trusted.
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
        let (store, troubles) = (self.engine.trust_store, &mut *self.troubles);
        self.trusted.get_or_insert_with(|| {
            store.trust_entries().unwrap_or_else(|error| {
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
        if let Some(by) = by.filter(|by| self.running_locations.contains(*by)) {
            return (Selection::Replaced(by.clone()), String::new());
        }
        self.running_locations.insert(hook.draft.source.location());
        (Selection::Run, by.map(|by| replaced_reason(by)).unwrap_or_default())
    }

    fn find_skip(&mut self, hook: &Hook) -> Option<Skip> {
        let own = self.event.is_from(hook.dialect);
        if self.depth >= MAX_NESTING_DEPTH {
            return Some(Skip::fails_strict(format!(
                "inside {MAX_NESTING_DEPTH} other firings already"
            )));
        }
        if let Some(why) = self.caller_skip(hook) {
            return Some(Skip::with_reason(why));
        }
        if !own && self.already_fired {
            return Some(Skip::with_reason(format!(
                "received this moment before `{}`",
                self.event.name
            )));
        }
        if let Some(why) = self.pass_skip(hook) {
            return Some(Skip::with_reason(why));
        }
        let disabled = hook.draft.disabled.as_ref();
        if let Some(off) = disabled.filter(|disabled| disabled.is_off()) {
            return Some(Skip::with_reason(&off.why));
        }
        if hook.once_key().is_some_and(|name| self.event.session_counts.contains_key(&name)) {
            return Some(Skip::with_reason("once: it has run in this session"));
        }
        if let Some(skip) = self.trust_skip(hook) {
            return Some(skip);
        }
        if let Some(broken) = disabled {
            return Some(Skip::fails_strict(&broken.why));
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
        // It may be here only because its pattern could not be evaluated before.
        if !matches_event(hook, self.event) {
            return Some(Skip::with_reason(unmatched_reason(hook)));
        }
        let trial = self.engine.options.trial.as_ref();
        if let Some(why) = trial.and_then(|trial| (trial.leave_out)(hook, self.event)) {
            return Some(Skip::with_reason(why));
        }
        let key = (hook.dialect.name, hook.draft.dedup_key.clone()?);
        let first = self.dedup_keys.entry(key).or_insert_with(|| hook.id.clone());
        (*first != hook.id)
            .then(|| Skip::with_reason(format!("shadowed by {first}: the same command")))
    }

    /// Why the options of the caller leave a hook out.
    fn caller_skip(&self, hook: &Hook) -> Option<&'static str> {
        let options = &self.engine.options;
        let name = hook.dialect.name;
        if !options.only.is_empty() && !options.only.iter().any(|only| only == name) {
            return Some("left out by --only");
        }
        if options.hosted && self.event.is_from(hook.dialect) {
            return Some("hosted: the host runs its own hooks");
        }
        if options.left_to_agent.contains(&name) {
            return Some("the agent of the run runs these hooks itself");
        }
        let is_left = options.inside_run && !belongs_to_agent(&self.event.moment);
        is_left.then_some("inside a run: the runner fires this moment")
    }

    /// Why the pass of this firing leaves a hook out.
    fn pass_skip(&self, hook: &Hook) -> Option<&'static str> {
        let spec = hook.event_spec_for(self.event)?;
        let is_close = self.event.kind() == MomentKind::Close;
        self.event.pass.skip_reason(spec.can_veto_end).filter(|_| is_close)
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

/// Checks condition, call and files without running the hook.
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
    format!("is for {} ({}), not for {moment}", hook.draft.event, hook.moment_name())
}

/// Whether only the agent sees a moment, so that its host fires it inside a run.
fn belongs_to_agent(moment: &Moment) -> bool {
    matches!(
        moment,
        Moment::ToolBefore
            | Moment::ToolAfter
            | Moment::ToolFailed
            | Moment::ToolPermission
            | Moment::SubagentStart
            | Moment::SubagentStop
            | Moment::CompactBefore
            | Moment::CompactAfter
            | Moment::Notification
    )
}
