//! The committed counts in `bench/counters.json`, and how much a count may grow.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use super::FireCounts;

/// How much instructions and system calls may grow, in percent. `cpuid` may not grow.
const MAX_GROWTH_PERCENT: u64 = 10;
/// Page faults depend on the kernel and on how much of the program is in its cache.
const MAX_FAULT_GROWTH_PERCENT: u64 = 20;

/// The counts of all cases, with the kernel that they were counted on.
#[derive(Debug, Serialize, Deserialize)]
pub struct CommittedCounts {
    kernel: String,
    cases: BTreeMap<String, FireCounts>,
}

impl CommittedCounts {
    /// The counts of this run.
    pub fn new(cases: Vec<(String, FireCounts)>) -> anyhow::Result<Self> {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned();
        Ok(Self { kernel, cases: cases.into_iter().collect() })
    }

    /// Reads the committed counts.
    pub fn load() -> anyhow::Result<Self> {
        let file = committed_file();
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        serde_json::from_str(&text).with_context(|| file.display().to_string())
    }

    /// Writes these counts as the committed ones.
    pub fn save(&self) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        fs::write(committed_file(), format!("{text}\n")).context("cannot write the counts")
    }

    /// Fails if a count has grown too much over the committed one.
    pub fn compare_with(&self, committed: &Self) -> anyhow::Result<()> {
        let mut grown = Vec::new();
        for (case, counts) in &self.cases {
            let Some(before) = committed.cases.get(case) else {
                bail!(
                    "`{case}` has no committed counts: run `cargo xtask bench --counters --save`"
                );
            };
            grown.extend(
                grown_counts(before, counts).into_iter().map(|what| format!("{case}: {what}")),
            );
        }
        if grown.is_empty() {
            return Ok(());
        }
        let Self { kernel, .. } = committed;
        bail!(
            "counts have grown over bench/counters.json (counted on Linux {kernel}):\n  {}\n\
             mend it, or commit new counts with `cargo xtask bench --counters --save`",
            grown.join("\n  ")
        )
    }
}

fn grown_counts(before: &FireCounts, now: &FireCounts) -> Vec<String> {
    let rows = [
        ("cpuid", before.cpuids, now.cpuids, 0),
        ("page faults", before.page_faults, now.page_faults, MAX_FAULT_GROWTH_PERCENT),
        ("system calls", before.system_calls, now.system_calls, MAX_GROWTH_PERCENT),
        ("instructions", before.instructions, now.instructions, MAX_GROWTH_PERCENT),
    ];
    let is_grown =
        |(_, before, now, percent): &(&str, u64, u64, u64)| now * 100 > before * (100 + percent);
    let describe = |(what, before, now, percent)| {
        format!("{what} {before} → {now}, at most {percent} % more are allowed")
    };
    rows.into_iter().filter(is_grown).map(describe).collect()
}

fn committed_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("counters.json")
}

#[cfg(test)]
mod tests {
    use super::{FireCounts, grown_counts};

    #[test]
    fn reports_only_counts_that_grew_too_much() {
        let before =
            FireCounts { cpuids: 0, page_faults: 50, system_calls: 100, instructions: 1_000 };
        assert_eq!(grown_counts(&before, &before), Vec::<String>::new());
        let within =
            FireCounts { page_faults: 60, system_calls: 110, instructions: 1_100, ..before };
        assert_eq!(grown_counts(&before, &within), Vec::<String>::new());
        let over =
            FireCounts { cpuids: 1, page_faults: 61, system_calls: 111, instructions: 1_101 };
        assert_eq!(grown_counts(&before, &over).len(), 4);
    }
}
