//! The row type of a dialect's event table. A native event name is written only in such a row.

use std::time::Duration;

use crate::moment::{Moment, MomentKind};
use crate::verdict::Slot;

/// A row of a dialect's event table.
#[derive(Debug, Clone)]
pub struct EventSpec {
    /// The native name. An empty name is the row for events that the dialect does not know.
    pub name: &'static str,
    /// The neutral moment.
    pub moment: Moment,
    /// Which fact a matcher looks at.
    pub subject: Subject,
    /// How hooks of this dialect run here.
    pub order: Order,
    /// Which of several rewrites counts.
    pub patch: PatchRule,
    /// What a hook may rewrite here.
    pub rewritable: &'static [Slot],
    /// Which rewrites this caller accepts.
    pub caller_accepts: &'static [Slot],
    /// What a hook's answer may do here.
    pub hook_powers: Powers,
    /// What this dialect can receive here as a caller.
    pub caller_powers: Powers,
    /// Other dialects received this moment under an earlier name.
    pub duplicate_of_earlier: bool,
    /// A refusal here keeps the iteration or task going.
    pub can_veto_end: bool,
    /// Whether a host may report the event although no hook exists for it. False where a hook
    /// replaces work of the host.
    pub reportable: bool,
    /// Whether the caller accepts rewritten input only together with an Allow.
    pub input_needs_allow: bool,
    /// How long a live host waits for the reply; `None` without a limit.
    pub host_timeout: Option<Duration>,
}

impl EventSpec {
    /// A row without powers; builder methods add the rest.
    pub const fn new(name: &'static str, moment: Moment) -> Self {
        Self {
            name,
            moment,
            subject: Subject::None,
            order: Order::Sequential,
            patch: PatchRule::Never,
            rewritable: &[],
            caller_accepts: &[],
            hook_powers: Powers::empty(),
            caller_powers: Powers::empty(),
            duplicate_of_earlier: false,
            can_veto_end: false,
            reportable: true,
            input_needs_allow: false,
            host_timeout: None,
        }
    }

    crate::row_setters! {
        /// The row with another subject.
        with_subject(subject: Subject) { subject = subject }
        /// The row with another order.
        with_order(order: Order) { order = order }
        /// The row with rewritable slots and their rule.
        with_rewrites(rule: PatchRule, slots: &'static [Slot]) {
            patch = rule, rewritable = slots, caller_accepts = slots
        }
        /// The row with other slots that the caller accepts.
        with_caller_accepts(slots: &'static [Slot]) { caller_accepts = slots }
        /// The row with what a hook may answer.
        with_hook_powers(may: Powers) { hook_powers = may }
        /// The row with what a caller can receive.
        with_caller_powers(can: Powers) { caller_powers = can }
        /// The row of an end that a hook can veto.
        with_end_veto() { can_veto_end = true }
        /// The row of a moment that other dialects received under an earlier name.
        as_duplicate() { duplicate_of_earlier = true }
    }

    /// The kind of the moment. An event of this dialect alone is a gate if its hooks may deny it.
    pub fn kind(&self) -> MomentKind {
        match &self.moment {
            Moment::Other(_) if self.hook_powers.contains(Powers::DENY) => MomentKind::Gate,
            moment => moment.kind(),
        }
    }
}

/// What a matcher is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Nothing: every hook of the event matches.
    None,
    /// The tool's name.
    Tool,
    /// The fact `cause`, from this native field.
    Cause(&'static str),
}

/// The order of the hooks of one dialect at one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// All at once; merged in configured order.
    Parallel,
    /// One after the other; all run.
    Sequential,
    /// One after the other, until one refuses.
    UntilRefused,
}

/// Which rewrite counts when several hooks of one dialect rewrite the same slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchRule {
    /// No rewrites.
    Never,
    /// The first in configured order.
    First,
    /// The last in configured order.
    Last,
    /// Each hook sees the earlier rewrites.
    Chain,
}

bitflags::bitflags! {
    /// A set of rulings and messages.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct Powers: u16 {
        /// Allow.
        const ALLOW = 1;
        /// Ask the user.
        const ASK = 2;
        /// Defer.
        const DEFER = 4;
        /// Deny.
        const DENY = 8;
        /// Halt the session.
        const HALT = 16;
        /// Messages for the agent, now.
        const MESSAGE_AGENT = 32;
        /// Messages for the agent at its next turn.
        const MESSAGE_NEXT_TURN = 64;
        /// Messages for the user.
        const MESSAGE_USER = 128;
    }
}
