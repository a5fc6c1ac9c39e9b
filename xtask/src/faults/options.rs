//! The arguments of `cargo xtask faults`.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};

use crate::shell;

/// How much is done, and with which random numbers.
pub struct Options {
    pub full: bool,
    pub only: Option<String>,
    pub seed: u64,
    /// A program to attack instead of the debug build.
    pub binary: Option<PathBuf>,
    /// A count for the rows that have one, instead of the small or the full one.
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
    pub fn count(&self, small: usize, full: usize) -> usize {
        self.count.unwrap_or(if self.full { full } else { small })
    }

    /// The program that is attacked.
    pub fn program(&self) -> PathBuf {
        let folder = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let folder = folder.unwrap_or_else(|| shell::root().join("target"));
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
    fn counts_are_small_unless_asked_for() -> anyhow::Result<()> {
        assert_eq!(parse("")?.count(60, 10_000), 60);
        assert_eq!(parse("--full")?.count(60, 10_000), 10_000);
        assert_eq!(parse("--full --count 7")?.count(60, 10_000), 7);
        assert_eq!(parse("--only kill --seed 9")?.seed, 9);
        assert!(parse("--seed x").is_err() && parse("--fool").is_err());
        Ok(())
    }
}
