//! Goal 6: a large event, from bytes to decision, against a C program that writes as many bytes
//! through a pipe to the same hook.

use gambrel::Ruling;

use super::GoalContext;
use crate::fixture::{Fixture, fire_and_check, hook_group};
use crate::meter::{Candidate, ChildCandidate, in_process, interleave};
use crate::report::Row;

const EVENT_BYTES: usize = 5_000_000;

/// Measures both in turns.
pub fn measure(context: &GoalContext<'_>) -> anyhow::Result<Vec<Row>> {
    let command = context.programs.hook.display().to_string();
    let fixture = Fixture::with_hooks(context.folder, &[hook_group("Write", &command)])?;
    let gambrel = fixture.engine_with_journal();
    let loaded = gambrel.load_hooks(None);
    let event = fixture.tool_event("Write", "bench", EVENT_BYTES);

    let file = context.folder.join("event.json");
    std::fs::write(&file, &event)?;
    let file = file.display().to_string();
    let mut push = ChildCandidate::start(&context.programs.push, &[&command, &file])?;
    let mut candidates: [Candidate<'_>; 2] = [
        Box::new(|fires| push.run_round(fires)),
        in_process(|| fire_and_check(&gambrel, &loaded, &event, Ruling::Deny).map(drop)),
    ];

    let measured = interleave(context.options.effort(30, 10), &mut candidates)?;
    let what = "a 5 MB event, received and fired / pushed through a pipe by C";
    Ok(vec![Row::compare("6", what, &measured[0], &measured[1]).with_limit(1.3)])
}
