//! Goal 6: a large event, from bytes to decision, against a C program that writes as many bytes
//! through a pipe to the same hook.

use gambrel::Ruling;

use super::GoalContext;
use super::cold::{fire_candidate, program_candidate};
use crate::cold_case::DENIES;
use crate::fixture::{Fixture, fire_and_check, hook_group};
use crate::meter::{Candidate, ChildCandidate, in_process, interleave};
use crate::report::Row;

const EVENT_BYTES: usize = 5_000_000;
const MAX_WARM_RATIO: f64 = 2.5;
const MAX_COLD_RATIO: f64 = 5.0;

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
    let warm = Row::compare("6", what, &measured[0], &measured[1]).with_limit(MAX_WARM_RATIO);
    Ok(vec![warm, measure_cold(context, &fixture, &event)?])
}

/// The same event through a cold `fire`, against the hook itself.
fn measure_cold(context: &GoalContext<'_>, fixture: &Fixture, event: &[u8]) -> anyhow::Result<Row> {
    let hook = [context.programs.hook.display().to_string()];
    let mut candidates = [
        program_candidate(&hook, &[], event, |ended| ended.code == 2)?,
        fire_candidate(context, &fixture.variables(), event, DENIES)?,
    ];
    let measured = interleave(context.options.effort(20, 8), &mut candidates)?;
    let what = "a 5 MB event, cold `fire` with one hook / the hook itself";
    Ok(Row::compare("6", what, &measured[0], &measured[1]).with_limit(MAX_COLD_RATIO))
}
