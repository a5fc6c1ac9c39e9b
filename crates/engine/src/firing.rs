//! One pass of an event through the selected hooks: stage, run, read, merge. `Carry` holds the
//! values that earlier hooks pass to later ones.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use gambrel_model::text::truncate_chars;
use gambrel_model::{
    Call, Carry, CarryUpdate, CutShort, Decision, End, Event, Hook, HookAnswer, Loss, Message,
    MomentKind, Order, Outcome, PatchRule, Program, Ruling, Slot, Step, Undelivered, Verdict,
    merge_patch,
};

use crate::budget::Budget;
use crate::candidate::{Candidate, Selection, Skip, replaced_reason};
use crate::covered::HookFile;
use crate::observer::FiringProgress;
use crate::recorded::REUSED;
use crate::removed_text::RemovedText;
use crate::run_calls::{self, BatchItem};
use crate::stage::{batch_item, check_condition, check_not_substituted, stage_call};
use crate::{Engine, swap, trust, undelivered};

/// What happens to a candidate at its turn.
enum Staged {
    Run(Box<Call>, String),
    Reuse(Box<Outcome>),
    Skip(Skip),
}

/// The state of one firing.
pub(crate) struct Firing<'f, 'a> {
    pub engine: &'f Engine<'a>,
    pub event: &'f Event,
    pub budget: Budget,
    pub verdict: Verdict,
    pub carry: Carry,
    pub decision: Decision,
    /// The hook whose rewrite of the input counts.
    pub rewriter: Option<String>,
    /// Hooks that have seen the current input.
    pub informed: Vec<String>,
    /// Hooks that match this event and did not run, with the reason.
    pub skipped: Vec<(Arc<Hook>, String)>,
    /// Hooks that ran and gave no answer, with the reason.
    pub failed: Vec<(Step, String)>,
    /// Indexes of refusing steps in the trail.
    pub refusals: Vec<usize>,
    /// Messages for the user at a later event.
    pub later_notices: Vec<Message>,
    pub recheck: bool,
    /// Outcomes that an earlier firing with the same key recorded, by hook.
    pub recorded: BTreeMap<String, Outcome>,
    /// What hooks took out of texts.
    pub removed: RemovedText,
}

impl<'f, 'a> Firing<'f, 'a> {
    pub fn new(
        engine: &'f Engine<'a>,
        event: &'f Event,
        budget: Budget,
        troubles: Vec<String>,
    ) -> Self {
        let mut decision = Decision::from_event(event);
        decision.warnings = troubles;
        decision.complaints = engine.loaded.complaints.clone();
        let (verdict, carry) = (Verdict::default(), Carry::default());
        Self {
            engine,
            event,
            budget,
            verdict,
            carry,
            decision,
            rewriter: None,
            informed: Vec::new(),
            skipped: Vec::new(),
            failed: Vec::new(),
            refusals: Vec::new(),
            later_notices: Vec::new(),
            recheck: false,
            recorded: BTreeMap::new(),
            removed: RemovedText::default(),
        }
    }

    /// Starts with the undelivered messages of the session and returns those that this reply
    /// delivers.
    pub fn add_undelivered(&mut self) -> Vec<Undelivered> {
        let (seed, delivered) = undelivered::collect_deliverable(self.event);
        self.verdict = seed;
        delivered
    }

    /// Unreadable session state is a gate failure: a hook may have stopped the session.
    pub fn mark_session_unreadable(&mut self) {
        if self.event.kind() == MomentKind::Gate {
            self.verdict.gate_failures.extend(self.event.session_errors.iter().cloned());
        }
    }

    /// Runs the hooks of one dialect.
    pub fn run_group(&mut self, group: &[Candidate]) {
        let at_once = match group[0].row.order {
            Order::Parallel => group.len(),
            Order::Sequential | Order::UntilRefused => 1,
        };
        let before = self.carry.patch.clone();
        for some in group.chunks(at_once) {
            // In a chain each hook sees the rewrites of the one before it; else all see the same
            // facts.
            let chains = some[0].row.patch == PatchRule::Chain;
            let now = if chains { self.carry.patch.clone() } else { before.clone() };
            match now.is_empty() {
                true => self.run_turn(self.event, some),
                false => self.run_turn(&self.event.with_patch(&now), some),
            }
        }
    }

