//! Row `zoo`: misbehaving hooks of every dialect, waited for and detached. The answer comes in time, gambrel's
//! memory is bounded, and no process is left.

use std::thread;
use std::time::{Duration, Instant};

use super::processes::{ProjectProcess, kill_all, processes_of, wait_for_none};
use super::program::{Running, peak_memory_kib};
use super::project::{LONG, TestProject, guard_settings, tool_event};
use super::workers::Workload;
use super::zoo_hooks::{HOOKS, Special};
use super::zoo_ways::{CLAUDE_WAY_COUNT, WAYS, Way};
use super::{Held, Measured, Options};

const TIMEOUT: Duration = Duration::from_secs(1);
/// When an answer must have come.
const MAX_ANSWER_TIME: Duration = Duration::from_secs(2);
/// How many are run at once.
const TOGETHER: usize = 4;
const MAX_GROWTH_KIB: u64 = 64 * 1024;
const LARGE_EVENT_BYTES: usize = 5_000_000;

/// What one hook did to us.
struct Seen {
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
    check_ways(options)?;
    let plan = plan(options, options.count(1, 20));
    let (count, workers) = (plan.len(), TOGETHER);
    let work = Workload { name: "zoo", count, workers, report_every: 100 };
    let run = |(hook, way): (usize, usize)| run_one(options, hook, &WAYS[way]);
    let mut seen = work.run(|n| Ok((plan[n], run(plan[n])?)))?;
    // Too slow beside others proves nothing: it is measured again alone, and that counts.
    let mut repeated = 0;
    for (planned, one) in seen.iter_mut().filter(|(_, one)| one.took > MAX_ANSWER_TIME) {
        eprintln!("faults: zoo: again alone: {} ({:.2} s)", one.name, one.took.as_secs_f64());
        *one = run(*planned)?;
        repeated += 1;
    }
    eprintln!("faults: zoo: {repeated} of {count} measured again alone");
    let seen = seen.into_iter().map(|(_, one)| one);
    let (detached, waited): (Vec<Seen>, Vec<Seen>) = seen.partition(|one| one.detached);
    let mut rows = judge(&waited, base_kib, false);
    rows.extend(judge(&detached, base_kib, true));
    Ok(rows)
}

/// The memory of a firing whose hook does nothing.
fn measure_base(options: &Options) -> anyhow::Result<u64> {
    let project = TestProject::new(options)?;
    project.write(".claude/settings.json", &guard_settings("sleep 0.2", 5))?;
    Ok(project.fire(&tool_event("base"))?.peak_kib)
}

/// Every program in both ways of Claude Code; in the other ways all of them in a full run, and one
/// after the other in a small one. The same program does not come twice in a row: some need much.
fn plan(options: &Options, rounds: usize) -> Vec<(usize, usize)> {
    let others = WAYS.len() - CLAUDE_WAY_COUNT;
    let other_count = if options.full { others } else { 1 };
    let way_of = |round: usize, hook: usize, turn: usize| match turn {
        turn if turn < CLAUDE_WAY_COUNT => turn,
        turn if options.full => turn,
        _ => CLAUDE_WAY_COUNT + (round + hook) % others,
    };
    let mut plan = Vec::new();
    for round in 0..rounds {
        for turn in 0..CLAUDE_WAY_COUNT + other_count {
            plan.extend((0..HOOKS.len()).map(|hook| (hook, way_of(round, hook, turn))));
        }
    }
    plan
}

/// A way whose hook does not run would prove nothing.
fn check_ways(options: &Options) -> anyhow::Result<()> {
    for way in WAYS {
        let project = TestProject::new(options)?;
        let mark = project.base.join("ran");
        let (command, event) = way.prepare(&project, &format!("echo x > '{}'", mark.display()))?;
        let event = event.to_string();
        Running::start(command, event.as_bytes(), &project.base)?.wait(LONG)?;
        let until = Instant::now() + LONG;
        while !mark.exists() {
            anyhow::ensure!(Instant::now() < until, "a hook of {} does not run", way.name);
            thread::sleep(Duration::from_millis(20));
        }
        wait_for_none(&project.base, &project.program, until);
    }
    Ok(())
}

fn run_one(options: &Options, hook: usize, way: &Way) -> anyhow::Result<Seen> {
    let (name, script, special) = HOOKS[hook];
    let special = match special {
        Special::NeedsAdoption if way.adopts => Special::None,
        Special::NeedsAdoption => Special::BeyondReach,
        special => special,
    };
    let project = TestProject::new(options)?;
    let (command, mut event) = way.prepare(&project, script)?;
    if special == Special::LargeEvent {
        event["tool_input"]["command"] = "x".repeat(LARGE_EVENT_BYTES).into();
    }
    let began = Instant::now();
    let event = event.to_string();
    let mut running = Running::start(command, event.as_bytes(), &project.base)?;
    let mut peak_kib = 0;
    // As long as it runs it is asked often, because its memory is gone with it.
    let ended = loop {
        if running.poll()?.is_some() || began.elapsed() > LONG {
            break running.wait(LONG)?;
        }
        thread::sleep(Duration::from_millis(2));
    };
    let until = began + TIMEOUT + Duration::from_secs(2);
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
    report_left(name, way, &left, special);
    let left_after_next = match special {
        Special::KillsGambrel => count_after_next_start(&project)?,
        _ => 0,
    };
    // Those who move on are followed.
    for _ in 0..100 {
        let left = processes_of(&project.base, &project.program);
        if left.is_empty() {
            break;
        }
        kill_all(&left);
    }
    let (name, took) = (format!("{name}, {}", way.name), ended.took);
    let peak_kib = peak_kib.max(ended.peak_kib);
    Ok(Seen {
        name,
        special,
        detached: way.detached,
        took,
        peak_kib,
        left: left.len(),
        left_after_next,
    })
}

fn report_left(name: &str, way: &Way, left: &[ProjectProcess], special: Special) {
    let expected = matches!(special, Special::BeyondReach | Special::KillsGambrel);
    for process in left.iter().filter(|_| !expected).take(3) {
        let how = if way.detached { "detached" } else { "waited" };
        eprintln!(
            "faults: zoo: left by `{name}` ({}, {how}): {} {}",
            way.name, process.pid, process.words
        );
    }
}

fn count_after_next_start(project: &TestProject) -> anyhow::Result<usize> {
    project.write(".claude/settings.json", &guard_settings("exit 2", 5))?;
    project.fire(&tool_event("next"))?;
    let until = Instant::now() + Duration::from_secs(2);
    Ok(wait_for_none(&project.base, &project.program, until).len())
}

fn judge(seen: &[Seen], base_kib: u64, detached: bool) -> Vec<Measured> {
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
    let name = |one: Option<&Seen>| one.map_or_else(String::new, |one| one.name.clone());
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
            (took <= MAX_ANSWER_TIME).into(),
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
            Held::Figure,
        ),
    ]
}
