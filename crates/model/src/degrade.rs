//! The only place where a verdict is degraded to what a caller can receive. It also computes what
//! is stored for the session and what is lost. A refusal never becomes permission.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::moment::{Moment, MomentKind};
use crate::spec::{EventSpec, Powers};
use crate::verdict::{Audience, Message, Reason, Ruling, Slot, Verdict, not_applied};

/// One difference between the merged verdict and what the caller received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// The affected part: a ruling's word, `rewrite`, `context`, `notice`.
    pub what: String,
    /// What became of it.
    pub why: String,
}

impl Loss {
    /// A loss of this part for this reason.
    pub fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into() }
    }
}

/// A verdict as one caller receives it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Degraded {
    /// What it receives now.
    pub now: Verdict,
    /// What is stored for the session.
    pub later: Verdict,
    /// Differences from the merged verdict.
    pub losses: Vec<Loss>,
}

impl Verdict {
    /// Keeps the rewrites that the caller accepts. At a gate a dropped rewrite of the input becomes
    /// Ask, because its Allow was for other input.
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

    /// Reduces the verdict to what this caller can receive.
    pub fn degrade_for(self, caller: &EventSpec) -> Degraded {
        let mut degraded = Degraded::default();
        let Self { ruling, reasons, patch, messages, side_effects, gate_failures } = self;
        degraded.now.patch = patch;
        degraded.now.side_effects = side_effects;
        degraded.now.gate_failures = gate_failures;
        degrade_ruling(ruling, reasons, caller, &mut degraded);
        for message in messages {
            degrade_message(message, caller, &mut degraded);
        }
        degraded
    }
}

fn degrade_ruling(ruling: Ruling, reasons: Vec<Reason>, caller: &EventSpec, out: &mut Degraded) {
    if caller.caller_powers.contains(ruling.required_power()) {
        out.now.ruling = ruling;
        out.now.reasons = reasons;
        return;
    }
    match ruling {
        Ruling::Silent | Ruling::Allow => {
            out.losses.push(Loss::new(ruling.as_str(), "has no effect here"));
        }
        Ruling::Halt => keep_halt(reasons, caller, out),
        Ruling::Ask | Ruling::Defer | Ruling::Deny
            if caller.caller_powers.contains(Powers::DENY) =>
        {
            out.losses.push(Loss::new(ruling.as_str(), format!("{} receives deny", caller.name)));
            out.now.ruling = Ruling::Deny;
            out.now.reasons = strengthen_reasons(reasons, ruling);
        }
        Ruling::Ask | Ruling::Defer | Ruling::Deny => {
            out.losses.push(Loss::new(
                ruling.as_str(),
                format!("{} receives a message only", caller.name),
            ));
            for reason in reasons.into_iter().filter(|r| r.ruling == ruling) {
                // At a Close a refusal concerns the next turn.
                let (to, text) = match caller.kind() {
                    MomentKind::Gate => (Audience::AgentNow, format!("[Blocked: {}]", reason.text)),
                    MomentKind::Close => (Audience::AgentNextTurn, reason.text),
                    MomentKind::Report => (Audience::AgentNow, reason.text),
                };
                degrade_message(Message { to, text, hook: reason.hook }, caller, out);
            }
        }
    }
}

/// A halt that the caller cannot receive is stored for later events, shown to the user, and sent as
/// Deny if the caller accepts that.
fn keep_halt(reasons: Vec<Reason>, caller: &EventSpec, out: &mut Degraded) {
    out.losses.push(Loss::new(
        "halt",
        format!("{} cannot stop the session; stored for later", caller.name),
    ));
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

/// Turns the reasons of a ruling into reasons of a deny.
fn strengthen_reasons(reasons: Vec<Reason>, from: Ruling) -> Vec<Reason> {
    let raise = |mut r: Reason| {
        if r.ruling == from {
            r.ruling = Ruling::Deny;
        }
        r
    };
    reasons.into_iter().map(raise).collect()
}

fn degrade_message(message: Message, caller: &EventSpec, out: &mut Degraded) {
    let can = caller.caller_powers;
    match message.to {
        Audience::User => {
            if !can.contains(Powers::MESSAGE_USER) {
                out.losses.push(Loss::new("notice", format!("{} shows nothing", caller.name)));
            }
            out.now.messages.push(message);
        }
        Audience::AgentNow if can.contains(Powers::MESSAGE_AGENT) => out.now.messages.push(message),
        Audience::AgentNow | Audience::AgentNextTurn if can.contains(Powers::MESSAGE_NEXT_TURN) => {
            out.now.messages.push(Message { to: Audience::AgentNextTurn, ..message });
        }
        Audience::AgentNow | Audience::AgentNextTurn if caller.moment == Moment::SessionEnd => {
            out.losses.push(Loss::new("context", "the session ends: shown to the user"));
            out.now.messages.push(Message { to: Audience::User, ..message });
        }
        Audience::AgentNow | Audience::AgentNextTurn => {
            out.losses.push(Loss::new(
                "context",
                format!("{} accepts no messages; stored for later", caller.name),
            ));
            out.later.messages.push(message);
        }
    }
}
