//! `cargo xtask faults`: attacks the built program and prints a table of results. Each attack is a
//! file; it runs the binary in fresh folders and returns its measurements.

mod errno;
mod fuzz;
mod fuzz_http;
mod fuzz_targets;
mod hostile;
mod journal;
mod kill;
mod kill_at_write;
mod options;
mod parallel;
mod processes;
mod program;
mod project;
mod random;
mod strace;
mod swap;
mod workers;
mod zoo;
mod zoo_hooks;
mod zoo_modes;

use std::time::Instant;

use anyhow::bail;

use crate::{machine, shell};
pub use options::Options;

/// One line of the table at the end.
pub struct Measured {
    pub what: String,
    pub goal: &'static str,
    pub count: usize,
    pub measured: String,
    pub held: GoalState,
}

/// Whether a goal was reached.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum GoalState {
    Yes,
    No,
    /// The machine does not allow the attack.
    NotRun,
    /// A figure without a goal of its own.
    Figure,
}

impl GoalState {
    fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "NO",
            Self::NotRun => "not run",
            Self::Figure => "figure",
        }
    }
}

impl From<bool> for GoalState {
    fn from(held: bool) -> Self {
        if held { Self::Yes } else { Self::No }
    }
}

/// An attack. The table gives each its name on the command line.
type Attack = fn(&Options) -> anyhow::Result<Vec<Measured>>;
const ROWS: &[(&str, Attack)] = &[
    ("kill", kill::attack),
    ("kill-at-write", kill_at_write::attack),
    ("errno", errno::attack),
    ("zoo", zoo::attack),
    ("parallel", parallel::attack),
    ("hostile", hostile::attack),
    ("fuzz", fuzz::attack),
    ("swap", swap::attack),
];

/// Programs that the attacks need.
const REQUIRED_PROGRAMS: &[machine::RequiredProgram] = &[
    machine::RequiredProgram { program: "bash", package: "bash", without: "hooks in bash" },
    machine::RequiredProgram { program: "python3", package: "python3", without: "hooks in Python" },
    machine::RequiredProgram {
        program: "setsid",
        package: "util-linux",
        without: "hooks that leave their session",
    },
    machine::RequiredProgram {
        program: "strace",
        package: "strace",
        without: "failing system calls",
    },
];

/// Runs the selected attacks and prints the table. Fails if a goal was not reached.
pub fn run(args: &[String]) -> anyhow::Result<()> {
    if let Some(rest) = args.strip_prefix(&[fuzz::WORKER_ARG.to_owned()]) {
        return fuzz::run_worker(rest);
    }
    let options = Options::parse(args)?;
    if let Some(name) = options.only.as_deref().filter(|name| !is_row(name)) {
        let names: Vec<&str> = ROWS.iter().map(|(name, _)| *name).collect();
        bail!("no row `{name}`; rows: {}", names.join(", "));
    }

    machine::install_missing(REQUIRED_PROGRAMS)?;
    if options.binary.is_none() {
        shell::run("cargo", &["build", "--package", "gambrel-cli"])?;
    }
    let count = if options.full { "full" } else { "small" };
    eprintln!("faults: {count} counts, --seed {}", options.seed);

    let mut rows = Vec::new();
    for (name, attack) in ROWS {
        if options.only.as_deref().is_some_and(|only| only != *name) {
            continue;
        }
        let began = Instant::now();
        eprintln!("faults: {name} …");
        rows.extend(attack(&options)?);
        eprintln!("faults: {name} took {:.1} s", began.elapsed().as_secs_f64());
    }
    print_table(&rows);
    check_all_held(&rows)
}

fn is_row(name: &str) -> bool {
    ROWS.iter().any(|(row, _)| *row == name)
}

fn print_table(rows: &[Measured]) {
    println!("| what | goal | count | measured | held |\n|---|---|---|---|---|");
    for row in rows {
        let Measured { what, goal, count, measured, held } = row;
        println!("| {what} | {goal} | {count} | {measured} | {} |", held.as_str());
    }
}

fn check_all_held(rows: &[Measured]) -> anyhow::Result<()> {
    let in_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    let failed =
        |row: &&Measured| row.held == GoalState::No || in_ci && row.held == GoalState::NotRun;
    let failed: Vec<&str> = rows.iter().filter(failed).map(|row| row.what.as_str()).collect();
    match failed.is_empty() {
        true => Ok(()),
        false => bail!("did not hold or did not run: {}", failed.join("; ")),
    }
}
