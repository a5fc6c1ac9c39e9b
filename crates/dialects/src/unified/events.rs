//! The table of hook points: the six of agent-pipelines, all other moments as `on_` and their name,
//! and events of other dialects without a moment.

use std::sync::OnceLock;

use gambrel_model::{EventSpec, Moment, MomentKind, Order, PatchRule, Powers, Slot, Subject};

/// The hook points of agent-pipelines.
const PIPELINE_POINTS: [(&str, Moment); 6] = [
    ("on_session_start", Moment::SessionStart),
    ("on_iteration_start", Moment::IterationStart),
    ("on_iteration_complete", Moment::IterationEnd),
    ("on_stage_complete", Moment::StageEnd),
    ("on_session_complete", Moment::SessionEnd),
    ("on_error", Moment::Error),
];

/// An event about a tool.
const PERMISSION_DENIED: &str = "permission_denied";

/// Events of other dialects that have no neutral moment.
const OTHER_EVENTS: [&str; 16] = [
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

/// The powers of all hooks.
const HOOK_POWERS: Powers =
    MESSAGES.union(Powers::DENY).union(Powers::HALT).union(Powers::ASK).union(Powers::ALLOW);
const MESSAGES: Powers = Powers::MESSAGE_AGENT.union(Powers::MESSAGE_USER);
/// A caller accepts `abort` and messages.
const STOP: Powers = MESSAGES.union(Powers::HALT);
/// A caller accepts `deny` too.
const REFUSE: Powers = STOP.union(Powers::DENY);
/// At the end of an iteration, the next one receives refusals and messages.
const END: Powers = STOP.union(Powers::MESSAGE_NEXT_TURN);

/// Every hook point. The last row, without a name, is for unknown ones.
pub fn event_table() -> &'static [EventSpec] {
    static ROWS: OnceLock<Vec<EventSpec>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let own = PIPELINE_POINTS.map(|(name, moment)| event_row(name, moment));
        let ours = Moment::all_named().filter(|moment| pipeline_point(moment).is_none());
        let others = OTHER_EVENTS.map(|name| Moment::Other(name.into()));
        let named = ours.cloned().chain(others).map(|moment| event_row(leak_name(&moment), moment));
        let unknown = event_row("", Moment::Other("".into()));
        own.into_iter().chain(named).chain([unknown]).collect()
    })
}

/// Leaks the name of a moment. The table is built once in the life of a process.
fn leak_name(moment: &Moment) -> &'static str {
    Box::leak(moment.yaml_key().into_boxed_str())
}

fn pipeline_point(moment: &Moment) -> Option<&'static str> {
    PIPELINE_POINTS.iter().find(|(_, own)| own == moment).map(|(name, _)| *name)
}

fn event_row(name: &'static str, moment: Moment) -> EventSpec {
    let (can, subject) = (caller_powers(&moment), moment_subject(&moment));
    let slots: &'static [Slot] = match moment {
        Moment::ToolBefore | Moment::ToolPermission => &[Slot::Input],
        Moment::ToolAfter | Moment::ToolFailed => &[Slot::Output],
        _ => &[],
    };
    let row = EventSpec::new(name, moment).with_subject(subject).with_order(Order::UntilRefused);
    // A rule may rewrite, but a pipeline as caller accepts no rewrites.
    row.with_rewrites(PatchRule::Chain, slots)
        .with_caller_accepts(&[])
        .with_hook_powers(HOOK_POWERS)
        .with_caller_powers(can)
}

/// The caller's powers. A refused Report is only a message, and a refused end of an iteration is a
/// message for the next one.
fn caller_powers(moment: &Moment) -> Powers {
    match moment {
        Moment::IterationEnd | Moment::StageEnd => END,
        Moment::Other(_) => REFUSE,
        named if named.kind() == MomentKind::Report => STOP,
        _ => REFUSE,
    }
}

fn moment_subject(moment: &Moment) -> Subject {
    let tool = match moment {
        Moment::ToolBefore | Moment::ToolAfter | Moment::ToolFailed | Moment::ToolPermission => {
            true
        }
        Moment::Other(name) => name == PERMISSION_DENIED,
        _ => false,
    };
    if tool { Subject::Tool } else { Subject::None }
}

/// The row of a hook point. The neutral names of the six points are aliases.
pub fn find_row(name: &str) -> Option<&'static EventSpec> {
    let named = || event_table().iter().filter(|row| !row.name.is_empty());
    named()
        .find(|row| row.name == name)
        .or_else(|| named().find(|row| is_pipeline_point(row) && row.moment.yaml_key() == name))
}

/// The names of all hook points.
pub fn point_names() -> impl Iterator<Item = &'static str> {
    event_table().iter().map(|row| row.name).filter(|name| !name.is_empty())
}

/// Whether it is a gate that agent-pipelines does not have. There, a question that cannot be sent
/// denies.
pub fn is_neutral_gate(row: &EventSpec) -> bool {
    !is_pipeline_point(row) && row.moment.kind() == MomentKind::Gate
}

/// Whether agent-pipelines has this point. There, a refusal stops the pipeline.
pub fn is_pipeline_point(row: &EventSpec) -> bool {
    pipeline_point(&row.moment).is_some()
}
