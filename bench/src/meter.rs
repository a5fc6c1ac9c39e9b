//! Measures candidates in turns within one run, so that other load on the machine affects all of
//! them equally.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use crate::floor;

/// How often each candidate runs.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Turns of every candidate.
    pub rounds: usize,
    /// Fires in a turn.
    pub fires: usize,
}

/// One turn of a candidate.
#[derive(Debug, Clone, Copy)]
pub struct Round {
    /// CPU time of all fires, with children.
    pub cpu: Duration,
    /// Wall time of the shortest fire.
    pub wall: Duration,
}

/// The figures of one candidate.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Microseconds of CPU time per fire, by round.
    pub cpu: Vec<f64>,
    /// Shortest wall time in microseconds.
    pub wall: f64,
}

/// A candidate: runs the given number of fires.
pub type Candidate<'c> = Box<dyn FnMut(usize) -> anyhow::Result<Round> + 'c>;

/// A candidate that fires in this process.
pub fn in_process<'c>(mut fire: impl FnMut() -> anyhow::Result<()> + 'c) -> Candidate<'c> {
    Box::new(move |fires| {
        let before = floor::cpu_time();
        let mut wall = Duration::MAX;
        for _ in 0..fires {
            let began = Instant::now();
            fire()?;
            wall = wall.min(began.elapsed());
        }
        Ok(Round { cpu: floor::cpu_time() - before, wall })
    })
}

/// Runs all candidates in turns, alternating forwards and backwards.
pub fn interleave(
    effort: Effort,
    candidates: &mut [Candidate<'_>],
) -> anyhow::Result<Vec<Measured>> {
    let mut all = vec![Measured { cpu: Vec::new(), wall: f64::MAX }; candidates.len()];
    for candidate in candidates.iter_mut() {
        candidate(effort.fires.div_ceil(4))?;
    }

    for round in 0..effort.rounds {
        let count = candidates.len();
        for turn in 0..count {
            let at = if round % 2 == 0 { turn } else { count - 1 - turn };
            let Round { cpu, wall } = candidates[at](effort.fires)?;
            all[at].cpu.push(cpu.as_secs_f64() * 1e6 / effort.fires as f64);
            all[at].wall = all[at].wall.min(wall.as_secs_f64() * 1e6);
        }
    }
    Ok(all)
}

impl Measured {
    /// The median CPU time of all rounds.
    pub fn median_cpu(&self) -> f64 {
        median(self.cpu.clone())
    }

    /// What is left of each round without the cost of another candidate.
    pub fn without(&self, other: &Self) -> Self {
        let cpu = self.cpu.iter().zip(&other.cpu).map(|(own, other)| own - other).collect();
        Self { cpu, wall: self.wall - other.wall }
    }

    /// The median of the rounds' ratios to the floor.
    pub fn ratio_to(&self, floor: &Self) -> f64 {
        median(self.cpu.iter().zip(&floor.cpu).map(|(own, floor)| own / floor).collect())
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A process that stays alive between its turns. It fires as often as a number on its stdin says.
pub struct ChildCandidate {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl ChildCandidate {
    /// Starts the process.
    pub fn start(program: &Path, args: &[&str]) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| program.display().to_string())?;
        let stdin = child.stdin.take().context("no stdin")?;
        let stdout = BufReader::new(child.stdout.take().context("no stdout")?);
        Ok(Self { child, stdin, stdout })
    }

    /// Runs one turn. The process reports its own CPU time.
    pub fn run_round(&mut self, fires: usize) -> anyhow::Result<Round> {
        writeln!(self.stdin, "{fires}")?;
        let mut line = String::new();
        ensure!(self.stdout.read_line(&mut line)? > 0, "a candidate process ended early");

        let mut numbers = line.split_whitespace().map(str::parse::<f64>);
        let mut next = || anyhow::Ok(numbers.next().context("a number is missing")??);
        let (cpu, wall) = (next()?, next()?);
        let micros = |n: f64| Duration::try_from_secs_f64(n / 1e6);
        Ok(Round { cpu: micros(cpu)?, wall: micros(wall)? })
    }
}

/// The clock ticks of a second in `/proc`; the same on every Linux that gambrel runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// A process that answers a number on its stdin with a line, after as many fires. Its CPU time comes
/// from the kernel, in ticks, so a turn needs many fires.
pub struct ForeignCandidate(ChildCandidate);

impl ForeignCandidate {
    /// Starts the process.
    pub fn start(program: &Path, args: &[&str]) -> anyhow::Result<Self> {
        Ok(Self(ChildCandidate::start(program, args)?))
    }

    /// Runs one turn. The wall time is the mean of its fires.
    pub fn run_round(&mut self, fires: usize) -> anyhow::Result<Round> {
        let (before, began) = (self.cpu_seconds()?, Instant::now());
        writeln!(self.0.stdin, "{fires}")?;
        // A candidate may print lines of its own before.
        let mut line = String::new();
        while line.trim() != "done" {
            line.clear();
            ensure!(self.0.stdout.read_line(&mut line)? > 0, "a candidate process ended early");
        }
        let wall = began.elapsed().div_f64(fires as f64);
        Ok(Round { cpu: Duration::try_from_secs_f64(self.cpu_seconds()? - before)?, wall })
    }

    /// CPU time of the process and of all children that it has waited for.
    fn cpu_seconds(&self) -> anyhow::Result<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.child.id()))?;
        let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
        // utime, stime, cutime, cstime: fields 14 to 17 of the line.
        let ticks = fields.skip(11).take(4).map(str::parse::<f64>);
        Ok(ticks.collect::<Result<Vec<f64>, _>>()?.iter().sum::<f64>() / TICKS_PER_SECOND)
    }
}

impl Drop for ChildCandidate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
