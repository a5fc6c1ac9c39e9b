//! What is owed to a session: words and halts that an earlier caller could not be told. They seed
//! a later firing, and are struck off once its reply is out.

use gambrel_model::{
    Debt, Decision, Ear, Event, Kind, Ledger, LedgerError, Moment, Powers, Reason, Ruling, Say,
    SessionState, Verdict,
};

/// The count of prompts that a session has had.
pub const PROMPTS: &str = "prompts";

/// What this caller can be told of the session's debts, and how much of each that pays.
pub fn seed(event: &Event, state: &SessionState) -> (Verdict, Vec<Debt>) {
    let mut seed = Verdict::default();
    let mut paid = Vec::new();
    for debt in &state.owed {
        let Verdict { ruling, reasons, says, .. } = &debt.verdict;
        let words = says.iter().filter(|say| deliverable(event, say.ear));
        let mut part = Verdict { says: words.cloned().collect(), ..Verdict::default() };
        seed.says.extend(part.says.iter().map(told));
        if *ruling != Ruling::Silent && halt(event, &debt.verdict, &mut seed) {
            (part.ruling, part.reasons) = (*ruling, reasons.clone());
        }
        if !is_nothing(&part) || is_nothing(&debt.verdict) {
            paid.push(Debt { verdict: part, ..debt.clone() });
        }
    }
    (seed, paid)
}

fn is_nothing(verdict: &Verdict) -> bool {
    verdict.says.is_empty() && verdict.ruling == Ruling::Silent
}

/// The next turn is this one; what is for the person stays so.
fn told(say: &Say) -> Say {
    let ear = if say.ear == Ear::Person { Ear::Person } else { Ear::Agent };
    Say { ear, ..say.clone() }
}

/// Words for the next turn wait for a turn to begin, or for the session's end; others for any
/// event that carries words.
fn deliverable(event: &Event, ear: Ear) -> bool {
    let can = event.row.can;
    let begins = matches!(event.moment, Moment::SessionStart | Moment::IterationStart);
    match ear {
        _ if event.moment == Moment::SessionEnd => true,
        Ear::Next => begins && (can.has(Powers::TELL) || can.has(Powers::NEXT)),
        Ear::Agent => can.has(Powers::TELL) || can.has(Powers::NEXT),
        Ear::Person => can.has(Powers::SHOW),
    }
}

/// A halt is paid where it can be said; until then gates hear it as a refusal, again and again.
fn halt(event: &Event, owed: &Verdict, seed: &mut Verdict) -> bool {
    let sayable = event.row.can.has(Powers::HALT);
    let ruling = match (sayable, event.kind()) {
        (true, _) => Ruling::Halt,
        (false, Kind::Gate) if event.row.can.has(Powers::DENY) => Ruling::Deny,
        // Where nothing can be said of it, the person hears it again and again.
        _ => {
            seed.says.extend(owed.reasons.iter().map(|reason| Say {
                ear: Ear::Person,
                text: format!("a hook stopped this session: {}", reason.text),
                hook: reason.hook.clone(),
            }));
            return false;
        }
    };
    seed.ruling = seed.ruling.max(ruling);
    for reason in &owed.reasons {
        let text = format!("a hook stopped this session: {}", reason.text);
        seed.reasons.push(Reason { ruling, text, hook: reason.hook.clone() });
    }
    sayable
}

/// Keeps what could not be said, under a name of its own.
pub fn owe(ledger: &dyn Ledger, decision: &Decision) -> Result<(), LedgerError> {
    let owed = &decision.owed;
    if is_nothing(owed) {
        return Ok(());
    }
    let debt = Debt { id: decision.id.clone(), from: "hooks".into(), verdict: owed.clone() };
    ledger.amend(&decision.memory, &mut |state| {
        // What stays owed is owed once, however often it is said again.
        let paid = |old: &Debt| decision.paid.iter().any(|paid| paid.id == old.id);
        let known = state.owed.iter().any(|old| old.verdict == debt.verdict && !paid(old));
        if !known {
            state.owed.push(debt.clone());
        }
    })
}

/// Strikes off what a reply has told; of a debt that it told in part the rest stays.
pub fn settle(ledger: &dyn Ledger, decision: &Decision) -> Result<(), LedgerError> {
    if decision.paid.is_empty() {
        return Ok(());
    }
    ledger.amend(&decision.memory, &mut |state| {
        state.owed.retain_mut(|debt| match decision.paid.iter().find(|p| p.id == debt.id) {
            Some(paid) => {
                strike(&mut debt.verdict, &paid.verdict);
                !is_nothing(&debt.verdict)
            }
            None => true,
        });
    })
}

fn strike(owed: &mut Verdict, told: &Verdict) {
    owed.says.retain(|say| !told.says.contains(say));
    if told.ruling == owed.ruling {
        owed.ruling = Ruling::Silent;
        owed.reasons.clear();
    }
}

/// The name under which refusals of the same end are counted: of a task, of one of the session's
/// agents, or of the session itself.
pub fn refusals_of(event: &Event) -> String {
    let (name, facts) = (&event.name, &event.facts);
    match (&facts.task, facts.agent.as_ref().or(facts.member.as_ref())) {
        (Some(task), _) => format!("refused:{name}:{}", task.id),
        (None, Some(agent)) => format!("refused:{name}@{agent}:"),
        (None, None) => format!("refused:{name}:"),
    }
}

/// A person's next prompt: how often the end of the last turn was refused counts no longer.
pub fn begin_turn(state: &mut SessionState) {
    let of_turn = |name: &str| name.starts_with("refused:") && name.ends_with(':');
    state.counts.retain(|name, _| !of_turn(name));
}

/// Counts a refusal of an end. Once it was not refused the earlier ones are forgotten; but a task
/// ends only once, so its count stays (000, notes: reopens are counted for a task's whole life).
pub fn count_refusal(ledger: &dyn Ledger, event: &Event, refused: bool) -> Result<(), LedgerError> {
    let forgets = event.facts.refusals > 0 && event.facts.task.is_none();
    if event.kind() != Kind::Close || !(refused || forgets) {
        return Ok(());
    }
    let name = refusals_of(event);
    ledger.amend(&event.memory(), &mut |state| match refused {
        true => *state.counts.entry(name.clone()).or_default() += 1,
        false => drop(state.counts.remove(&name)),
    })
}
