//! Row `parallel`: many parallel firings in one state folder. Each must be in the journal.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::anyhow;

use super::journal::JournalFaults;
use super::project::{TestProject, guard_settings, tool_event};
use super::{Measured, Options};

const LOOP_COUNT: usize = 64;

pub fn attack(options: &Options) -> anyhow::Result<Vec<Measured>> {
    let rounds = options.row_count(20, 1_000);
    let project = TestProject::new(options)?;
    project.write_file(".claude/settings.json", &guard_settings("exit 2", 60))?;
    let done = AtomicUsize::new(0);
    let failed: usize = thread::scope(|scope| {
        let (project, done) = (&project, &done);
        let start = |n| scope.spawn(move || fire_in_a_loop(project, n, rounds, done));
        let threads: Vec<_> = (0..LOOP_COUNT).map(start).collect();
        let joined = threads.into_iter().map(|thread| {
            thread.join().map_err(|_| anyhow!("a loop panicked")).and_then(|failed| failed)
        });
        joined.sum::<anyhow::Result<usize>>()
    })?;

    let journal = project.read_journal()?;
    let sessions =
        (0..LOOP_COUNT).flat_map(|n| (0..rounds).map(move |round| session_name(n, round)));
    let expected: BTreeSet<String> = sessions.collect();
    let found = JournalFaults::find(&journal, &expected);
    let count = LOOP_COUNT * rounds;
    let there = count - found.lost;
    Ok(vec![Measured {
        what: "64 parallel loops, one state folder".into(),
        goal: "every record there once, 0 corrupt, 0 firings failed",
        count,
        measured: format!("{there} of {count} records, {} twice, {failed} failed", found.twice),
        held: (found.is_clean() && failed == 0 && journal.len() == count).into(),
    }])
}

fn session_name(n: usize, round: usize) -> String {
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
        let ended = project.fire(&tool_event(&session_name(n, round)))?;
        failed += usize::from(!ended.denies());
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(5_000) {
            eprintln!("faults: parallel: {done} of {}", LOOP_COUNT * rounds);
        }
    }
    Ok(failed)
}
