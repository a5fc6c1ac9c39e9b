//! The goals, one file each.

mod cold;
mod cold_peers;
mod config;
mod journal;
mod languages;
mod large;
mod many;
pub mod modules;
mod one_hook;
mod parallel;
mod peers;
mod permission;
mod resident;
mod runner;

use std::path::Path;

use crate::options::BenchOptions;
use crate::programs::Programs;
use crate::report::Row;

/// The inputs of a goal.
pub struct GoalContext<'g> {
    /// The command line.
    pub options: &'g BenchOptions,
    /// Programs for floors and hooks.
    pub programs: &'g Programs,
    /// A temporary folder of this goal.
    pub folder: &'g Path,
}

type Goal = fn(&GoalContext<'_>) -> anyhow::Result<Vec<Row>>;

/// All goals, by number.
const GOALS: &[(&str, Goal)] = &[
    ("1", one_hook::measure_direct),
    ("2", one_hook::measure_shell),
    ("3", peers::measure),
    ("4", resident::measure),
    ("5", many::measure),
    ("6", large::measure),
    ("7", parallel::measure),
    ("cold", cold::measure),
    ("10", config::measure),
    ("11", journal::measure),
    ("12", modules::measure),
    ("languages", languages::measure),
    ("run", runner::measure),
    ("permission", permission::measure),
];

/// Measures the selected goals.
pub fn measure(options: &BenchOptions) -> anyhow::Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    let programs = Programs::compile(folder.path())?;
    let mut rows = Vec::new();
    for (number, goal) in GOALS.iter().filter(|(number, _)| options.wants(number)) {
        let scenes = folder.path().join(number);
        std::fs::create_dir(&scenes)?;
        let context = GoalContext { options, programs: &programs, folder: &scenes };
        rows.extend(goal(&context)?);
    }
    Ok(rows)
}
