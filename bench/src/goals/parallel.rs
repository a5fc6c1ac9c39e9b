//! Goal 7: many sessions at once in one host, against one.

use std::time::{Duration, Instant};

use gambrel::Ruling;

use super::Ground;
use crate::floor;
use crate::meter::{Candidate, Effort, Round, here, interleave};
use crate::report::Row;
use crate::scene::{Scene, fire, hook};

const SESSIONS: usize = 64;

/// One thread a session; all share the engine, its hooks and its ledger.
pub fn measure(ground: &Ground<'_>) -> anyhow::Result<Vec<Row>> {
    let command = ground.programs.hook.display().to_string();
    let scene = Scene::with(ground.folder, &[hook("Write", &command)])?;
    // One for each thread, all over the same state folder: as hosts are, whatever they share.
    let engines: Vec<_> = (0..SESSIONS).map(|_| scene.journalled()).collect();
    let loaded = engines[0].load_hooks(None);
    let events: Vec<Vec<u8>> =
        (0..SESSIONS).map(|at| scene.event("Write", &format!("session-{at}"), 1_000)).collect();
    let crowd = |fires: usize| -> anyhow::Result<Round> {
        let before = floor::cpu();
        let began = Instant::now();
        std::thread::scope(|scope| {
            let sessions: Vec<_> = engines
                .iter()
                .zip(&events)
                .map(|(engine, event)| {
                    let work = || -> anyhow::Result<()> {
                        for _ in 0..fires / SESSIONS {
                            fire(engine, &loaded, event, Ruling::Deny)?;
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
        Ok(Round { cpu: floor::cpu() - before, wall: each })
    };
    let mut candidates: [Candidate<'_>; 2] = [
        here(|| fire(&engines[0], &loaded, &events[0], Ruling::Deny).map(drop)),
        // Whole rounds of all sessions only.
        Box::new(|fires| crowd(fires.next_multiple_of(SESSIONS))),
    ];
    let rounds = ground.asked.effort(24, 0).rounds;
    let measured = interleave(Effort { rounds, fires: 4 * SESSIONS }, &mut candidates)?;
    let what = "64 sessions at once, CPU per hook / one session";
    let row = Row::of("7", what, &measured[0], &measured[1]).at_most(1.6);
    Ok(vec![row.noting("wall of 64: the whole, divided by its hooks")])
}