    /// Runs some hooks at once: stage, run, read, merge.
    pub fn run_turn(&mut self, event: &Event, candidates: &[Candidate]) {
        let mut staged: Vec<_> = candidates.iter().map(|c| self.prepare_hook(event, c)).collect();
        let running = self.observed_hooks(candidates, &staged);
        let ready = candidates.iter().zip(&mut staged).filter_map(|(candidate, staged)| {
            let Staged::Run(call, _) = staged else { return None };
            Some((candidate, &mut **call))
        });
        let items: Vec<BatchItem<'_>> = ready.map(|(c, call)| batch_item(event, c, call)).collect();
        let mut outcomes = self.run_observed(event, &running, &items).into_iter();

        for (candidate, staged) in candidates.iter().zip(staged) {
            match staged {
                Staged::Skip(skip) => self.record_skip(event, candidate, &skip),
                Staged::Reuse(outcome) => {
                    self.merge_outcome(event, candidate, *outcome, REUSED.to_owned());
                    self.decision.trail.iter_mut().last().into_iter().for_each(|s| s.ran = false);
                }
                Staged::Run(_, remark) => {
                    let outcome = outcomes.next().unwrap_or_else(run_calls::lost_outcome);
                    self.record_outcome(candidate, &outcome);
                    self.merge_outcome(event, candidate, outcome, remark);
                }
            }
        }
    }

    /// The hooks that are about to run, if somebody observes them.
    fn observed_hooks(&self, candidates: &[Candidate], staged: &[Staged]) -> Vec<Arc<Hook>> {
        if self.engine.options.observer.is_none() {
            return Vec::new();
        }
        let all = candidates.iter().zip(staged);
        let running = all.filter(|(_, staged)| matches!(staged, Staged::Run(..)));
        running.map(|(candidate, _)| Arc::clone(&candidate.hook)).collect()
    }

