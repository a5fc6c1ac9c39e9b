//! Row `kill`: kills `gambrel fire` at random times, then runs a normal firing.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::journal::JournalFaults;
use super::processes::{kill_all, processes_of, wait_for_none};
use super::program::RunningProgram;
use super::project::{TestProject, guard_settings, tool_event};
use super::random::Random;
use super::workers::Workload;
use super::{Measured, Options};

/// The latest time of a kill, in microseconds.
const MAX_KILL_MICROS: usize = 80_000;
/// How many projects are attacked in parallel.
const WORKERS: usize = 4;
/// How many killed firings one worker leaves behind before it counts processes.
const FIRINGS_PER_WORKER: usize = 8;

pub fn attack(options: &Options) -> anyhow::Result<Vec<Measured>> {
    let mut rows = vec![kill_firings(options, options.row_count(60, 10_000))?];
    rows.extend(leave_hooks(options, options.row_count(16, 1_000))?);
    Ok(rows)
}

/// Counts of one project.
#[derive(Default)]
struct KillCounts {
    killed: usize,
    open: usize,
    lost: usize,
    twice: usize,
    unreadable: usize,
}

fn kill_firings(options: &Options, count: usize) -> anyhow::Result<Measured> {
    // A new journal for every hundred firings, because reading a long journal is slow.
    let each = 100.min(count.div_ceil(WORKERS).max(1));
    let parts = count.div_ceil(each);
    let work = Workload { name: "kill: parts", count: parts, workers: WORKERS, report_every: 10 };
    let all = work.run(|part| kill_in_project(options, part, each.min(count - part * each)))?;
    let sum = |of: fn(&KillCounts) -> usize| all.iter().map(of).sum::<usize>();
    let (killed, open, unreadable) = (sum(|f| f.killed), sum(|f| f.open), sum(|f| f.unreadable));
    let (lost, twice) = (sum(|f| f.lost), sum(|f| f.twice));
    Ok(Measured {
        what: "kill -9 of `fire` at a random point of 0–80 ms".into(),
        goal: "the next firing denies; journal readable; no acknowledged firing lost, none twice",
        count,
        measured: format!(
            "{killed} killed; {open} next firings open, {unreadable} journals unreadable, {lost} \
             lost, {twice} twice"
        ),
        held: (killed > 0 && open + unreadable + lost + twice == 0).into(),
    })
}

fn kill_in_project(options: &Options, part: usize, count: usize) -> anyhow::Result<KillCounts> {
    let mut random = random_for_part(options, part);
    let project = TestProject::new(options)?;
    let guard = guard_settings("sleep 0.03; echo no >&2; exit 2", 5);
    project.write_file(".claude/settings.json", &guard)?;
    let (mut acknowledged, mut found) = (BTreeSet::new(), KillCounts::default());
    for point in 0..count {
        let session = format!("killed-{point}");
        let ended = kill_firing(&project, &session, &mut random)?;
        found.killed += usize::from(ended.signal() == Some(9));
        if ended.denies() {
            acknowledged.insert(session);
        }
        let session = format!("next-{point}");
        match project.fire(&tool_event(&session))?.denies() {
            true => drop(acknowledged.insert(session)),
            false => found.open += 1,
        }
    }

    match project.read_journal() {
        Ok(journal) => {
            let faults = JournalFaults::find(&journal, &acknowledged);
            (found.lost, found.twice) = (faults.lost, faults.twice);
        }
        Err(_) => found.unreadable = 1,
    }
    Ok(found)
}

/// Random numbers of one part. They do not depend on the worker.
fn random_for_part(options: &Options, part: usize) -> Random {
    let part = u64::try_from(part).unwrap_or_default();
    Random::new(options.seed ^ part.wrapping_mul(0x5851_f42d_4c95_7f2d))
}

fn kill_firing(
    project: &TestProject,
    session: &str,
    random: &mut Random,
) -> anyhow::Result<super::program::ProgramResult> {
    let event = tool_event(session).to_string();
    let command = project.gambrel_command(&["fire", "--from", "claude"]);
    let running = RunningProgram::start(command, event.as_bytes(), &project.base)?;
    let wait = u64::try_from(random.number_below(MAX_KILL_MICROS)).unwrap_or_default();
    std::thread::sleep(Duration::from_micros(wait));
    running.kill()
}

/// Kills firings with long-running hooks, and counts the remaining processes.
fn leave_hooks(options: &Options, count: usize) -> anyhow::Result<Vec<Measured>> {
    let parts = count.div_ceil(FIRINGS_PER_WORKER);
    let work = Workload { name: "kill: hooks", count: parts, workers: WORKERS, report_every: 10 };
    let all = work.run(|part| {
        leave_hooks_in_projects(
            options,
            part,
            FIRINGS_PER_WORKER.min(count - part * FIRINGS_PER_WORKER),
        )
    })?;
    let sum = |of: fn(&LeftoverCounts) -> usize| all.iter().map(of).sum::<usize>();
    let (at_once, after_next, open) =
        (sum(|left| left.at_once), sum(|left| left.after_next), sum(|left| left.open));

    let row = |what: &str, goal, measured, held| Measured {
        what: what.into(),
        goal,
        count,
        measured,
        held,
    };
    Ok(vec![
        row(
            "hook processes 2 s after the kill",
            "figure (a kill before the watchdog starts leaves the hook)",
            format!("{at_once} left"),
            super::GoalState::Figure,
        ),
        row(
            "hook processes after the next start",
            "0 left; the next firing denies",
            format!("{after_next} left, {open} open"),
            (after_next == 0 && open == 0).into(),
        ),
    ])
}

/// Counts of processes that killed firings left.
#[derive(Default)]
struct LeftoverCounts {
    at_once: usize,
    after_next: usize,
    open: usize,
}

fn leave_hooks_in_projects(
    options: &Options,
    part: usize,
    count: usize,
) -> anyhow::Result<LeftoverCounts> {
    let mut random = random_for_part(options, part);
    let mut projects = Vec::new();
    for _ in 0..count {
        let project = TestProject::new(options)?;
        project.write_file(".claude/settings.json", &guard_settings("sleep 300; exit 2", 300))?;
        kill_firing(&project, "killed", &mut random)?;
        projects.push(project);
    }

    std::thread::sleep(Duration::from_secs(2));
    let mut found = LeftoverCounts::default();
    for project in &projects {
        found.at_once += processes_of(&project.base, &project.program).len();
        project.write_file(".claude/settings.json", &guard_settings("exit 2", 300))?;
        found.open += usize::from(!project.fire(&tool_event("next"))?.denies());
        let until = Instant::now() + Duration::from_secs(2);
        let left = wait_for_none(&project.base, &project.program, until);
        found.after_next += left.len();
        kill_all(&left);
    }
    Ok(found)
}
