//! The only place where a verdict is degraded: to what a hook may answer, and to what a caller can
//! receive. It also computes what is stored for the session and what is lost. A refusal never
//! becomes permission.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::moment::{Moment, MomentKind};
use crate::spec::{EventSpec, Powers};
use crate::text::{MAX_SHOWN_INPUT_CHARS, truncate_chars};
use crate::verdict::{Audience, Message, Patch, Reason, Ruling, Slot, Verdict};

/// One difference between the merged verdict and what the caller received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
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

impl Degraded {
    fn lose(&mut self, what: &str, why: impl Into<String>) {
        self.losses.push(Loss::new(what, why));
    }
}

impl Verdict {
    /// Keeps the part that the hook's event spec allows. A ruling outside of it becomes a message
    /// for the user, a rewrite is dropped, and both are recorded as losses. At a gate a dropped
    /// rewrite of the input becomes Ask, or Deny where the hook may not ask.
    pub fn within_hook_powers(mut self, own: &EventSpec) -> (Self, Vec<Loss>) {
        let mut losses = Vec::new();
        if !own.hook_powers.contains(self.ruling.required_power()) {
            losses.push(Loss::new(
                self.ruling.as_str(),
                format!("{} cannot be answered so", own.name),
            ));
            self = self.reasons_to_notices(Audience::User);
        }
        let taken = |slot: &Slot| own.rewritable.contains(slot) || slot.is_native();
        for (slot, value) in self.keep_slots(taken) {
            losses.push(Loss::new("rewrite", format!("{} has nothing to rewrite", own.name)));
            match slot {
                Slot::Input if own.kind() == MomentKind::Gate => self.drop_hook_input(&value, own),
                Slot::Output => self.messages.push(not_applied(&slot)),
                _ => {}
            }
        }
        (self, losses)
    }

    /// Keeps these rewrites and returns the others.
    fn keep_slots(&mut self, taken: impl Fn(&Slot) -> bool) -> Patch {
        let all = std::mem::take(&mut self.patch).into_iter();
        let (kept, dropped) = all.partition(|(slot, _)| taken(slot));
        self.patch = kept;
        dropped
    }

    /// The input of a gate stays as it was. A hook that may neither ask nor deny gives no permission.
    fn drop_hook_input(&mut self, value: &Value, own: &EventSpec) {
        let mut strict = [Ruling::Ask, Ruling::Deny].into_iter();
        match strict.find(|ruling| own.hook_powers.contains(ruling.required_power())) {
            Some(ruling) => self.refuse_other_input(ruling, value, own.name),
            None => {
                if self.ruling == Ruling::Allow {
                    self.ruling = Ruling::Silent;
                    self.reasons.retain(|reason| reason.ruling != Ruling::Allow);
                }
                self.messages.push(not_applied(&Slot::Input));
            }
        }
    }

    /// An Allow was for other input than the tool will have.
    fn refuse_other_input(&mut self, ruling: Ruling, value: &Value, name: &str) {
        let value = truncate_chars(&value.to_string(), MAX_SHOWN_INPUT_CHARS, "…");
        let text = format!("a hook wants other input, which {name} cannot take: {value}");
        self.ruling = self.ruling.max(ruling);
        self.reasons.push(Reason { ruling, text, hook: String::new() });
    }

    /// A ruling that a hook's answer may give here. Without the power for it, a refusal becomes a
    /// message for the user.
    pub fn ruling_within_powers(own: &EventSpec, ruling: Ruling, text: &str) -> Self {
        match own.hook_powers.contains(ruling.required_power()) {
            true if text.is_empty() => Self { ruling, ..Self::default() },
            true => Self::with_ruling(ruling, text),
            false if ruling.is_refusal() && !text.is_empty() => {
                Self::notice_within_powers(own, text)
            }
            false => Self::default(),
        }
    }

    /// A message for the user, if a hook's answer may have one here.
    pub fn notice_within_powers(own: &EventSpec, text: &str) -> Self {
        match own.hook_powers.contains(Powers::MESSAGE_USER) {
            true => Self::with_only_message(Audience::User, text),
            false => Self::default(),
        }
    }

    /// Turns the ruling into messages: its reasons are sent, and it has no other effect.
    #[must_use]
    pub fn reasons_to_notices(mut self, to: Audience) -> Self {
        let reasons = std::mem::take(&mut self.reasons).into_iter();
        let messages = reasons.map(|reason| Message { to, text: reason.text, hook: reason.hook });
        self.messages.extend(messages);
        self.ruling = Ruling::Silent;
        self
    }

    /// Turns a refusal into messages for the user once the same subject was refused too often in a
    /// row. Returns a remark if it did.
    pub fn cap_refusals(self, cap: Option<u64>, refusals: u64) -> (Self, Option<String>) {
        if self.ruling != Ruling::Deny || cap.is_none_or(|cap| refusals < cap) {
            return (self, None);
        }
        let often = format!("let through after {refusals} refusals in a row");
        let mut capped = self;
        for reason in &mut capped.reasons {
            reason.text = format!("{} ({often})", reason.text);
        }
        (capped.reasons_to_notices(Audience::User), Some(often))
    }

