//! What was typed.

use std::path::PathBuf;

use anyhow::{Context, bail};

use crate::meter::Effort;

const USAGE: &str = "gambrel-bench [--quick] [--json FILE] [--only GOAL]… [--gambrel PROGRAM] \
                     [--static PROGRAM | --no-static]";

/// How to measure, and what.
pub struct Asked {
    /// Small counts.
    pub quick: bool,
    /// Where the figures go.
    pub json: PathBuf,
    /// Only these goals, if any are named.
    pub only: Vec<String>,
    /// The binary as it is built here.
    pub gambrel: PathBuf,
    /// The static binary, if it was built elsewhere.
    pub static_gambrel: Option<PathBuf>,
    /// Whether a static binary may be built when there is none.
    pub build_static: bool,
}

impl Asked {
    /// Of the command line.
    pub fn read(args: &[String]) -> anyhow::Result<Self> {
        let beside = std::env::current_exe()?.with_file_name("gambrel");
        let mut asked = Self {
            quick: false,
            json: PathBuf::from("bench.json"),
            only: Vec::new(),
            gambrel: beside,
            static_gambrel: None,
            build_static: true,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--quick" => asked.quick = true,
                "--json" => asked.json = value()?.into(),
                "--only" => asked.only.push(value()?.clone()),
                "--gambrel" => asked.gambrel = value()?.into(),
                "--static" => asked.static_gambrel = Some(value()?.into()),
                "--no-static" => asked.build_static = false,
                _ => bail!("{arg}: usage: {USAGE}"),
            }
        }
        Ok(asked)
    }

    /// So many rounds of so many fires; few of them when it is to be quick.
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
