//! Row `fuzz`: mutated input for every parser. Library parsers run in one worker process per
//! target, so that crashes are noticed and memory is measured. The program itself reads the journal
//! and the callback links.

use std::panic::{self, AssertUnwindSafe};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

use super::fuzz_http;
use super::fuzz_targets::{TARGETS, Target, mutate};
use super::program::{ProgramResult, peak_memory_kib, run_program};
use super::project::{TestProject, guard_settings, tool_event};
use super::random::Random;
use super::workers::Workload;
use super::{Measured, Options};

/// The argument that starts a worker.
pub const WORKER_ARG: &str = "__fuzz";
const MAX_KIB: u64 = 256 * 1024;
const INPUT_TIMEOUT: Duration = Duration::from_secs(1);
/// How many parsers run in parallel.
const WORKERS: usize = 2;
/// Time limit of a worker.
const WORKER_TIMEOUT: Duration = Duration::from_secs(12 * 60 * 60);

pub fn attack(options: &Options) -> anyhow::Result<Vec<Measured>> {
    let count = options.row_count(20_000, 1_500_000);
    let folder = tempfile::tempdir()?;
    let (mut crashed, mut panics, mut slowest, mut largest) = (0, 0, (0, ""), (0, ""));
    let each = count.div_ceil(TARGETS.len());
    let workload = Workload {
        name: "fuzz: parsers",
        count: TARGETS.len(),
        workers: WORKERS,
        report_every: if options.full { 1 } else { TARGETS.len() },
    };
    let all = workload.run(|n| {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["faults", WORKER_ARG, TARGETS[n].name]);
        command.args([options.seed.to_string(), each.to_string()]);
        Ok((TARGETS[n].name, run_program(command, b"", folder.path(), WORKER_TIMEOUT)?))
    })?;

    for (name, ended) in all {
        let result = ended.reply();
        if ended.code() != Some(0) || !result.is_object() {
            let why = last_line(&ended);
            eprintln!("faults: fuzz: {name} did not end well: {:?} {why}", ended.status);
            crashed += 1;
            continue;
        }
        for input in result["panics"].as_array().into_iter().flatten() {
            eprintln!("faults: fuzz: {name} panics at {input}");
        }
        panics += result["panics"].as_array().map_or(0, Vec::len);
        let milliseconds = result["slowest_ms"].as_u64().unwrap_or(u64::MAX);
        if u128::from(milliseconds) > INPUT_TIMEOUT.as_millis() {
            eprintln!("faults: fuzz: {name} is slow at {}", result["slowest"]);
        }
        slowest = slowest.max((milliseconds, name));
        largest = largest.max((result["peak_kib"].as_u64().unwrap_or(u64::MAX), name));
    }

    let in_time = u128::from(slowest.0) <= INPUT_TIMEOUT.as_millis();
    let parsers = Measured {
        what: format!("mutated input for {} parsers", TARGETS.len()),
        goal: "0 panics, no input over 1 s of CPU, under 256 MiB",
        count,
        measured: format!(
            "{panics} panics, {crashed} crashes; at most {} ms ({}), {} MiB ({})",
            slowest.0,
            slowest.1,
            largest.0 / 1024,
            largest.1
        ),
        held: (panics + crashed == 0 && in_time && largest.0 < MAX_KIB).into(),
    };
    Ok(vec![parsers, fuzz_journal(options)?, fuzz_http::attack(options)?])
}

fn last_line(ended: &ProgramResult) -> &str {
    ended.stderr.lines().last().unwrap_or_default()
}

/// Runs one target: its name, a seed and a count. Prints the findings as JSON.
pub fn run_worker(args: &[String]) -> anyhow::Result<()> {
    let [name, seed, count] = args else { anyhow::bail!("{WORKER_ARG} TARGET SEED COUNT") };
    let target = TARGETS.iter().find(|target| target.name == name).context("no such target")?;
    let (seed, count): (u64, u64) = (seed.parse()?, count.parse()?);

    panic::set_hook(Box::new(|_| {}));
    let (mut panics, mut slowest, mut slowest_input) = (Vec::new(), Duration::ZERO, Vec::new());
    for n in 0..count {
        let input = make_input(target, seed, n);
        let began = cpu_time();
        let result = panic::catch_unwind(AssertUnwindSafe(|| (target.parse)(&input)));
        let took = cpu_time().saturating_sub(began);
        if result.is_err() && panics.len() < 10 {
            panics.push(String::from_utf8_lossy(&input).into_owned());
        }
        if took > slowest {
            (slowest, slowest_input) = (took, input);
        }
    }

    let found = json!({
        "panics": panics,
        "slowest_ms": u64::try_from(slowest.as_millis())?,
        "slowest": String::from_utf8_lossy(&slowest_input).chars().take(2_000).collect::<String>(),
        "peak_kib": peak_memory_kib(std::process::id()),
    });
    println!("{found}");
    Ok(())
}

/// The n-th input of a seed. It is repeatable.
fn make_input(target: &Target, seed: u64, n: u64) -> Vec<u8> {
    let mut random = Random::new(seed ^ n.wrapping_mul(0x5851_f42d_4c95_7f2d));
    mutate(target.seeds, &mut random)
}

/// CPU time of this thread, independent of other programs.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Spools with changed bytes: intact records must be read, and no record invented.
fn fuzz_journal(options: &Options) -> anyhow::Result<Measured> {
    let count = options.row_count(60, 5_000).min(20_000);
    let mut random = Random::new(options.seed);
    let (mut failed, mut made_up, mut slowest, mut peak) = (0, 0, Duration::ZERO, 0);
    let project = TestProject::new(options)?;
    project.write_file(".claude/settings.json", &guard_settings("exit 2", 5))?;
    for n in 0..5 {
        project.fire(&tool_event(&format!("known-{n}")))?;
    }

    let spool = std::fs::read(project.state_dir().join("spool.jsonl"))?;
    for n in 0..count {
        std::fs::remove_dir_all(project.state_dir())?;
        let bytes = flip_bits(&spool, &mut random);
        project.write_file("../state/spool.jsonl", "")?;
        std::fs::write(project.state_dir().join("spool.jsonl"), &bytes)?;
        let ended = project.run(&["log", "--json", "-n", "100"], b"")?;
        failed += usize::from(ended.code() != Some(0));
        let known =
            |line: &str| (0..5).any(|n| line.contains(&format!("\"session\":\"known-{n}\"")));
        made_up += ended.stdout.lines().filter(|line| !known(line)).count();
        (slowest, peak) = (slowest.max(ended.took), peak.max(ended.peak_kib));
        if n % 1_000 == 999 {
            eprintln!("faults: fuzz: journal {} of {count}", n + 1);
        }
    }
    Ok(Measured {
        what: "journals with flipped, cut and doubled bytes".into(),
        goal: "`gambrel log` reads the rest: 0 failures, 0 records misread, 1 s, 256 MiB",
        count,
        measured: format!(
            "{failed} failed, {made_up} misread; at most {} ms, {} MiB",
            slowest.as_millis(),
            peak / 1024
        ),
        held: (failed + made_up == 0 && slowest < INPUT_TIMEOUT && peak < MAX_KIB).into(),
    })
}

fn flip_bits(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.number_below(3) {
        let at = random.number_below(bytes.len());
        match random.number_below(4) {
            0 => bytes.truncate(at),
            1 => bytes.extend_from_within(at..),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.number_below(8);
                }
            }
        }
    }
    bytes
}
