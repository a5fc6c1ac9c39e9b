//! Goal 7: many parallel sessions, against one.

use std::time::{Duration, Instant};

use gambrel::Ruling;

use super::GoalContext;
use crate::fixture::{Fixture, fire_and_check, hook_group};
use crate::floor;
use crate::meter::{Candidate, Effort, Round, in_process, interleave};
use crate::report::Row;

const SESSION_COUNT: usize = 64;

/// Measures one thread per session. All share hooks and state folder.
pub fn measure(context: &GoalContext<'_>) -> anyhow::Result<Vec<Row>> {
    let command = context.programs.hook.display().to_string();
    let fixture = Fixture::with_hooks(context.folder, &[hook_group("Write", &command)])?;
    // One engine per thread over the same state folder, like separate agents.
    let engines: Vec<_> = (0..SESSION_COUNT).map(|_| fixture.engine_with_journal()).collect();
    let loaded = engines[0].load_hooks(None);
    let events: Vec<Vec<u8>> = (0..SESSION_COUNT)
        .map(|at| fixture.tool_event("Write", &format!("session-{at}"), 1_000))
        .collect();

    let run_sessions = |fires: usize| -> anyhow::Result<Round> {
        let before = floor::cpu_time();
        let began = Instant::now();
        std::thread::scope(|scope| {
            let sessions: Vec<_> = engines
                .iter()
                .zip(&events)
                .map(|(engine, event)| {
                    let work = || -> anyhow::Result<()> {
                        for _ in 0..fires / SESSION_COUNT {
                            fire_and_check(engine, &loaded, event, Ruling::Deny)?;
                        }
                        Ok(())
                    };
                    scope.spawn(work)
                })
                .collect();
            let lost = |_| Err(anyhow::anyhow!("a session has panicked"));
            sessions.into_iter().try_for_each(|session| session.join().unwrap_or_else(lost))
        })?;
        let each = Duration::from_secs_f64(began.elapsed().as_secs_f64() / fires as f64);
        Ok(Round { cpu: floor::cpu_time() - before, wall: each })
    };

    let mut candidates: [Candidate<'_>; 2] = [
        in_process(|| fire_and_check(&engines[0], &loaded, &events[0], Ruling::Deny).map(drop)),
        // Only complete rounds of all sessions.
        Box::new(|fires| run_sessions(fires.next_multiple_of(SESSION_COUNT))),
    ];

    let rounds = context.options.effort(24, 0).rounds;
    let measured = interleave(Effort { rounds, fires: 4 * SESSION_COUNT }, &mut candidates)?;
    let what = "64 sessions at once, CPU per hook / one session";
    let row = Row::compare("7", what, &measured[0], &measured[1]).with_limit(1.6);
    Ok(vec![row.with_note("wall time of 64: total divided by the number of hooks")])
}
