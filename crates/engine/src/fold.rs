//! One firing: the fold of hooks over an event. Data only moves forward; what an earlier hook
//! leaves to a later one is in `Carry`. Reads from top to bottom as house rules say it happens.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use gambrel_model::{
    Call, Carry, Decision, End, Event, Kind, Last, Moment, Order, Outcome, PatchRule, Ruling, Say,
    SessionState, Slot, Step, Verdict,
};

use crate::batch::{self, Turn};
use crate::select::{Candidate, Fate, Selection, Skip, condition, select, step};
use crate::{Engine, Errand, debts, journal};

/// Fires every matching hook and returns what they decided together.
pub fn fire(engine: &Engine<'_>, event: &mut Event) -> Decision {
    let mut troubles = Vec::new();
    let state = remember(engine, event, &mut troubles);
    let event: &Event = event;
    let Selection { candidates, bystanders } = select(engine, event, &mut troubles);
    let asked: Vec<&str> = running(&candidates).map(|c| c.hook.id.as_str()).collect();
    journal::accepted(engine.ledger, event, &asked, &mut troubles);
    let mut fold = Fold::new(engine, event, troubles);
    let paid = fold.seed(&state);
    for group in candidates.chunk_by(|a, b| a.hook.dialect.name() == b.hook.dialect.name()) {
        fold.group(group);
    }
    fold.recheck(&candidates);
    fold.strict();
    let mut decision = fold.decide(paid);
    decision.bystanders = Some(bystanders);
    conclude(engine, event, &mut decision);
    decision
}

/// The fold's state: only grows.
struct Fold<'f, 'a> {
    engine: &'f Engine<'a>,
    event: &'f Event,
    began: Instant,
    verdict: Verdict,
    carry: Carry,
    decision: Decision,
    /// Whose rewrite of the input stands.
    rewriter: Option<String>,
    recheck: bool,
}

impl<'f, 'a> Fold<'f, 'a> {
    fn new(engine: &'f Engine<'a>, event: &'f Event, troubles: Vec<String>) -> Self {
        let complaints = engine.loaded.complaints.clone();
        let decision = Decision {
            id: event.id.clone(),
            moment: event.moment.name().to_owned(),
            session: event.session.clone(),
            troubles,
            complaints,
            ..Decision::default()
        };
        let (verdict, carry) = (Verdict::default(), Carry::default());
        let began = Instant::now();
        Self { engine, event, began, verdict, carry, decision, rewriter: None, recheck: false }
    }

    /// What is owed to the session comes first; which debts this answer pays.
    fn seed(&mut self, state: &SessionState) -> Vec<String> {
        let (seed, paid) = debts::seed(self.event, state);
        self.verdict = seed;
        paid
    }

    /// The hooks of one dialect.
    fn group(&mut self, group: &[Candidate]) {
        let at_once = match group[0].row.order {
            Order::Together => group.len(),
            Order::InTurn | Order::UntilRefused => 1,
        };
        for some in group.chunks(at_once) {
            match self.carry.now.is_empty() {
                true => self.turn(self.event, some),
                false => self.turn(&self.event.with(&self.carry.now), some),
            }
        }
    }

    /// Some hooks at once: stage, run, read, merge.
    fn turn(&mut self, event: &Event, candidates: &[Candidate]) {
        let mut ready = Vec::new();
        for candidate in candidates {
            match self.call(event, candidate) {
                Ok((call, remark)) => ready.push((candidate, call, remark)),
                Err(skip) => self.skip(candidate, &skip),
            }
        }
        let turns: Vec<Turn> = ready.iter_mut().map(|(c, call, _)| prepared(event, c, call)).collect();
        let outcomes = batch::run(self.engine.actions, &turns);
        for ((candidate, _, remark), outcome) in ready.into_iter().zip(outcomes) {
            self.merge(event, candidate, outcome, remark);
        }
    }

