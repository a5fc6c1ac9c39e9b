//! Row `zoo`: misbehaving hooks of every dialect, waited for and detached. The answer must come in
//! time, gambrel's memory must be bounded, and no process may remain.

use std::thread;
use std::time::{Duration, Instant};

use super::processes::{ProjectProcess, kill_all, processes_of, wait_for_none};
use super::program::{RunningProgram, peak_memory_kib};
use super::project::{RUN_TIMEOUT, TestProject, guard_settings, tool_event};
use super::workers::Workload;
use super::zoo_hooks::{HOOKS, Special};
use super::zoo_modes::{CLAUDE_MODE_COUNT, HookMode, MODES};
use super::{GoalState, Measured, Options};

const HOOK_TIMEOUT: Duration = Duration::from_secs(1);
/// Time limit of an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// How many hooks run in parallel.
const MAX_CONCURRENT_HOOKS: usize = 4;
const MAX_GROWTH_KIB: u64 = 64 * 1024;
const LARGE_EVENT_BYTES: usize = 5_000_000;

/// Measurements of one hook.
struct HookMeasurement {
    name: String,
    special: Special,
    detached: bool,
    took: Duration,
    peak_kib: u64,
    left: usize,
    left_after_next: usize,
}

pub fn attack(options: &Options) -> anyhow::Result<Vec<Measured>> {
    let base_kib = measure_base(options)?;
    check_modes(options)?;
    let plan = plan_runs(options, options.row_count(1, 20));
    let (count, workers) = (plan.len(), MAX_CONCURRENT_HOOKS);
    let work = Workload { name: "zoo", count, workers, report_every: 100 };
    let run = |(hook, way): (usize, usize)| run_hook(options, hook, &MODES[way]);

    let mut seen = work.run(|n| Ok((plan[n], run(plan[n])?)))?;
    // A hook that is too slow beside others is measured again alone; only the second result counts.
    let mut repeated = 0;
    for (planned, one) in seen.iter_mut().filter(|(_, one)| one.took > ANSWER_TIMEOUT) {
        eprintln!("faults: zoo: again alone: {} ({:.2} s)", one.name, one.took.as_secs_f64());
        *one = run(*planned)?;
        repeated += 1;
    }
    eprintln!("faults: zoo: {repeated} of {count} measured again alone");

    let seen = seen.into_iter().map(|(_, one)| one);
    let (detached, waited): (Vec<HookMeasurement>, Vec<HookMeasurement>) =
        seen.partition(|one| one.detached);
    let mut rows = build_rows(&waited, base_kib, false);
    rows.extend(build_rows(&detached, base_kib, true));
    Ok(rows)
}

/// Memory of a firing whose hook does nothing.
fn measure_base(options: &Options) -> anyhow::Result<u64> {
    let project = TestProject::new(options)?;
    project.write_file(".claude/settings.json", &guard_settings("sleep 0.2", 5))?;
    Ok(project.fire(&tool_event("base"))?.peak_kib)
}

/// Every program runs in both modes of Claude Code. A full run adds all other modes; a small run
/// adds one of them in turn. No program runs twice in a row, because some need much memory.
fn plan_runs(options: &Options, rounds: usize) -> Vec<(usize, usize)> {
    let others = MODES.len() - CLAUDE_MODE_COUNT;
    let other_count = if options.full { others } else { 1 };
    let way_of = |round: usize, hook: usize, turn: usize| match turn {
        turn if turn < CLAUDE_MODE_COUNT => turn,
        turn if options.full => turn,
        _ => CLAUDE_MODE_COUNT + (round + hook) % others,
    };
    let mut plan = Vec::new();
    for round in 0..rounds {
        for turn in 0..CLAUDE_MODE_COUNT + other_count {
            plan.extend((0..HOOKS.len()).map(|hook| (hook, way_of(round, hook, turn))));
        }
    }
    plan
}

/// Checks that a hook runs in every mode.
fn check_modes(options: &Options) -> anyhow::Result<()> {
    for mode in MODES {
        let project = TestProject::new(options)?;
        let mark = project.base.join("ran");
        let (command, event) =
            mode.write_hook(&project, &format!("echo x > '{}'", mark.display()))?;
        let event = event.to_string();
        RunningProgram::start(command, event.as_bytes(), &project.base)?.wait(RUN_TIMEOUT)?;
        let until = Instant::now() + RUN_TIMEOUT;
        while !mark.exists() {
            anyhow::ensure!(Instant::now() < until, "a hook of {} does not run", mode.name);
            thread::sleep(Duration::from_millis(20));
        }
        wait_for_none(&project.base, &project.program, until);
    }
    Ok(())
}

