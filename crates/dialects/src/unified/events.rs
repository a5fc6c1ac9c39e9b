//! The table of hook points: the six of agent-pipelines, every other moment as `on_` and its name,
//! and events of other callers that have no moment.

use std::sync::OnceLock;

use gambrel_model::{EventSpec, Moment, MomentKind, Order, PatchRule, Powers, Slot, Subject};

/// The hook points of agent-pipelines.
const POINTS: [(&str, Moment); 6] = [
    ("on_session_start", Moment::SessionStart),
    ("on_iteration_start", Moment::IterationStart),
    ("on_iteration_complete", Moment::IterationEnd),
    ("on_stage_complete", Moment::StageEnd),
    ("on_session_complete", Moment::SessionEnd),
    ("on_error", Moment::Error),
];

/// About a tool, like the named moments of tools.
const PERMISSION_DENIED: &str = "permission_denied";

/// Moments without a row of their own in the moments' table that callers are known to fire.
const OTHERS: [&str; 16] = [
    "setup",
    "config_change",
    PERMISSION_DENIED,
    "post_tool_batch",
    "user_prompt_expansion",
    "message_display",
    "instructions_loaded",
    "cwd_changed",
    "directory_added",
    "file_changed",
    "worktree_create",
    "worktree_remove",
    "pre_model_switch",
    "post_model_switch",
    "elicitation",
    "elicitation_result",
];

/// What any of its hooks may answer.
const MAY: Powers =
    WORDS.union(Powers::DENY).union(Powers::HALT).union(Powers::ASK).union(Powers::ALLOW);
const WORDS: Powers = Powers::MESSAGE_AGENT.union(Powers::MESSAGE_USER);
/// `abort`, and words.
const STOP: Powers = WORDS.union(Powers::HALT);
/// `deny` besides.
const REFUSE: Powers = STOP.union(Powers::DENY);
/// Where an iteration ends, what is refused or told is for the next one.
const END: Powers = STOP.union(Powers::MESSAGE_NEXT_TURN);

/// Every row; the last, without a name, is for points of a later day.
pub fn table() -> &'static [EventSpec] {
    static ROWS: OnceLock<Vec<EventSpec>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let own = POINTS.map(|(name, moment)| row(name, moment));
        let ours = Moment::all().filter(|moment| point(moment).is_none());
        let others = OTHERS.map(|name| Moment::Other(name.into()));
        let named = ours.cloned().chain(others).map(|moment| row(leaked(&moment), moment));
        let unknown = row("", Moment::Other("".into()));
        own.into_iter().chain(named).chain([unknown]).collect()
    })
}

/// Names of a fixed table, made once in a process's life.
fn leaked(moment: &Moment) -> &'static str {
    Box::leak(moment.key().into_boxed_str())
}

fn point(moment: &Moment) -> Option<&'static str> {
    POINTS.iter().find(|(_, own)| own == moment).map(|(name, _)| *name)
}

fn row(name: &'static str, moment: Moment) -> EventSpec {
    let (can, subject) = (can(&moment), subject(&moment));
    let slots: &'static [Slot] = match moment {
        Moment::ToolBefore | Moment::ToolPermission => &[Slot::Input],
        Moment::ToolAfter | Moment::ToolFailed => &[Slot::Output],
        _ => &[],
    };
    let row = EventSpec::new(name, moment).with_subject(subject).with_order(Order::UntilRefused);
    // A rule may rewrite; a pipeline that calls us takes no rewrites.
    row.with_rewrites(PatchRule::Chain, slots)
        .with_caller_accepts(&[])
        .with_hook_powers(MAY)
        .with_caller_powers(can)
}

/// Refusing after the fact is words; refusing the end of an iteration is words for the next one.
fn can(moment: &Moment) -> Powers {
    match moment {
        Moment::IterationEnd | Moment::StageEnd => END,
        Moment::Other(_) => REFUSE,
        named if named.kind() == MomentKind::Report => STOP,
        _ => REFUSE,
    }
}

fn subject(moment: &Moment) -> Subject {
    let tool = match moment {
        Moment::ToolBefore | Moment::ToolAfter | Moment::ToolFailed | Moment::ToolPermission => {
            true
        }
        Moment::Other(name) => name == PERMISSION_DENIED,
        _ => false,
    };
    if tool { Subject::Tool } else { Subject::None }
}

/// The row of a name as a user or a caller writes it. The neutral names of the six points are
/// aliases.
pub fn named(name: &str) -> Option<&'static EventSpec> {
    let named = || table().iter().filter(|row| !row.name.is_empty());
    named().find(|row| row.name == name).or_else(|| named().find(|row| row.moment.key() == name))
}

/// Every name that can be written.
pub fn names() -> impl Iterator<Item = &'static str> {
    table().iter().map(|row| row.name).filter(|name| !name.is_empty())
}

/// Whether it is a gate that agent-pipelines does not have: there a question that cannot be asked
/// refuses.
pub fn is_neutral_gate(row: &EventSpec) -> bool {
    !is_own(row) && row.moment.kind() == MomentKind::Gate
}

/// Whether agent-pipelines has this point: there a refusal stops the pipeline.
pub fn is_own(row: &EventSpec) -> bool {
    point(&row.moment).is_some()
}
