//! The one place where a verdict is degraded: what all hooks meant, as far as this caller can be
//! told it here, what stays owed to its session, and what was lost on the way. Never loosens a
//! refusal into permission.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::moment::{Moment, MomentKind};
use crate::spec::{EventSpec, Powers};
use crate::verdict::{Audience, Message, Reason, Ruling, Slot, Verdict, not_applied};

/// Something that could not be said as it was meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// What was meant: a ruling's word, `rewrite`, `context`, `notice`.
    pub what: String,
    /// What became of it.
    pub why: String,
}

impl Loss {
    /// A loss in two phrases.
    pub fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into() }
    }
}

/// A verdict as one caller hears it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Degraded {
    /// What it is told now.
    pub now: Verdict,
    /// What its session is told later.
    pub later: Verdict,
    /// What differs from what was meant.
    pub losses: Vec<Loss>,
}

impl Verdict {
    /// Keeps the rewrites that the caller can take. One that it cannot take leaves a question
    /// behind at a gate, never silence: the Allow that came with it was for other input.
    pub fn keep_supported_rewrites(mut self, caller: &EventSpec) -> (Self, Vec<Loss>) {
        let mut losses = Vec::new();
        let taken = |slot: &Slot| caller.caller_accepts.contains(slot) || slot.is_native();
        let (kept, dropped) = self.patch.into_iter().partition(|(slot, _)| taken(slot));
        self.patch = kept;
        let dropped: std::collections::BTreeMap<Slot, Value> = dropped;
        for (slot, value) in dropped {
            let word = String::from(slot.clone());
            losses
                .push(Loss::new("rewrite", format!("{} cannot take another {word}", caller.name)));
            if slot == Slot::Input && caller.kind() == MomentKind::Gate {
                let value: String = value.to_string().chars().take(500).collect();
                let text =
                    format!("a hook wants other input, which this caller cannot take: {value}");
                self.ruling = self.ruling.max(Ruling::Ask);
                self.reasons.push(Reason { ruling: Ruling::Ask, text, hook: String::new() });
            } else {
                self.messages.push(not_applied(&slot));
            }
        }
        (self, losses)
    }

    /// What this caller is told, what is owed, what is lost.
    pub fn degrade_for(self, caller: &EventSpec) -> Degraded {
        let mut said = Degraded::default();
        let Self {
            ruling,
            reasons,
            patch,
            messages: says,
            side_effects: duties,
            gate_failures: unheard,
        } = self;
        said.now.patch = patch;
        said.now.side_effects = duties;
        said.now.gate_failures = unheard;
        degrade_ruling(ruling, reasons, caller, &mut said);
        for say in says {
            degrade_message(say, caller, &mut said);
        }
        said
    }
}

fn degrade_ruling(ruling: Ruling, reasons: Vec<Reason>, caller: &EventSpec, out: &mut Degraded) {
    if caller.caller_powers.contains(ruling.power()) {
        out.now.ruling = ruling;
        out.now.reasons = reasons;
        return;
    }
    match ruling {
        Ruling::Silent | Ruling::Allow => {
            out.losses.push(Loss::new(ruling.word(), "needs no saying here"));
        }
        Ruling::Halt => keep_halt(reasons, caller, out),
        Ruling::Ask | Ruling::Defer | Ruling::Deny
            if caller.caller_powers.contains(Powers::DENY) =>
        {
            out.losses.push(Loss::new(ruling.word(), format!("{} is told deny", caller.name)));
            out.now.ruling = Ruling::Deny;
            out.now.reasons = strengthen_reasons(reasons, ruling);
        }
        Ruling::Ask | Ruling::Defer | Ruling::Deny => {
            out.losses
                .push(Loss::new(ruling.word(), format!("{} is told words only", caller.name)));
            for reason in reasons.into_iter().filter(|r| r.ruling == ruling) {
                // Where things end, a refusal is about the next turn: this one is over.
                let (ear, text) = match caller.kind() {
                    MomentKind::Gate => (Audience::AgentNow, format!("[Blocked: {}]", reason.text)),
                    MomentKind::Close => (Audience::AgentNextTurn, reason.text),
                    MomentKind::Report => (Audience::AgentNow, reason.text),
                };
                degrade_message(Message { to: ear, text, hook: reason.hook }, caller, out);
            }
        }
    }
}

/// A halt that cannot be said is kept for later events, shown to the person, and refused now
/// where refusing can be said.
fn keep_halt(reasons: Vec<Reason>, caller: &EventSpec, out: &mut Degraded) {
    out.losses.push(Loss::new("halt", format!("{} cannot stop the session; owed", caller.name)));
    out.later.ruling = Ruling::Halt;
    out.later.reasons = reasons.iter().filter(|r| r.ruling == Ruling::Halt).cloned().collect();
    for reason in &out.later.reasons {
        let text = format!("a hook stopped this session: {}", reason.text);
        out.now.messages.push(Message { to: Audience::User, text, hook: reason.hook.clone() });
    }
    if caller.caller_powers.contains(Powers::DENY) {
        out.now.ruling = Ruling::Deny;
        out.now.reasons = strengthen_reasons(reasons, Ruling::Halt);
    }
}

/// The reasons of the winning ruling, now explaining a deny.
fn strengthen_reasons(reasons: Vec<Reason>, from: Ruling) -> Vec<Reason> {
    let raise = |mut r: Reason| {
        if r.ruling == from {
            r.ruling = Ruling::Deny;
        }
        r
    };
    reasons.into_iter().map(raise).collect()
}

fn degrade_message(say: Message, caller: &EventSpec, out: &mut Degraded) {
    let can = caller.caller_powers;
    match say.to {
        Audience::User => {
            if !can.contains(Powers::MESSAGE_USER) {
                out.losses.push(Loss::new("notice", format!("{} shows nothing", caller.name)));
            }
            out.now.messages.push(say);
        }
        Audience::AgentNow if can.contains(Powers::MESSAGE_AGENT) => out.now.messages.push(say),
        Audience::AgentNow | Audience::AgentNextTurn if can.contains(Powers::MESSAGE_NEXT_TURN) => {
            out.now.messages.push(Message { to: Audience::AgentNextTurn, ..say });
        }
        Audience::AgentNow | Audience::AgentNextTurn if caller.moment == Moment::SessionEnd => {
            out.losses.push(Loss::new("context", "the session ends: shown to the person"));
            out.now.messages.push(Message { to: Audience::User, ..say });
        }
        Audience::AgentNow | Audience::AgentNextTurn => {
            out.losses.push(Loss::new("context", format!("{} takes none; owed", caller.name)));
            out.later.messages.push(say);
        }
    }
}
