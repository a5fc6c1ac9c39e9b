//! The arguments of `cargo xtask faults`.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};

use crate::shell;

/// Selected attacks, counts and random seed.
pub struct Options {
    pub full: bool,
    pub only: Option<String>,
    pub seed: u64,
    /// A program to attack instead of the debug build.
    pub binary: Option<PathBuf>,
    /// Replaces the small or full count of every row.
    pub count: Option<usize>,
}

impl Options {
    pub fn parse(args: &[String]) -> anyhow::Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seed = u64::from(now.subsec_nanos()) ^ now.as_secs();
        let mut options = Self { full: false, only: None, seed, binary: None, count: None };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--full" => options.full = true,
                "--only" => options.only = Some(value()?.clone()),
                "--seed" => options.seed = value()?.parse().context("--seed needs a number")?,
                "--binary" => options.binary = Some(std::path::absolute(value()?)?),
                "--count" => {
                    options.count = Some(value()?.parse().context("--count needs a number")?);
                }
                _ => bail!("unknown argument `{arg}`: see `cargo xtask`"),
            }
        }
        Ok(options)
    }

    /// The count of a row.
    pub fn row_count(&self, small: usize, full: usize) -> usize {
        self.count.unwrap_or(if self.full { full } else { small })
    }

    /// The attacked program.
    pub fn program_path(&self) -> PathBuf {
        let folder = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let folder = folder.unwrap_or_else(|| shell::repository_root().join("target"));
        self.binary.clone().unwrap_or_else(|| folder.join("debug/gambrel"))
    }
}

#[cfg(test)]
mod tests {
    use super::Options;

    fn parse(line: &str) -> anyhow::Result<Options> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn uses_small_counts_by_default() -> anyhow::Result<()> {
        assert_eq!(parse("")?.row_count(60, 10_000), 60);
        assert_eq!(parse("--full")?.row_count(60, 10_000), 10_000);
        assert_eq!(parse("--full --count 7")?.row_count(60, 10_000), 7);
        assert_eq!(parse("--only kill --seed 9")?.seed, 9);
        assert!(parse("--seed x").is_err() && parse("--fool").is_err());
        Ok(())
    }
}
