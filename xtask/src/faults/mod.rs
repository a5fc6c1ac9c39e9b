//! `cargo xtask faults`: attacks on the built program, and one table of what held. Each row is a
//! file of its own; it runs the binary in fresh folders and returns what it measured.

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
mod zoo_ways;

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
    pub held: Held,
}

/// Whether a goal was reached.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Held {
    Yes,
    No,
    /// The machine does not allow the attack.
    NotRun,
    /// A figure without a goal of its own.
    Figure,
}

impl Held {
    fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "NO",
            Self::NotRun => "not run",
            Self::Figure => "figure",
        }
    }
}

impl From<bool> for Held {
    fn from(held: bool) -> Self {
        if held { Self::Yes } else { Self::No }
    }
}

/// A row: its name on the command line and the attack.
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

/// What the attacks use beyond Rust.
const PARTS: &[machine::Part] = &[
    machine::Part { program: "bash", package: "bash", without: "hooks in bash" },
    machine::Part { program: "python3", package: "python3", without: "hooks in Python" },
    machine::Part { program: "setsid", package: "util-linux", without: "hooks that leave" },
    machine::Part { program: "strace", package: "strace", without: "faults of the system" },
];

/// Runs the rows that were asked for and prints the table. Fails if something did not hold.
pub fn run(args: &[String]) -> anyhow::Result<()> {
    if let Some(rest) = args.strip_prefix(&[fuzz::WORKER.to_owned()]) {
        return fuzz::work(rest);
    }
    let options = Options::parse(args)?;
    if let Some(name) = options.only.as_deref().filter(|name| !is_row(name)) {
        let names: Vec<&str> = ROWS.iter().map(|(name, _)| *name).collect();
        bail!("no row `{name}`; rows: {}", names.join(", "));
    }
    machine::prepare(PARTS)?;
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
        println!("| {what} | {goal} | {count} | {measured} | {} |", held.word());
    }
}

fn check_all_held(rows: &[Measured]) -> anyhow::Result<()> {
    let in_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    let failed = |row: &&Measured| row.held == Held::No || in_ci && row.held == Held::NotRun;
    let failed: Vec<&str> = rows.iter().filter(failed).map(|row| row.what.as_str()).collect();
    match failed.is_empty() {
        true => Ok(()),
        false => bail!("did not hold or did not run: {}", failed.join("; ")),
    }
}
