//! The neutral moments. Dialects map their native names onto them; no native name is written here.

use std::borrow::Cow;
use std::fmt;

/// Gate, Close or Report. Choosing the stricter neighbour is right at a Gate and wrong at a Close,
/// where a refusal means "continue".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MomentKind {
    /// About to happen: a hook may refuse it.
    Gate,
    /// About to end: a refusal keeps it going.
    Close,
    /// Has happened: nothing to refuse.
    Report,
}

use MomentKind::{Close, Gate, Report};

/// Defines the named moments and their table from one row each: moment, neutral name, kind.
macro_rules! moments {
    ($($moment:ident $name:literal $kind:ident)+) => {
        /// The neutral name of what happened.
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "each variant is its neutral name; its row spells it")]
        pub enum Moment {
            $($moment,)+
            /// Anything else that a caller names, in snake case.
            Other(Cow<'static, str>),
        }

        const NAMES: &[(Moment, &str, MomentKind)] = &[$((Moment::$moment, $name, $kind)),+];
    };
}

moments! {
    SessionStart "session.start" Report
    SessionEnd "session.end" Report
    IterationStart "iteration.start" Gate
    IterationEnd "iteration.end" Close
    StageEnd "stage.end" Close
    Error "error" Report
    ToolBefore "tool.before" Gate
    ToolAfter "tool.after" Report
    ToolFailed "tool.failed" Report
    ToolPermission "tool.permission" Gate
    TaskCreated "task.created" Gate
    TaskCompleted "task.completed" Close
    TaskFailed "task.failed" Report
    MemberIdle "member.idle" Close
    SubagentStart "subagent.start" Report
    SubagentStop "subagent.stop" Close
    CompactBefore "compact.before" Gate
    CompactAfter "compact.after" Report
    Notification "notification" Report
    AgentStart "agent.start" Report
    TurnStart "turn.start" Report
    TurnEnd "turn.end" Report
    Context "context" Report
    SessionSwitchBefore "session.switch.before" Gate
    SessionSwitch "session.switch" Report
    SessionBranchBefore "session.branch.before" Gate
    SessionBranch "session.branch" Report
    SessionTreeBefore "session.tree.before" Gate
    SessionTree "session.tree" Report
    AutoCompaction "auto_compaction" Report
    AutoRetry "auto_retry" Report
    Ttsr "ttsr" Report
    Todo "todo" Report
}

impl Moment {
    /// Every named moment, in the table's order.
    pub fn all_named() -> impl Iterator<Item = &'static Moment> {
        NAMES.iter().map(|(moment, _, _)| moment)
    }

    /// The neutral name: `tool.before`.
    pub fn name(&self) -> &str {
        match self {
            Self::Other(name) => name,
            named => NAMES.iter().find(|(m, _, _)| m == named).map_or("", |(_, name, _)| name),
        }
    }

    /// The moment of a neutral name, or `Other` under its snake-case form.
    pub fn parse(name: &str) -> Self {
        let found = NAMES.iter().find(|(_, n, _)| *n == name || same_word(n, name));
        found.map_or_else(|| Self::Other(Cow::Owned(to_snake_case(name))), |(m, _, _)| m.clone())
    }

    /// The kind of the moment. An unnamed moment is a report unless a dialect's event spec makes it
    /// a gate.
    pub fn kind(&self) -> MomentKind {
        NAMES.iter().find(|(m, _, _)| m == self).map_or(Report, |(_, _, kind)| *kind)
    }

    /// Its key in `.gambrel/hooks.yaml`: `on_tool_before`.
    pub fn yaml_key(&self) -> String {
        let name = self.name();
        let mut key = String::with_capacity("on_".len() + name.len());
        key.push_str("on_");
        key.extend(name.chars().map(|c| if c == '.' { '_' } else { c }));
        key
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn same_word(neutral: &str, written: &str) -> bool {
    neutral.len() == written.len()
        && neutral.bytes().zip(written.bytes()).all(|(a, b)| a == b || (a == b'.' && b == b'_'))
}

/// `ConfigChange` and `config.change` both become `config_change`.
pub fn to_snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut previous_lower = false;
    for c in name.chars() {
        if c.is_uppercase() {
            if previous_lower {
                out.push('_');
            }
            out.extend(c.to_lowercase());
            previous_lower = false;
        } else {
            out.push(if c.is_alphanumeric() { c } else { '_' });
            previous_lower = c.is_lowercase() || c.is_ascii_digit();
        }
    }
    out
}
