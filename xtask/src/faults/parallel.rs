//! Row `parallel`: many firings at once in one state folder, each of them in the journal.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::anyhow;

use super::journal::JournalFaults;
use super::project::{TestProject, guard_settings, tool_event};
use super::{Measured, Options};

const LOOPS: usize = 64;

pub fn attack(options: &Options) -> anyhow::Result<Vec<Measured>> {
    let rounds = options.count(20, 1_000);
    let project = TestProject::new(options)?;
    project.write(".claude/settings.json", &guard_settings("exit 2", 60))?;
    let done = AtomicUsize::new(0);
    let failed: usize = thread::scope(|scope| {
        let (project, done) = (&project, &done);
        let start = |n| scope.spawn(move || fire_in_a_loop(project, n, rounds, done));
        let threads: Vec<_> = (0..LOOPS).map(start).collect();
        let joined = threads.into_iter().map(|thread| {
            thread.join().map_err(|_| anyhow!("a loop panicked")).and_then(|failed| failed)
        });
        joined.sum::<anyhow::Result<usize>>()
    })?;
    let journal = project.journal()?;
    let sessions = (0..LOOPS).flat_map(|n| (0..rounds).map(move |round| session(n, round)));
    let expected: BTreeSet<String> = sessions.collect();
    let found = JournalFaults::find(&journal, &expected);
    let count = LOOPS * rounds;
    let there = count - found.lost;
    Ok(vec![Measured {
        what: "64 parallel loops, one state folder".into(),
        goal: "every record there once, 0 corrupt, 0 firings failed",
        count,
        measured: format!("{there} of {count} records, {} twice, {failed} failed", found.twice),
        held: (found.is_clean() && failed == 0 && journal.len() == count).into(),
    }])
}

fn session(n: usize, round: usize) -> String {
    format!("loop-{n}-{round}")
}

fn fire_in_a_loop(
    project: &TestProject,
    n: usize,
    rounds: usize,
    done: &AtomicUsize,
) -> anyhow::Result<usize> {
    let mut failed = 0;
    for round in 0..rounds {
        let ended = project.fire(&tool_event(&session(n, round)))?;
        failed += usize::from(!ended.denies());
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(5_000) {
            eprintln!("faults: parallel: {done} of {}", LOOPS * rounds);
        }
    }
    Ok(failed)
}