    /// The part of a stored halt that this caller receives now: a halt, a deny at a gate, or each
    /// time a message for the user.
    pub fn undelivered_halt(&self, caller: &EventSpec) -> Self {
        let can = caller.caller_powers;
        let ruling = match caller.kind() {
            _ if can.contains(Powers::HALT) => Ruling::Halt,
            MomentKind::Gate if can.contains(Powers::DENY) => Ruling::Deny,
            _ => return Self { messages: halt_notices(&self.reasons), ..Self::default() },
        };
        let reasons = halt_notices(&self.reasons).into_iter();
        let reason = |notice: Message| Reason { ruling, text: notice.text, hook: notice.hook };
        Self { ruling, reasons: reasons.map(reason).collect(), ..Self::default() }
    }

    /// Keeps the rewrites that the caller accepts. At a gate a dropped rewrite of the input becomes
    /// Ask, because its Allow was for other input.
    pub fn keep_supported_rewrites(mut self, caller: &EventSpec) -> (Self, Vec<Loss>) {
        let mut losses = Vec::new();
        let taken = |slot: &Slot| caller.caller_accepts.contains(slot) || slot.is_native();
        for (slot, value) in self.keep_slots(taken) {
            let word = String::from(slot.clone());
            losses
                .push(Loss::new("rewrite", format!("{} cannot take another {word}", caller.name)));
            if slot == Slot::Input && caller.kind() == MomentKind::Gate {
                self.refuse_other_input(Ruling::Ask, &value, "this caller");
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
        drop_unsent_input(caller, &mut degraded);
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
            out.lose(ruling.as_str(), "has no effect here");
        }
        Ruling::Halt => keep_halt(reasons, caller, out),
        Ruling::Ask | Ruling::Defer | Ruling::Deny
            if caller.caller_powers.contains(Powers::DENY) =>
        {
            out.lose(ruling.as_str(), format!("{} receives deny", caller.name));
            out.now.ruling = Ruling::Deny;
            out.now.reasons = strengthen_reasons(reasons, ruling);
        }
        Ruling::Ask | Ruling::Defer | Ruling::Deny => {
            out.lose(ruling.as_str(), format!("{} receives a message only", caller.name));
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
    out.lose("halt", format!("{} cannot stop the session; stored for later", caller.name));
    out.later.ruling = Ruling::Halt;
    out.later.reasons = reasons.iter().filter(|r| r.ruling == Ruling::Halt).cloned().collect();
    out.now.messages.extend(halt_notices(&out.later.reasons));
    if caller.caller_powers.contains(Powers::DENY) {
        out.now.ruling = Ruling::Deny;
        out.now.reasons = strengthen_reasons(reasons, Ruling::Halt);
    }
}

/// The messages for the user about a halt.
fn halt_notices(reasons: &[Reason]) -> Vec<Message> {
    let notice = |reason: &Reason| Message {
        to: Audience::User,
        text: format!("a hook stopped this session: {}", reason.text),
        hook: reason.hook.clone(),
    };
    reasons.iter().map(notice).collect()
}

/// Drops a rewritten input that the caller accepts only with a permission, if no hook gave one.
fn drop_unsent_input(caller: &EventSpec, out: &mut Degraded) {
    let is_sent = !caller.input_needs_allow || out.now.ruling != Ruling::Silent;
    if is_sent || out.now.patch.remove(&Slot::Input).is_none() {
        return;
    }
    out.lose("rewrite", format!("{} takes it with allow only", caller.name));
    let text = "a hook's rewrite of the input was not applied".to_owned();
    out.now.messages.push(Message { to: Audience::User, text, hook: String::new() });
}

/// The message for the user about a dropped rewrite.
fn not_applied(slot: &Slot) -> Message {
    let word = String::from(slot.clone());
    let text =
        format!("a hook's rewrite of the {word} was not applied: the agent sees it as it was");
    Message { to: Audience::User, text, hook: String::new() }
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
                out.lose("notice", format!("{} shows nothing", caller.name));
            }
            out.now.messages.push(message);
        }
        Audience::AgentNow if can.contains(Powers::MESSAGE_AGENT) => out.now.messages.push(message),
        Audience::AgentNow | Audience::AgentNextTurn if can.contains(Powers::MESSAGE_NEXT_TURN) => {
            out.now.messages.push(Message { to: Audience::AgentNextTurn, ..message });
        }
        Audience::AgentNow | Audience::AgentNextTurn if caller.moment == Moment::SessionEnd => {
            out.lose("context", "the session ends: shown to the user");
            out.now.messages.push(Message { to: Audience::User, ..message });
        }
        Audience::AgentNow | Audience::AgentNextTurn => {
            out.lose("context", format!("{} accepts no messages; stored for later", caller.name));
            out.later.messages.push(message);
        }
    }
}