    fn run_observed(
        &self,
        event: &Event,
        running: &[Arc<Hook>],
        items: &[BatchItem<'_>],
    ) -> Vec<Outcome> {
        let observer = self.engine.options.observer.as_ref().filter(|_| !running.is_empty());
        if let Some(observer) = observer {
            observer.report(&FiringProgress::HooksStarted(event, running));
        }
        let outcomes = run_calls::run_batch(self.engine.actions, items);
        if let Some(observer) = observer {
            observer.report(&FiringProgress::HooksEnded(event, running));
        }
        outcomes
    }

    fn prepare_hook(&self, event: &Event, candidate: &Candidate) -> Staged {
        if let Some(outcome) = self.find_recorded(candidate) {
            return Staged::Reuse(Box::new(outcome));
        }
        match self.prepare_call(event, candidate) {
            Ok((call, remark)) => Staged::Run(Box::new(call), remark),
            Err(skip) => Staged::Skip(skip),
        }
    }

    /// Builds the call of a hook, with a remark for the trail, or the reason why it does not run.
    fn prepare_call(&self, event: &Event, candidate: &Candidate) -> Result<(Call, String), Skip> {
        let shadow = self.check_replaced(candidate)?;
        if let Some(by) = self.refused_by(candidate) {
            let by = truncate_chars(&by, MAX_NAME_CHARS, "…");
            return Err(Skip::with_reason(format!("denied already by {by}")));
        }
        if self.budget.is_over() && candidate.hook.draft.policy.limits.blocking {
            return Err(Skip::out_of_time(NO_TIME));
        }
        let remark = check_condition(event, &candidate.hook, &self.carry)?;
        let mut call = stage_call(event, &candidate.hook, &self.carry)?;
        let trial_env = self.engine.options.trial.iter().flat_map(|trial| &trial.env);
        call.env.extend(trial_env.cloned());
        let mut remark = shadow + &remark.unwrap_or_default();
        // The agent's folder may be gone; a folder that the author named must exist.
        let source = &candidate.hook.draft.source.base;
        let named = ![&event.cwd, &event.project, source].contains(&&call.cwd);
        if !named && !call.cwd.is_dir() {
            let there =
                [&event.project, &self.engine.loaded.roots.root].into_iter().find(|f| f.is_dir());
            let there = there.cloned().unwrap_or_else(|| "/".into());
            remark += &format!("{} is gone: it ran in {}", call.cwd.display(), there.display());
            call.cwd = there;
        }
        // Files may have changed since the trust check.
        if call.program == Program::None && !candidate.parts.is_empty() {
            call.trusted_files = Some(trust::trusted_files(&candidate.parts));
        }
        let elsewhere = check_not_substituted(self.engine, event, candidate, &call)?;
        if !candidate.parts.is_empty() {
            let parts: Vec<&HookFile> = candidate.parts.iter().chain(&elsewhere).collect();
            let verified = self.engine.options.verified_exec;
            let watched = swap::watch_files(&candidate.hook, &parts, verified);
            call.watched = Some(watched.map_err(|error| Skip::fails_strict(error.to_string()))?);
        }
        if let Some(left) = self.budget.time_left() {
            if left.is_zero() && call.limits.blocking {
                return Err(Skip::out_of_time(NO_TIME));
            }
            call.limits.budget = Some(left);
        }
        self.claim_once(candidate)?;
        Ok((call, remark))
    }

    /// Of several simultaneous events only one runs a `once` hook.
    fn claim_once(&self, candidate: &Candidate) -> Result<(), Skip> {
        let Some(name) = candidate.hook.once_key() else { return Ok(()) };
        if self.decision.session_flags.contains(&name) {
            return Ok(());
        }
        undelivered::claim_once(self.engine.ledger, self.event, &name).map_err(|refusal| {
            match refusal {
                undelivered::OnceRefusal::Taken(why) => Skip::with_reason(why),
                undelivered::OnceRefusal::Unknown(why) => Skip::fails_strict(why),
            }
        })
    }

    /// Skips a replaced hook. A replacement that did not run replaces nothing; otherwise a project
    /// could switch off the user's guard.
    pub fn check_replaced(&self, candidate: &Candidate) -> Result<String, Skip> {
        let by = match &candidate.selection {
            Selection::Run => return Ok(candidate.remark.clone()),
            Selection::Skip(skip) => return Err(skip.clone()),
            Selection::Replaced(by) => by,
        };
        let did_not_run = |step: &Step| {
            let end = step.outcome.as_ref().map(|outcome| &outcome.end);
            step.source == *by && end.is_none_or(|end| matches!(end, End::FailedToStart(_)))
        };
        match self.decision.trail.iter().any(did_not_run) {
            true => Ok(replaced_reason(by)),
            false => Err(Skip::with_reason(format!("shadowed by {by}"))),
        }
    }

    /// The hook whose refusal skips this candidate: at a gate between dialects, and with
    /// `UntilRefused` everywhere.
    pub fn refused_by(&self, candidate: &Candidate) -> Option<String> {
        let gate = self.event.kind() == MomentKind::Gate && !self.recheck;
        let own = candidate.hook.dialect.name;
        let refusers = self.refusals.iter().map(|at| &self.decision.trail[*at]);
        let by_own = refusers.clone().any(|step| step.dialect == own);
        let ends = candidate.row.order == Order::UntilRefused && by_own;
        let foreign = gate && self.verdict.ruling.is_refusal() && !by_own;
        let first =
            || refusers.clone().next().map_or("an undelivered halt", |s| &s.title).to_owned();
        (ends || foreign).then(first)
    }

    fn record_skip(&mut self, event: &Event, candidate: &Candidate, skip: &Skip) {
        let mut step = Step::from_skipped_hook(&candidate.hook, &skip.why);
        step.recheck = self.recheck;
        if skip.late && event.kind() == MomentKind::Gate {
            let verdict = gate_failure_verdict(event, candidate);
            step.verdict = verdict.ruling;
            self.verdict = std::mem::take(&mut self.verdict).then(verdict);
        }
        if skip.grave {
            if !self.recheck {
                self.skipped.push((Arc::clone(&candidate.hook), skip.why.clone()));
            }
            self.verdict.gate_failures.push(format!("{}: {}", step.title, skip.why));
            self.deny_if_strict(candidate, &skip.why);
        }
        self.add_step(step);
    }

    fn add_step(&mut self, step: Step) {
        if step.verdict.is_refusal() {
            self.refusals.push(self.decision.trail.len());
        }
        self.decision.trail.push(step);
    }

    /// Reads one outcome and merges its verdict.
    fn merge_outcome(
        &mut self,
        event: &Event,
        candidate: &Candidate,
        outcome: Outcome,
        remark: String,
    ) {
        let Candidate { hook, row, .. } = candidate;
        let HookAnswer { mut verdict, mut carry } = read_answer(event, hook, &outcome);
        if let Some(file) = &outcome.changed {
            verdict = swap::doubt_verdict(verdict, hook, file);
            // Output of a hook whose files changed is not passed on.
            carry = CarryUpdate::default();
        }
        self.removed.add_rewrites(event, &verdict.patch);
        let (verdict, losses) = mark_gate_failure(verdict, &outcome)
            .attributed_to(&hook.id)
            .truncate_texts()
            .within_hook_powers(row);
        self.decision.session_flags.extend(hook.once_key());
        let mut why = collect_remarks(remark, &outcome, &verdict);
        self.decision.losses.extend(losses);
        let at_close = event.kind() == MomentKind::Close;
        let cap = hook.draft.policy.max_refusals_in_row.filter(|_| at_close);
        let (mut verdict, capped) = verdict.cap_refusals(cap, event.facts.refusals);
        why.extend(capped);
        let previous = self.carry.previous.entry(hook.dialect.name).or_default();
        previous.update(carry);
        let mut step = Step::from_skipped_hook(hook, &why.join("; "));
        step.ok = previous.ok;
        step.ran = outcome.end != End::NotApplicable;
        step.verdict = verdict.ruling;
        step.recheck = self.recheck;
        step.outcome = Some(outcome);
        let gate_failures = verdict.gate_failures.join("; ");
        for why in &mut verdict.gate_failures {
            *why = format!("{why} ({})", step.title);
        }
        if !gate_failures.is_empty() && !verdict.ruling.is_refusal() && !self.recheck {
            self.failed.push((step.clone(), gate_failures.clone()));
        }
        self.record_rewrites(event, candidate, &mut verdict);
        step.rewrote = verdict.patch.keys().cloned().collect();
        self.add_step(step);
        self.verdict = std::mem::take(&mut self.verdict).then(verdict);
        if !gate_failures.is_empty() {
            self.deny_if_strict(candidate, &gate_failures);
        }
    }

    /// A hook with `strict` denies at a gate when it did not run.
    fn deny_if_strict(&mut self, candidate: &Candidate, why: &str) {
        if candidate.hook.draft.strict && self.event.kind() == MomentKind::Gate {
            let deny = Verdict::with_ruling(Ruling::Deny, format!("strict: {why}"));
            let deny = deny.attributed_to(&candidate.hook.id);
            self.verdict = std::mem::take(&mut self.verdict).then(deny);
        }
    }

    /// Resolves rewrites by the rule of the hook's dialect.
    fn record_rewrites(&mut self, event: &Event, candidate: &Candidate, verdict: &mut Verdict) {
        self.resolve_rewrites(event, candidate, verdict);
        let id = candidate.hook.id.clone();
        if verdict.patch.contains_key(&Slot::Input) {
            self.rewriter = Some(id.clone());
            self.informed = vec![id];
        } else if event.patched.get(&Slot::Input) == self.carry.patch.get(&Slot::Input) {
            self.informed.push(id);
        }
        merge_patch(&mut self.carry.patch, verdict.patch.clone());
        // Null removes an earlier rewrite.
        self.carry.patch.retain(|_, value| !value.is_null());
    }

    /// Of several rewrites of one slot one counts; the others are recorded.
    fn resolve_rewrites(&mut self, event: &Event, candidate: &Candidate, verdict: &mut Verdict) {
        let (rule, recheck) = (candidate.row.patch, self.recheck);
        let now = &self.carry.patch;
        let mut dropped = Vec::new();
        verdict.patch.retain(|slot, _| {
            let unseen = now.contains_key(slot)
                && !slot.is_list()
                && event.patched.get(slot) != now.get(slot);
            let keep = match rule {
                // A native slot is no rewrite of the event.
                PatchRule::Never => slot.is_native(),
                PatchRule::First => slot.is_list() || !now.contains_key(slot),
                PatchRule::Last | PatchRule::Chain => !recheck,
            };
            match (keep, unseen) {
                (false, _) => {
                    dropped.push(format!("that of {} does not stand", candidate.hook.title()))
                }
                (true, true) => {
                    dropped.push(format!(
                        "that of {} takes an earlier one's place",
                        candidate.hook.title()
                    ));
                }
                (true, false) => {}
            }
            keep
        });
        self.decision.losses.extend(dropped.into_iter().map(|why| Loss::new("rewrite", why)));
    }

    /// Builds the decision: the merged verdict and the part for the caller.
    pub fn into_decision(self, delivered: Vec<Undelivered>) -> Decision {
        let mut decision = self.decision;
        let mut merged = self.verdict;
        merged.patch = self.carry.patch.clone();
        decision.merged = merged.clone();
        let caller = self.event.dialect;
        let strange = merged.patch.keys().filter(|slot| !caller.accepts_slot(slot));
        let strange = strange.map(|slot| String::from(slot.clone()));
        let wordless = |slot| Loss::new(slot, format!("{} cannot express it", caller.name));
        decision.losses.extend(strange.map(wordless));
        let (supported, lost) = merged.keep_supported_rewrites(self.event.spec);
        let supported = supported.attributed_to(self.rewriter.as_deref().unwrap_or("gambrel"));
        decision.losses.extend(lost);
        let degraded = supported.degrade_for(self.event.spec);
        decision.losses.extend(degraded.losses);
        (decision.for_caller, decision.later) = (degraded.now, degraded.later);
        decision.later.messages.extend(self.later_notices);
        decision.carry = self.carry;
        decision.delivered = delivered;
        decision
    }
}

/// Reads an outcome with the hook's dialect. A panic becomes the hook's failure.
fn read_answer(event: &Event, hook: &Hook, outcome: &Outcome) -> HookAnswer {
    let read = AssertUnwindSafe(|| hook.format.read_outcome(event, hook, outcome));
    catch_unwind(read).unwrap_or_else(|_| {
        let verdict = hook.draft.policy.on_failure.with_reason("an internal error of gambrel");
        HookAnswer::new(verdict.with_gate_failure("not read"), outcome)
    })
}

/// The verdict of a gate hook without time: its timeout policy.
fn gate_failure_verdict(event: &Event, candidate: &Candidate) -> Verdict {
    let Candidate { hook, row, .. } = candidate;
    let cut = Some(CutShort::Other(format!("no time was left to ask {}", hook.title())));
    let outcome = Outcome { cut_short_by: cut, ..Outcome::from_end(End::TimedOut) };
    let late = read_answer(event, hook, &outcome).verdict;
    let Verdict { ruling, reasons, .. } =
        late.attributed_to(&hook.id).truncate_texts().within_hook_powers(row).0;
    Verdict { ruling, reasons, ..Verdict::default() }
}

/// Maximum length of another hook's title in a reason.
const MAX_NAME_CHARS: usize = 50;

/// Skip reason when the budget is over.
const NO_TIME: &str = "budget: the host will not wait any longer";

/// Marks outcomes that no dialect can read as an answer.
fn mark_gate_failure(verdict: Verdict, outcome: &Outcome) -> Verdict {
    if !verdict.gate_failures.is_empty() {
        return verdict;
    }
    match &outcome.end {
        End::TimedOut => verdict.with_gate_failure("late: it was killed at its deadline"),
        End::FailedToStart(why) => verdict.with_gate_failure(format!("not started: {why}")),
        _ => verdict,
    }
}

fn collect_remarks(remark: String, outcome: &Outcome, verdict: &Verdict) -> Vec<String> {
    let mut why: Vec<String> = Some(remark).filter(|text| !text.is_empty()).into_iter().collect();
    why.extend(verdict.gate_failures.iter().cloned());
    why.extend(verdict.ruling_reasons().into_iter().map(str::to_owned));
    why.extend(outcome.remarks.iter().cloned());
    if let Some(cut) = outcome.cut_short_by.as_ref().map(ToString::to_string)
        && !why.iter().any(|known| known.contains(&cut))
    {
        why.push(format!("cut short: {cut}"));
    }
    why
}

/// The candidates that are to run.
pub(crate) fn selected_to_run(candidates: &[Candidate]) -> impl Iterator<Item = &Candidate> {
    candidates.iter().filter(|candidate| candidate.selection == Selection::Run)
}
