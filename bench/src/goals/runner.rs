//! The runner: what an iteration of `gambrel run` costs beside its agent. A run of many iterations
//! less a run of one leaves out the start of the program and the hooks around a session.

use std::cell::Cell;
use std::path::Path;

use anyhow::ensure;

use super::GoalContext;
use crate::fixture::Fixture;
use crate::floor::BareProgram;
use crate::meter::{Candidate, Measured, in_process, interleave};
use crate::report::Row;

/// Iterations of the longer run, beside the first.
const MORE_ITERATIONS: usize = 20;
/// The agent reads its prompt and decides.
const AGENT: &str = "cat > /dev/null; echo '{\"decision\":\"continue\"}' > \"$STATUS\"";

/// Measures an iteration without hooks.
pub fn measure(context: &GoalContext<'_>) -> anyhow::Result<Vec<Row>> {
    let fixture = Fixture::in_folder(context.folder)?;
    let runs = Cell::new(0);
    let mut candidates = vec![
        bare_agent(&fixture)?,
        run_candidate(context, &fixture, 1, &runs),
        run_candidate(context, &fixture, 1 + MORE_ITERATIONS, &runs),
    ];
    let measured = interleave(context.options.effort(24, 2), &mut candidates)?;

    let [agent, one, many] = measured.as_slice() else { return Ok(Vec::new()) };
    let iteration = Measured {
        cpu: many.cpu.iter().zip(&one.cpu).map(|(many, one)| per_iteration(*many, *one)).collect(),
        wall: per_iteration(many.wall, one.wall),
    };
    let what = "an iteration of a run without hooks / the agent's bare process";
    let start = format!("a run of one iteration: {:.0} µs CPU", one.median_cpu());
    Ok(vec![Row::compare("run", what, agent, &iteration).with_note(start)])
}

fn per_iteration(many: f64, one: f64) -> f64 {
    (many - one) / MORE_ITERATIONS as f64
}

/// The agent as a shell starts it, with its prompt.
fn bare_agent(fixture: &Fixture) -> anyhow::Result<Candidate<'static>> {
    let status = fixture.folder().join("status.json").display().to_string();
    let bare = BareProgram::new(&["/bin/bash", "-c", AGENT], &[("STATUS", &status)])?;
    Ok(in_process(move || {
        let ended = bare.run(b"Work.\n")?;
        ensure!(ended.code == 0, "the agent exited {}", ended.code);
        Ok(())
    }))
}

/// A whole run with this many iterations, in a new folder each time.
fn run_candidate<'c>(
    context: &'c GoalContext<'_>,
    fixture: &'c Fixture,
    iterations: usize,
    runs: &'c Cell<usize>,
) -> Candidate<'c> {
    in_process(move || {
        runs.set(runs.get() + 1);
        let stage = fixture.folder().join(format!("stage-{iterations}.yaml"));
        write_stage(&stage, iterations)?;
        run_stage(context, fixture, &stage, &format!("command:{AGENT}"), runs.get())
    })
}

/// Runs a stage to its end, in the run folder with this number.
pub fn run_stage(
    context: &GoalContext<'_>,
    fixture: &Fixture,
    stage: &Path,
    agent: &str,
    number: usize,
) -> anyhow::Result<()> {
    let words = |path: &Path| path.display().to_string();
    let session = words(&fixture.folder().join(format!("run-{number}")));
    let (program, stage) = (words(&context.options.gambrel), words(stage));
    let project = words(&fixture.project());
    let argv =
        [&program, "-C", &project, "run", &stage, "--agent", agent, "--session-dir", &session];
    let variables = fixture.variables();
    let set: Vec<(&str, &str)> = variables.iter().map(|(n, v)| (*n, v.as_str())).collect();
    let ended = BareProgram::new(&argv, &set)?.run(b"")?;
    ensure!(ended.code == 0, "the run exited {}", ended.code);
    Ok(())
}

fn write_stage(path: &Path, iterations: usize) -> anyhow::Result<()> {
    let termination = format!("{{type: fixed, iterations: {iterations}, max: {iterations}}}");
    let text = format!("name: bench\ndelay: 0\nprompt: prompt.md\ntermination: {termination}\n");
    std::fs::write(path, text)?;
    std::fs::write(path.with_file_name("prompt.md"), "Work.\n")?;
    Ok(())
}