    /// The call of a hook that is to run now, with a remark for the trail; or why it is not.
    fn call(&self, event: &Event, candidate: &Candidate) -> Result<(Call, String), Skip> {
        if let Fate::Skipped(skip) = &candidate.fate {
            return Err(skip.clone());
        }
        if let Some(by) = self.refused(candidate) {
            return Err(Skip::plain(format!("denied already by {by}")));
        }
        let remark = condition(event, &candidate.hook, &self.carry)?;
        let dialect = candidate.hook.dialect;
        let staged = catch_unwind(AssertUnwindSafe(|| dialect.stage(event, &candidate.hook, &self.carry)));
        let mut call = staged.map_err(|_| Skip::grave("a fault of gambrel's own: not staged"))?;
        if let Some(budget) = self.engine.options.budget.or_else(|| self.patience()) {
            let left = margin(budget).saturating_sub(self.began.elapsed());
            if left.is_zero() && call.pace.waits {
                return Err(Skip::grave("budget: the host will not wait any longer"));
            }
            call.pace.budget = Some(left);
        }
        Ok((call, remark.unwrap_or_default()))
    }

    fn patience(&self) -> Option<Duration> {
        self.engine.options.hosted.then(|| self.event.from.patience(self.event)).flatten()
    }

    /// Who has refused already, where that ends the asking: at a gate between dialects and in
    /// turns; in turns that end with a refusal, everywhere.
    fn refused(&self, candidate: &Candidate) -> Option<String> {
        let gate = self.event.kind() == Kind::Gate && !self.recheck;
        let own = candidate.hook.dialect.name();
        let refusers = self.decision.trail.iter().filter(|s| s.ran && s.verdict.refuses());
        let by_own = refusers.clone().any(|step| step.dialect == own);
        let ends = candidate.row.order == Order::UntilRefused && by_own;
        let foreign = gate && self.verdict.ruling.refuses() && !by_own;
        let first = || refusers.clone().next().map_or("what is owed", |s| &s.hook).to_owned();
        (ends || foreign).then(first)
    }

    fn skip(&mut self, candidate: &Candidate, skip: &Skip) {
        let mut step = step(&candidate.hook, &skip.why);
        step.recheck = self.recheck;
        if skip.grave {
            self.verdict.unheard.push(format!("{}: {}", step.title, skip.why));
        }
        self.decision.trail.push(step);
    }

    /// Reads one outcome and folds it in.
    fn merge(&mut self, event: &Event, candidate: &Candidate, outcome: Outcome, remark: String) {
        let Candidate { hook, row, .. } = candidate;
        let read = catch_unwind(AssertUnwindSafe(|| hook.dialect.read(event, hook, &outcome)));
        let verdict = read.unwrap_or_else(|_| {
            hook.draft.terms.failed.because("a fault of gambrel's own").unheard("not read")
        });
        let (mut verdict, losses) = unheard(verdict, &outcome).by(&hook.id).within(row);
        let mut why = remarks(remark, &outcome, &verdict);
        self.decision.losses.extend(losses);
        self.cap(event, candidate, &mut verdict, &mut why);
        let step = Step {
            ran: true,
            verdict: verdict.ruling,
            why: why.join("; "),
            recheck: self.recheck,
            outcome: Some(outcome),
            ..step(hook, "")
        };
        self.carry_on(candidate, &step, &mut verdict);
        self.decision.trail.push(step);
        self.verdict = std::mem::take(&mut self.verdict).then(verdict);
    }

    /// Endless refusal of the same end becomes words.
    fn cap(&self, event: &Event, candidate: &Candidate, verdict: &mut Verdict, why: &mut Vec<String>) {
        let cap = candidate.hook.draft.terms.cap.filter(|_| event.kind() == Kind::Close);
        if verdict.ruling == Ruling::Deny && cap.is_some_and(|cap| event.facts.refusals >= cap) {
            why.push(format!("refused {} times already: words only", event.facts.refusals));
            verdict.ruling = Ruling::Silent;
            for reason in std::mem::take(&mut verdict.reasons) {
                let ear = gambrel_model::Ear::Person;
                verdict.says.push(Say { ear, text: reason.text, hook: reason.hook });
            }
        }
    }

