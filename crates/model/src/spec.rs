//! One row per native event of a dialect: the shape of the table in which every native event name
//! is written exactly once. The rows themselves live with their dialects.

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
    /// How rewrites of several hooks of this dialect are settled.
    pub patch: PatchRule,
    /// What a hook may rewrite here.
    pub rewritable: &'static [Slot],
    /// What a caller takes rewritten here.
    pub caller_accepts: &'static [Slot],
    /// What a hook's answer may do here.
    pub hook_powers: Powers,
    /// What this dialect can hear here as a caller.
    pub caller_powers: Powers,
    /// Hooks of other dialects have heard this moment under another name already.
    pub duplicate_of_earlier: bool,
}

impl EventSpec {
    /// A row that nobody answers and in which nothing is said; the rest is added word by word.
    pub const fn new(name: &'static str, moment: Moment) -> Self {
        Self {
            name,
            moment,
            subject: Subject::None,
            order: Order::Sequential,
            patch: PatchRule::Never,
            rewritable: &[],
            caller_accepts: &[],
            hook_powers: Powers::NONE,
            caller_powers: Powers::NONE,
            duplicate_of_earlier: false,
        }
    }

    /// The row with another subject.
    #[must_use]
    pub const fn with_subject(mut self, subject: Subject) -> Self {
        self.subject = subject;
        self
    }

    /// The row with another order.
    #[must_use]
    pub const fn with_order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// The row with things to rewrite, and a rule for it.
    #[must_use]
    pub const fn with_rewrites(mut self, rule: PatchRule, slots: &'static [Slot]) -> Self {
        self.patch = rule;
        self.rewritable = slots;
        self.caller_accepts = slots;
        self
    }

    /// The row with other things that a caller takes rewritten.
    #[must_use]
    pub const fn with_caller_accepts(mut self, slots: &'static [Slot]) -> Self {
        self.caller_accepts = slots;
        self
    }

    /// The row with what a hook may answer.
    #[must_use]
    pub const fn with_hook_powers(mut self, may: Powers) -> Self {
        self.hook_powers = may;
        self
    }

    /// The row with what a caller can hear.
    #[must_use]
    pub const fn with_caller_powers(mut self, can: Powers) -> Self {
        self.caller_powers = can;
        self
    }

    /// The row of a moment that others have heard under another name.
    #[must_use]
    pub const fn as_duplicate(mut self) -> Self {
        self.duplicate_of_earlier = true;
        self
    }

    /// Where the event stands to the thing it is about. An event that only this dialect knows
    /// is a gate when its own answer can refuse it.
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
    /// Nothing: every hook of the event is meant.
    None,
    /// The tool's name.
    Tool,
    /// The fact `cause`, which stands in this native field.
    Cause(&'static str),
}

/// How the hooks of one dialect take turns at one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// All at once; folded in configured order.
    Parallel,
    /// One after the other; all run.
    Sequential,
    /// One after the other, until one refuses.
    UntilRefused,
}

/// Whose rewrite stands when several hooks of one dialect rewrite the same slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchRule {
    /// Nobody may rewrite.
    Never,
    /// The first in configured order.
    First,
    /// The last in configured order.
    Last,
    /// Each sees what came before and may go on from there.
    Chain,
}

/// A set of things that can be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Powers(u16);

impl Powers {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// "It may happen."
    pub const ALLOW: Self = Self(1);
    /// "Ask a person."
    pub const ASK: Self = Self(2);
    /// "Not now."
    pub const DEFER: Self = Self(4);
    /// "It may not happen."
    pub const DENY: Self = Self(8);
    /// "Stop everything."
    pub const HALT: Self = Self(16);
    /// Words for the agent, now.
    pub const MESSAGE_AGENT: Self = Self(32);
    /// Words for the agent, at its next turn.
    pub const MESSAGE_NEXT_TURN: Self = Self(64);
    /// Words for the person.
    pub const MESSAGE_USER: Self = Self(128);

    /// Both sets together.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` is in here.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}
