//! Goal 11: the cost of the journal in one fire.

use gambrel::Ruling;

use super::GoalContext;
use crate::fixture::{Fixture, fire_and_check, hook_group};
use crate::meter::{in_process, interleave};
use crate::report::Row;

/// Measures a ledger on disk against one in memory.
pub fn measure(context: &GoalContext<'_>) -> anyhow::Result<Vec<Row>> {
    let command = context.programs.hook.display().to_string();
    let fixture = Fixture::with_hooks(context.folder, &[hook_group("Write", &command)])?;
    let (journalled, unjournalled) =
        (fixture.engine_with_journal(), fixture.engine_without_journal());
    let loaded = journalled.load_hooks(None);
    let event = fixture.tool_event("Write", "bench", 1_000);

    let mut candidates = [
        in_process(|| fire_and_check(&unjournalled, &loaded, &event, Ruling::Deny).map(drop)),
        in_process(|| fire_and_check(&journalled, &loaded, &event, Ruling::Deny).map(drop)),
    ];
    let measured = interleave(context.options.effort(80, 40), &mut candidates)?;
    let what = "one hook, journalled / unjournalled";
    let row = Row::compare("11", what, &measured[0], &measured[1]).with_limit(1.1);
    Ok(vec![row.with_note("sync by a daemon does not exist yet and is not measured")])
}
