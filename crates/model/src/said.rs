//! The one place where a verdict is degraded: what all hooks meant, as far as this caller can be
//! told it here, what stays owed to its session, and what was lost on the way. Never loosens a
//! refusal into permission.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::moment::{Kind, Moment};
use crate::spec::{EventSpec, Powers};
use crate::verdict::{Ear, Reason, Ruling, Say, Slot, Verdict, not_applied};

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
pub struct Said {
    /// What it is told now.
    pub said: Verdict,
    /// What its session is told later.
    pub owed: Verdict,
    /// What differs from what was meant.
    pub lost: Vec<Loss>,
}

impl Verdict {
    /// Keeps the rewrites that the caller can take. One that it cannot take leaves a question
    /// behind at a gate, never silence: the Allow that came with it was for other input.
    pub fn honoured(mut self, caller: &EventSpec) -> (Self, Vec<Loss>) {
        let mut losses = Vec::new();
        let taken = |slot: &Slot| caller.heeds.contains(slot) || slot.is_native();
        let (kept, dropped) = self.patch.into_iter().partition(|(slot, _)| taken(slot));
        self.patch = kept;
        let dropped: std::collections::BTreeMap<Slot, Value> = dropped;
        for (slot, value) in dropped {
            let word = String::from(slot.clone());
            losses
                .push(Loss::new("rewrite", format!("{} cannot take another {word}", caller.name)));
            if slot == Slot::Input && caller.kind() == Kind::Gate {
                let value: String = value.to_string().chars().take(500).collect();
                let text =
                    format!("a hook wants other input, which this caller cannot take: {value}");
                self.ruling = self.ruling.max(Ruling::Ask);
                self.reasons.push(Reason { ruling: Ruling::Ask, text, hook: String::new() });
            } else {
                self.says.push(not_applied(&slot));
            }
        }
        (self, losses)
    }

    /// What this caller is told, what is owed, what is lost.
    pub fn said_by(self, caller: &EventSpec) -> Said {
        let mut said = Said::default();
        let Self { ruling, reasons, patch, says, duties, unheard } = self;
        said.said.patch = patch;
        said.said.duties = duties;
        said.said.unheard = unheard;
        say_ruling(ruling, reasons, caller, &mut said);
        for say in says {
            say_words(say, caller, &mut said);
        }
        said
    }
}

fn say_ruling(ruling: Ruling, reasons: Vec<Reason>, caller: &EventSpec, out: &mut Said) {
    if caller.can.has(ruling.power()) {
        out.said.ruling = ruling;
        out.said.reasons = reasons;
        return;
    }
    match ruling {
        Ruling::Silent | Ruling::Allow => {
            out.lost.push(Loss::new(ruling.word(), "needs no saying here"));
        }
        Ruling::Halt => owe_halt(reasons, caller, out),
        Ruling::Ask | Ruling::Defer | Ruling::Deny if caller.can.has(Powers::DENY) => {
            out.lost.push(Loss::new(ruling.word(), format!("{} is told deny", caller.name)));
            out.said.ruling = Ruling::Deny;
            out.said.reasons = sharpened(reasons, ruling);
        }
        Ruling::Ask | Ruling::Defer | Ruling::Deny => {
            out.lost.push(Loss::new(ruling.word(), format!("{} is told words only", caller.name)));
            for reason in reasons.into_iter().filter(|r| r.ruling == ruling) {
                // Where things end, a refusal is about the next turn: this one is over.
                let (ear, text) = match caller.kind() {
                    Kind::Gate => (Ear::Agent, format!("[Blocked: {}]", reason.text)),
                    Kind::Close => (Ear::Next, reason.text),
                    Kind::Report => (Ear::Agent, reason.text),
                };
                say_words(Say { ear, text, hook: reason.hook }, caller, out);
            }
        }
    }
}

/// A halt that cannot be said is kept for later events, shown to the person, and refused now
/// where refusing can be said.
fn owe_halt(reasons: Vec<Reason>, caller: &EventSpec, out: &mut Said) {
    out.lost.push(Loss::new("halt", format!("{} cannot stop the session; owed", caller.name)));
    out.owed.ruling = Ruling::Halt;
    out.owed.reasons = reasons.iter().filter(|r| r.ruling == Ruling::Halt).cloned().collect();
    for reason in &out.owed.reasons {
        let text = format!("a hook stopped this session: {}", reason.text);
        out.said.says.push(Say { ear: Ear::Person, text, hook: reason.hook.clone() });
    }
    if caller.can.has(Powers::DENY) {
        out.said.ruling = Ruling::Deny;
        out.said.reasons = sharpened(reasons, Ruling::Halt);
    }
}

/// The reasons of the winning ruling, now explaining a deny.
fn sharpened(reasons: Vec<Reason>, from: Ruling) -> Vec<Reason> {
    let raise = |mut r: Reason| {
        if r.ruling == from {
            r.ruling = Ruling::Deny;
        }
        r
    };
    reasons.into_iter().map(raise).collect()
}

fn say_words(say: Say, caller: &EventSpec, out: &mut Said) {
    let can = caller.can;
    match say.ear {
        Ear::Person => {
            if !can.has(Powers::SHOW) {
                out.lost.push(Loss::new("notice", format!("{} shows nothing", caller.name)));
            }
            out.said.says.push(say);
        }
        Ear::Agent if can.has(Powers::TELL) => out.said.says.push(say),
        Ear::Agent | Ear::Next if can.has(Powers::NEXT) => {
            out.said.says.push(Say { ear: Ear::Next, ..say });
        }
        Ear::Agent | Ear::Next if caller.moment == Moment::SessionEnd => {
            out.lost.push(Loss::new("context", "the session ends: shown to the person"));
            out.said.says.push(Say { ear: Ear::Person, ..say });
        }
        Ear::Agent | Ear::Next => {
            out.lost.push(Loss::new("context", format!("{} takes none; owed", caller.name)));
            out.owed.says.push(say);
        }
    }
}
