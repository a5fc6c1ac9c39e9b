//! The functions of a program by address, as `nm` lists them.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

/// The functions of a program, sorted by address.
pub struct SymbolTable {
    functions: Vec<(u64, String)>,
}

impl SymbolTable {
    /// Reads the symbols of a program that is not stripped.
    pub fn read(program: &Path) -> anyhow::Result<Self> {
        let output = Command::new("nm").arg("--defined-only").arg(program).output();
        let output = output.context("cannot run nm, which names functions")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut functions: Vec<(u64, String)> = text.lines().filter_map(parse_function).collect();
        ensure!(!functions.is_empty(), "{} has no symbols", program.display());
        functions.sort();
        Ok(Self { functions })
    }

    /// The function that contains an address.
    pub fn function_at(&self, address: u64) -> &str {
        let after = self.functions.partition_point(|(start, _)| *start <= address);
        after.checked_sub(1).map_or("unknown", |at| &self.functions[at].1)
    }
}

/// The address and the name of a line such as `00000000004019c0 t main`.
fn parse_function(line: &str) -> Option<(u64, String)> {
    let mut words = line.split_whitespace();
    let (address, kind, name) = (words.next()?, words.next()?, words.next()?);
    let address = u64::from_str_radix(address, 16).ok()?;
    matches!(kind, "t" | "T" | "w" | "W").then(|| (address, name.to_owned()))
}
