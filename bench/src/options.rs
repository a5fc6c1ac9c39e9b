//! The command line of the benchmarks.

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};

use crate::meter::Effort;

const USAGE: &str = "gambrel-bench --gambrel PROGRAM [--quick] [--json FILE] [--only GOAL]… \
                     | --gambrel PROGRAM --counters [--save] \
                     | --gambrel PROGRAM --function-order FILE";

/// Which goals to measure, and how thoroughly.
pub struct BenchOptions {
    /// Use small counts.
    pub quick: bool,
    /// The output file.
    pub json: PathBuf,
    /// Measure only these goals; all if empty.
    pub only: Vec<String>,
    /// The published build.
    pub gambrel: PathBuf,
    /// Count what a cold fire does, instead of measuring times.
    pub counters: bool,
    /// Write the counts as the committed ones.
    pub save_counters: bool,
    /// Write the functions of a cold fire into this file.
    pub function_order: Option<PathBuf>,
}

impl BenchOptions {
    /// Parses the command line.
    pub fn parse(args: &[String]) -> anyhow::Result<Self> {
        let mut options = Self {
            quick: false,
            json: PathBuf::from("bench.json"),
            only: Vec::new(),
            gambrel: PathBuf::new(),
            counters: false,
            save_counters: false,
            function_order: None,
        };

        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--quick" => options.quick = true,
                "--json" => options.json = value()?.into(),
                "--only" => options.only.push(value()?.clone()),
                "--gambrel" => options.gambrel = std::fs::canonicalize(value()?)?,
                "--counters" => options.counters = true,
                "--save" => options.save_counters = true,
                "--function-order" => options.function_order = Some(value()?.into()),
                _ => bail!("{arg}: usage: {USAGE}"),
            }
        }
        ensure!(options.gambrel.is_file(), "no program to measure: usage: {USAGE}");
        Ok(options)
    }

    /// The given counts, reduced by `--quick`.
    pub fn effort(&self, rounds: usize, fires: usize) -> Effort {
        match self.quick {
            true => Effort { rounds: rounds.div_ceil(8).max(3), fires: fires.div_ceil(2) },
            false => Effort { rounds, fires },
        }
    }

    /// Whether a goal is to be measured.
    pub fn wants(&self, goal: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == goal)
    }
}
