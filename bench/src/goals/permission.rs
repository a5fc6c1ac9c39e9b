//! A permission request of an agent of the Agent Client Protocol: from the request through one hook
//! to the answer. A run with many requests less a run with one leaves out everything else.

use std::cell::Cell;

use anyhow::ensure;

use super::GoalContext;
use super::runner::run_stage;
use crate::fixture::{Fixture, hook_group};
use crate::floor::BareProgram;
use crate::meter::{Candidate, Measured, in_process, interleave};
use crate::report::Row;

/// Requests of the longer run, beside the first.
const MORE_REQUESTS: usize = 50;
const AGENT: &str = include_str!("acp_agent.sh");
const STAGE: &str = "name: bench\ndelay: 0\nprompt: prompt.md\n\
                     termination: {type: fixed, iterations: 1, max: 1}\n";
/// A hook that costs little more than its shell.
const HOOK: &str = "exit 0";

/// Measures a request with one hook.
pub fn measure(context: &GoalContext<'_>) -> anyhow::Result<Vec<Row>> {
    let fixture = Fixture::with_hooks(context.folder, &[hook_group("Bash", HOOK)])?;
    let folder = fixture.folder();
    std::fs::write(folder.join("agent.sh"), AGENT)?;
    std::fs::write(folder.join("stage.yaml"), STAGE)?;
    std::fs::write(folder.join("prompt.md"), "Work.\n")?;
    let runs = Cell::new(0);
    let mut candidates = vec![
        bare_hook()?,
        run_candidate(context, &fixture, 1, &runs),
        run_candidate(context, &fixture, 1 + MORE_REQUESTS, &runs),
    ];
    let measured = interleave(context.options.effort(24, 2), &mut candidates)?;

    let [hook, one, many] = measured.as_slice() else { return Ok(Vec::new()) };
    let per_request = |many: f64, one: f64| (many - one) / MORE_REQUESTS as f64;
    let request = Measured {
        cpu: many.cpu.iter().zip(&one.cpu).map(|(many, one)| per_request(*many, *one)).collect(),
        wall: per_request(many.wall, one.wall),
    };
    let what = "a permission request with one hook / that hook's bare process";
    let note = "with the work of the agent, which is a script of bash";
    Ok(vec![Row::compare("permission", what, hook, &request).with_note(note)])
}

fn bare_hook() -> anyhow::Result<Candidate<'static>> {
    let bare = BareProgram::new(&["/bin/sh", "-c", HOOK], &[])?;
    Ok(in_process(move || {
        let ended = bare.run(b"{}")?;
        ensure!(ended.code == 0, "the hook exited {}", ended.code);
        Ok(())
    }))
}

/// A whole run with this many requests, in a new folder each time.
fn run_candidate<'c>(
    context: &'c GoalContext<'_>,
    fixture: &'c Fixture,
    requests: usize,
    runs: &'c Cell<usize>,
) -> Candidate<'c> {
    in_process(move || {
        runs.set(runs.get() + 1);
        let script = fixture.folder().join("agent.sh");
        let agent = format!("acp:/bin/bash {} {requests}", script.display());
        let stage = fixture.folder().join("stage.yaml");
        run_stage(context, fixture, &stage, &agent, runs.get())
    })
}
