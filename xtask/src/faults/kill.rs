//! Row `kill`: kill -9 of `gambrel fire` at random points, then a normal firing.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::journal::JournalFaults;
use super::processes::{kill_all, processes_of, wait_for_none};
use super::program::Running;
use super::project::{TestProject, guard_settings, tool_event};
use super::random::Random;
use super::{Measured, Options};

/// The latest point of a kill, in microseconds.
const LATEST: usize = 80_000;
/// Firings that run at once while hooks are left behind.
const TOGETHER: usize = 8;

pub fn attack(options: &Options) -> anyhow::Result<Vec<Measured>> {
    let mut random = Random::new(options.seed);
    let count = options.count(60, 10_000);
    let mut rows = vec![kill_firings(options, count, &mut random)?];
    rows.extend(leave_hooks(options, options.count(16, 1_000), &mut random)?);
    Ok(rows)
}

fn kill_firings(options: &Options, count: usize, random: &mut Random) -> anyhow::Result<Measured> {
    let project = TestProject::new(options)?;
    let guard = guard_settings("sleep 0.03; echo no >&2; exit 2", 5);
    project.write(".claude/settings.json", &guard)?;
    let (mut acknowledged, mut killed, mut open) = (BTreeSet::new(), 0, 0);
    for point in 0..count {
        let session = format!("killed-{point}");
        let ended = kill_one(&project, &session, random)?;
        killed += usize::from(ended.signal() == Some(9));
        if ended.denies() {
            acknowledged.insert(session);
        }
        let session = format!("next-{point}");
        match project.fire(&tool_event(&session))?.denies() {
            true => drop(acknowledged.insert(session)),
            false => open += 1,
        }
        if point % 1_000 == 999 {
            eprintln!("faults: kill: {} of {count}", point + 1);
        }
    }
    let found = project.journal().map(|journal| JournalFaults::find(&journal, &acknowledged));
    let readable = found.is_ok();
    let found = found.unwrap_or_default();
    Ok(Measured {
        what: "kill -9 of `fire` at a random point of 0–80 ms".into(),
        goal: "the next firing denies; journal readable; no acknowledged firing lost, none twice",
        count,
        measured: format!(
            "{killed} killed; {open} next firings open, journal {}, {} lost, {} twice",
            if readable { "readable" } else { "unreadable" },
            found.lost,
            found.twice
        ),
        held: (killed > 0 && open == 0 && readable && found.is_clean()).into(),
    })
}

fn kill_one(
    project: &TestProject,
    session: &str,
    random: &mut Random,
) -> anyhow::Result<super::program::Ended> {
    let event = tool_event(session).to_string();
    let command = project.command(&["fire", "--from", "claude"]);
    let running = Running::start(command, event.as_bytes(), &project.base)?;
    let wait = u64::try_from(random.below(LATEST)).unwrap_or_default();
    std::thread::sleep(Duration::from_micros(wait));
    running.kill()
}

/// Kills firings whose hook runs on for minutes, and counts what they leave.
fn leave_hooks(
    options: &Options,
    count: usize,
    random: &mut Random,
) -> anyhow::Result<Vec<Measured>> {
    let (mut at_once, mut after_next, mut open) = (0, 0, 0);
    let mut done = 0;
    while done < count {
        let batch = TOGETHER.min(count - done);
        let mut projects = Vec::new();
        for _ in 0..batch {
            let project = TestProject::new(options)?;
            project.write(".claude/settings.json", &guard_settings("sleep 300; exit 2", 300))?;
            kill_one(&project, "killed", random)?;
            projects.push(project);
        }
        std::thread::sleep(Duration::from_secs(2));
        for project in &projects {
            at_once += processes_of(&project.base, &project.program).len();
            project.write(".claude/settings.json", &guard_settings("exit 2", 300))?;
            open += usize::from(!project.fire(&tool_event("next"))?.denies());
            let until = Instant::now() + Duration::from_secs(2);
            let left = wait_for_none(&project.base, &project.program, until);
            after_next += left.len();
            kill_all(&left);
        }
        done += batch;
    }
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
            super::Held::Figure,
        ),
        row(
            "hook processes after the next start",
            "0 left; the next firing denies",
            format!("{after_next} left, {open} open"),
            (after_next == 0 && open == 0).into(),
        ),
    ])
}
