//! Goals 1 and 2: one command hook through the engine with its journal, against the same program
//! started bare, directly and through a shell.

use std::path::Path;

use anyhow::ensure;
use gambrel::Ruling;

use super::GoalContext;
use crate::fixture::{Fixture, fire_and_check, hook_command, hook_group};
use crate::floor::BareProgram;
use crate::meter::{Effort, Measured, in_process, interleave};
use crate::report::Row;

/// CPU time beside that of the child itself.
const MAX_MICROS_ABOVE_BARE: f64 = 80.0;

/// Measures a hook that is executed directly.
pub fn measure_direct(context: &GoalContext<'_>) -> anyhow::Result<Vec<Row>> {
    let program = context.programs.hook.display().to_string();
    let (started, measured) =
        measure_against_bare(context.folder, &program, context.options.effort(80, 40))?;
    ensure!(started == [program], "started as {started:?}");
    let what = "one hook, direct exec, journalled / bare posix_spawn of it";
    Ok(vec![
        Row::compare("1", what, &measured[0], &measured[1]).with_limit(1.15),
        row_above_bare("1", "one hook, above the bare posix_spawn / 80 µs", &measured),
    ])
}

/// Measures a hook whose command needs a shell.
pub fn measure_shell(context: &GoalContext<'_>) -> anyhow::Result<Vec<Row>> {
    let text = "read -r event && exit 2";
    let (started, measured) =
        measure_against_bare(context.folder, text, context.options.effort(80, 40))?;
    ensure!(started.last().is_some_and(|last| last == text), "started as {started:?}");
    ensure!(started.len() == 3, "not by a shell: {started:?}");
    let what = "one `sh -c` hook, journalled / bare posix_spawn of that shell";
    Ok(vec![
        Row::compare("2", what, &measured[0], &measured[1]).with_limit(1.10),
        row_above_bare("2", "one `sh -c` hook, above the bare shell / 80 µs", &measured),
    ])
}

fn row_above_bare(goal: &'static str, what: &str, measured: &[Measured]) -> Row {
    let above = measured[1].without(&measured[0]).median_cpu();
    Row::compare_counts(goal, what, "µs CPU", MAX_MICROS_ABOVE_BARE, above).with_limit(1.0)
}

/// Measures one hook against its bare command line. Returns the command line and both figures.
pub(super) fn measure_against_bare(
    folder: &Path,
    text: &str,
    effort: Effort,
) -> anyhow::Result<(Vec<String>, Vec<Measured>)> {
    let fixture = Fixture::with_hooks(folder, &[hook_group("Write", text)])?;
    let gambrel = fixture.engine_with_journal();
    let loaded = gambrel.load_hooks(None);
    let event = fixture.tool_event("Write", "bench", 1_000);

    let started = hook_command(&fire_and_check(&gambrel, &loaded, &event, Ruling::Deny)?)?;
    let bare = BareProgram::new(&started, &[])?;
    let line = [event.as_slice(), b"\n"].concat();
    let mut candidates = [
        in_process(|| {
            let code = bare.run(&line)?.code;
            ensure!(code == 2, "the floor's hook exited {code}");
            Ok(())
        }),
        in_process(|| fire_and_check(&gambrel, &loaded, &event, Ruling::Deny).map(drop)),
    ];

    let measured = interleave(effort, &mut candidates)?;
    Ok((started, measured))
}
