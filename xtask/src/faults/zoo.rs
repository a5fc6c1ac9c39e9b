//! Row `zoo`: misbehaving hooks, waited for and detached. The answer comes in time, gambrel's
//! memory is bounded, and no process is left.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use serde_json::json;

use super::processes::{ProjectProcess, kill_all, processes_of, wait_for_none};
use super::program::{Running, peak_memory_kib};
use super::project::{LONG, TestProject, guard_settings, tool_event};
use super::zoo_hooks::{HOOKS, Special};
use super::{Held, Measured, Options};

const TIMEOUT: Duration = Duration::from_secs(1);
/// How many are run at once.
const TOGETHER: usize = 4;
const MAX_GROWTH_KIB: u64 = 64 * 1024;
const LARGE_EVENT_BYTES: usize = 5_000_000;

/// What one hook did to us.
struct Seen {
    name: String,
    special: Special,
    took: Duration,
    peak_kib: u64,
    left: usize,
    left_after_next: usize,
}

pub fn attack(options: &Options) -> anyhow::Result<Vec<Measured>> {
    let base_kib = measure_base(options)?;
    let rounds = options.count(1, 100);
    let mut rows = Vec::new();
    for detached in [false, true] {
        let seen = run_all(options, rounds, detached)?;
        rows.extend(judge(&seen, base_kib, detached));
    }
    Ok(rows)
}

/// The memory of a firing whose hook does nothing.
fn measure_base(options: &Options) -> anyhow::Result<u64> {
    let project = TestProject::new(options)?;
    project.write(".claude/settings.json", &guard_settings("sleep 0.2", 5))?;
    Ok(project.fire(&tool_event("base"))?.peak_kib)
}

fn run_all(options: &Options, rounds: usize, detached: bool) -> anyhow::Result<Vec<Seen>> {
    let (next, seen) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || -> anyhow::Result<()> {
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            if n >= rounds * HOOKS.len() {
                return Ok(());
            }
            let one = run_one(options, n % HOOKS.len(), detached)?;
            seen.lock().map_err(|_| anyhow!("a thread panicked"))?.push(one);
            if n % 500 == 499 {
                eprintln!("faults: zoo: {} of {}", n + 1, rounds * HOOKS.len());
            }
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..TOGETHER).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| anyhow!("a thread panicked"))?)
    })?;
    seen.into_inner().map_err(|_| anyhow!("a thread panicked"))
}

fn run_one(options: &Options, index: usize, detached: bool) -> anyhow::Result<Seen> {
    let (name, script, special) = HOOKS[index];
    let project = TestProject::new(options)?;
    let hook = json!({"type": "command", "command": script, "timeout": TIMEOUT.as_secs(),
                      "async": detached});
    let settings = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}});
    project.write(".claude/settings.json", &settings.to_string())?;
    let mut event = tool_event("zoo");
    if special == Special::LargeEvent {
        event["tool_input"]["command"] = "x".repeat(LARGE_EVENT_BYTES).into();
    }
    let began = Instant::now();
    let command = project.command(&["fire", "--from", "claude"]);
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
    report_left(name, detached, &left, special);
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
    let (name, took) = (name.to_owned(), ended.took);
    let peak_kib = peak_kib.max(ended.peak_kib);
    Ok(Seen { name, special, took, peak_kib, left: left.len(), left_after_next })
}

fn report_left(name: &str, detached: bool, left: &[ProjectProcess], special: Special) {
    let expected = matches!(special, Special::BeyondReach | Special::KillsGambrel);
    for process in left.iter().filter(|_| !expected).take(3) {
        let how = if detached { "detached" } else { "waited" };
        eprintln!("faults: zoo: left by `{name}` ({how}): {} {}", process.pid, process.words);
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
            "time of 38 misbehaving hooks",
            "answer within timeout + 1 s",
            format!("at most {:.2} s at a timeout of 1 s ({})", took.as_secs_f64(), name(slowest)),
            (took <= TIMEOUT + Duration::from_secs(1)).into(),
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