fn run_hook(options: &Options, hook: usize, mode: &HookMode) -> anyhow::Result<HookMeasurement> {
    let (name, script, special) = HOOKS[hook];
    let special = match special {
        Special::NeedsAdoption if mode.adopts => Special::None,
        Special::NeedsAdoption => Special::BeyondReach,
        special => special,
    };
    let project = TestProject::new(options)?;
    let (command, mut event) = mode.write_hook(&project, script)?;
    if special == Special::LargeEvent {
        event["tool_input"]["command"] = "x".repeat(LARGE_EVENT_BYTES).into();
    }

    let began = Instant::now();
    let event = event.to_string();
    let mut running = RunningProgram::start(command, event.as_bytes(), &project.base)?;
    let mut peak_kib = 0;
    // Polled often, because its memory cannot be read after it ends.
    let ended = loop {
        if running.poll()?.is_some() || began.elapsed() > RUN_TIMEOUT {
            break running.wait(RUN_TIMEOUT)?;
        }
        thread::sleep(Duration::from_millis(2));
    };

    let until = began + HOOK_TIMEOUT + Duration::from_secs(2);
    let left = loop {
        let left = processes_of(&project.base, &project.program);
        for process in left.iter().filter(|process| process.is_gambrel) {
            peak_kib = peak_kib.max(peak_memory_kib(process.pid));
        }
        if left.is_empty() || Instant::now() >= until {
            break left;
        }
        thread::sleep(Duration::from_millis(30));
    };

    report_left(name, mode, &left, special);
    let left_after_next = match special {
        Special::KillsGambrel => count_after_next_start(&project)?,
        _ => 0,
    };
    kill_rest(&project);

    let (name, took) = (format!("{name}, {}", mode.name), ended.took);
    let peak_kib = peak_kib.max(ended.peak_kib);
    Ok(HookMeasurement {
        name,
        special,
        detached: mode.detached,
        took,
        peak_kib,
        left: left.len(),
        left_after_next,
    })
}

/// Kills all processes of a project. Repeated, because some of them start new ones.
fn kill_rest(project: &TestProject) {
    for _ in 0..100 {
        let left = processes_of(&project.base, &project.program);
        if left.is_empty() {
            return;
        }
        kill_all(&left);
    }
}

fn report_left(name: &str, mode: &HookMode, left: &[ProjectProcess], special: Special) {
    let expected = matches!(special, Special::BeyondReach | Special::KillsGambrel);
    for process in left.iter().filter(|_| !expected).take(3) {
        let how = if mode.detached { "detached" } else { "waited" };
        eprintln!(
            "faults: zoo: left by `{name}` ({}, {how}): {} {}",
            mode.name, process.pid, process.words
        );
    }
}

fn count_after_next_start(project: &TestProject) -> anyhow::Result<usize> {
    project.write_file(".claude/settings.json", &guard_settings("exit 2", 5))?;
    project.fire(&tool_event("next"))?;
    let until = Instant::now() + Duration::from_secs(2);
    Ok(wait_for_none(&project.base, &project.program, until).len())
}

fn build_rows(seen: &[HookMeasurement], base_kib: u64, detached: bool) -> Vec<Measured> {
    let count = seen.len();
    let how = if detached { "detached" } else { "waited for" };
    let row = |what: &str, goal, measured, held| Measured {
        what: format!("{what} ({how})"),
        goal,
        count,
        measured,
        held,
    };

    let slowest = seen.iter().max_by_key(|one| one.took);
    let largest = seen.iter().max_by_key(|one| one.peak_kib);
    let took = slowest.map_or(Duration::ZERO, |one| one.took);
    let growth = largest.map_or(0, |one| one.peak_kib).saturating_sub(base_kib);
    let name = |one: Option<&HookMeasurement>| one.map_or_else(String::new, |one| one.name.clone());
    let left = |filter: fn(Special) -> bool| -> usize {
        seen.iter().filter(|one| filter(one.special)).map(|one| one.left).sum()
    };
    let ours = left(|special| matches!(special, Special::None | Special::LargeEvent));
    let killed = left(|special| special == Special::KillsGambrel);
    let beyond = left(|special| special == Special::BeyondReach);
    let after_next: usize = seen.iter().map(|one| one.left_after_next).sum();

    vec![
        row(
            "time of 38 misbehaving hooks of five dialects",
            "answer within timeout + 1 s",
            format!("at most {:.2} s at a timeout of 1 s ({})", took.as_secs_f64(), name(slowest)),
            (took <= ANSWER_TIMEOUT).into(),
        ),
        row(
            "memory of gambrel",
            "< 64 MiB over its base",
            format!("{} MiB over {} MiB ({})", growth / 1024, base_kib / 1024, name(largest)),
            (growth < MAX_GROWTH_KIB).into(),
        ),
        row(
            "processes left at timeout + 2 s",
            "0; 0 after the next start where the hook killed gambrel",
            format!("{ours} left, {after_next} after the next start"),
            (ours == 0 && after_next == 0).into(),
        ),
        row(
            "processes that the known limits leave",
            "figure",
            format!("{killed} after gambrel was killed, {beyond} without session and environment"),
            GoalState::Figure,
        ),
    ]
}
