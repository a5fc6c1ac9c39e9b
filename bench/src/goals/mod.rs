//! The goals, one file each, in the order of their numbers.

mod cold;
mod config;
mod journal;
mod languages;
mod large;
mod many;
pub mod modules;
mod one_hook;
mod parallel;
mod resident;

use std::path::Path;

use crate::asked::Asked;
use crate::programs::Programs;
use crate::report::Row;

/// What every goal is given.
pub struct Ground<'g> {
    /// What was typed.
    pub asked: &'g Asked,
    /// Floors and hooks.
    pub programs: &'g Programs,
    /// A folder for scenes.
    pub folder: &'g Path,
}

type Goal = fn(&Ground<'_>) -> anyhow::Result<Vec<Row>>;

/// One row per goal that can be measured today.
const GOALS: &[(&str, Goal)] = &[
    ("1", one_hook::direct),
    ("2", one_hook::shell),
    ("4", resident::measure),
    ("5", many::measure),
    ("6", large::measure),
    ("7", parallel::measure),
    ("8", cold::measure),
    ("10", config::measure),
    ("11", journal::measure),
    ("12", modules::measure),
    ("languages", languages::measure),
];

/// Every goal that is wanted.
pub fn measure(asked: &Asked) -> anyhow::Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    let programs = Programs::compile(folder.path())?;
    let mut rows = Vec::new();
    for (number, goal) in GOALS.iter().filter(|(number, _)| asked.wants(number)) {
        let scenes = folder.path().join(number);
        std::fs::create_dir(&scenes)?;
        let ground = Ground { asked, programs: &programs, folder: &scenes };
        rows.extend(goal(&ground)?);
    }
    Ok(rows)
}