    /// Settles rewrites by the rule of the hook's dialect, and leaves word to the next hook.
    fn carry_on(&mut self, candidate: &Candidate, step: &Step, verdict: &mut Verdict) {
        let dialect = candidate.hook.dialect.name();
        let outcome = step.outcome.as_ref();
        let last = self.carry.last.entry(dialect).or_insert_with(Last::default);
        last.ok = outcome.map(Outcome::succeeded);
        if let Some(answer) = outcome.and_then(|o| o.answer.as_ref()) {
            last.answer = answer.to_string();
        }
        let rule = candidate.row.patch;
        let held = |slot: &Slot| rule == PatchRule::First && self.carry.now.contains_key(slot);
        verdict.patch.retain(|slot, _| rule != PatchRule::Never && !held(slot) && !self.recheck);
        if verdict.patch.contains_key(&Slot::Input) {
            self.rewriter = Some(candidate.hook.id.clone());
        }
        self.carry.now.extend(verdict.patch.clone());
    }

    /// Gates see rewritten input once more: an Allow held only for the input that it saw.
    fn recheck(&mut self, candidates: &[Candidate]) {
        let Some(rewriter) = self.rewriter.clone() else { return };
        if self.event.kind() != Kind::Gate || self.verdict.ruling.refuses() {
            return;
        }
        let event = self.event.with(&self.carry.now);
        let keeps = |r: &gambrel_model::Reason| r.ruling > Ruling::Allow || r.hook == rewriter;
        let own = self.decision.trail.iter().find(|step| step.hook == rewriter);
        let own = own.map_or(Ruling::Silent, |step| step.verdict);
        let strict = Some(self.verdict.ruling).filter(|ruling| *ruling > Ruling::Allow);
        let first = std::mem::take(&mut self.verdict);
        self.recheck = true;
        let again = select(self.engine, &event, &mut self.decision.troubles).candidates;
        for candidate in running(&again).filter(|c| c.hook.id != rewriter && c.hook.draft.terms.waits) {
            self.turn(&event, std::slice::from_ref(candidate));
        }
        self.unasked(candidates);
        let second = std::mem::replace(&mut self.verdict, first);
        self.verdict.ruling = strict.unwrap_or_default().max(own).max(second.ruling);
        self.verdict.reasons.retain(keeps);
        self.verdict.reasons.extend(second.reasons);
        self.verdict.unheard.extend(second.unheard);
    }

    /// Under a host, its own hooks cannot be asked again.
    fn unasked(&mut self, candidates: &[Candidate]) {
        let own = candidates.iter().any(|c| self.event.is_from(c.hook.dialect));
        if self.engine.options.hosted && own {
            let why = "the host's own hooks have not seen the rewritten input";
            self.decision.losses.push(gambrel_model::Loss::new("recheck", why));
        }
    }

    /// A gate that could not be asked counts as a deny for whoever is strict. Never where things
    /// end: that would keep the agent running for ever.
    fn strict(&mut self) {
        if !self.engine.options.strict || self.event.kind() != Kind::Gate {
            return;
        }
        let broken = |c: &&gambrel_model::Complaint| c.severity == gambrel_model::Severity::Error;
        let mut why = self.verdict.unheard.clone();
        why.extend(self.decision.complaints.iter().filter(broken).map(|c| c.message.clone()));
        for text in why {
            let deny = Verdict::ruled(Ruling::Deny, format!("strict: {text}"));
            self.verdict = std::mem::take(&mut self.verdict).then(deny.by("gambrel"));
        }
    }

    /// What was meant, and what of it the caller is told.
    fn decide(self, paid: Vec<String>) -> Decision {
        let mut decision = self.decision;
        let mut meant = self.verdict;
        meant.patch = self.carry.now.clone();
        decision.meant = meant.clone();
        let (honoured, lost) = meant.honoured(self.event.row);
        decision.losses.extend(lost);
        let said = honoured.said_by(self.event.row);
        decision.losses.extend(said.lost);
        (decision.said, decision.owed) = (said.said, said.owed);
        decision.carry = self.carry;
        decision.paid = paid;
        decision
    }
}

/// Adds what the ledger remembers of the event's session: prompts so far, refusals in a row.
fn remember(engine: &Engine<'_>, event: &mut Event, troubles: &mut Vec<String>) -> SessionState {
    let state = engine.ledger.session(&event.session);
    let mut state = state.unwrap_or_else(|error| {
        troubles.push(error.to_string());
        SessionState::default()
    });
    if event.facts.iteration.is_none() {
        if event.moment == Moment::IterationStart {
            *state.counts.entry(debts::PROMPTS.into()).or_default() += 1;
            let counted = engine.ledger.amend(&event.session, &mut |kept| {
                *kept.counts.entry(debts::PROMPTS.into()).or_default() += 1;
            });
            troubles.extend(counted.err().map(|error| error.to_string()));
        }
        event.facts.iteration = state.counts.get(debts::PROMPTS).copied();
    }
    if event.kind() == Kind::Close {
        event.facts.refusals = state.counts.get(&debts::refusals_of(event)).copied().unwrap_or(0);
    }
    state
}

/// Carries out duties, keeps what is owed, and writes down what was decided.
fn conclude(engine: &Engine<'_>, event: &Event, decision: &mut Decision) {
    for duty in &decision.said.duties {
        let gambrel_model::Duty::WriteFile { path, text } = duty;
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        if let Err(error) = folder.and_then(|()| std::fs::write(path, text)) {
            decision.troubles.push(format!("{}: not written: {error}", path.display()));
        }
    }
    let refused = decision.meant.ruling == Ruling::Deny;
    let kept = debts::owe(engine.ledger, decision)
        .and_then(|()| debts::count_refusal(engine.ledger, event, refused));
    decision.troubles.extend(kept.err().map(|error| error.to_string()));
    journal::finished(engine.ledger, event, decision);
}

fn running(candidates: &[Candidate]) -> impl Iterator<Item = &Candidate> {
    candidates.iter().filter(|candidate| candidate.fate == Fate::Runs)
}

/// A call under the firing's name, so that a hook that calls us again is known.
fn prepared(event: &Event, candidate: &Candidate, call: &mut Call) -> Turn {
    call.env.push(("GAMBREL_FIRING".into(), event.id.clone()));
    let errand = (!call.pace.waits).then(|| Errand::of(event, &candidate.hook));
    let errand = errand.and_then(|errand| serde_json::to_string(&errand).ok());
    Turn { action: candidate.hook.draft.action.clone(), call: std::mem::take(call), errand }
}

/// Shortly before the host gives up.
fn margin(budget: Duration) -> Duration {
    budget.saturating_sub((budget / 20).min(Duration::from_millis(500)))
}

/// What no dialect can take for an answer.
fn unheard(verdict: Verdict, outcome: &Outcome) -> Verdict {
    if !verdict.unheard.is_empty() {
        return verdict;
    }
    match &outcome.end {
        End::Late => verdict.unheard("late: it was killed at its deadline"),
        End::Unstarted(why) => verdict.unheard(format!("not started: {why}")),
        _ => verdict,
    }
}

fn remarks(remark: String, outcome: &Outcome, verdict: &Verdict) -> Vec<String> {
    let mut why: Vec<String> = Some(remark).filter(|text| !text.is_empty()).into_iter().collect();
    why.extend(verdict.unheard.iter().cloned());
    why.extend(verdict.why().into_iter().map(str::to_owned));
    why.extend(outcome.remarks.iter().cloned());
    why
}
