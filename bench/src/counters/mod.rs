//! `--counters`: counts what a cold `gambrel fire` does, and fails if a count has grown over the
//! committed one. `--function-order`: lists the functions that it calls, for the linker.

mod committed;
mod single_step;
mod symbols;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use self::committed::CommittedCounts;
use self::single_step::StepTrace;
use self::symbols::SymbolTable;
use crate::cold_case::ColdCase;
use crate::options::BenchOptions;
use crate::programs::Programs;

/// The number of runs of which the lowest count of page faults is taken. Another process may map
/// pages of the program at the same time.
const FAULT_RUN_COUNT: usize = 9;

/// The counts of one case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FireCounts {
    pub cpuids: u64,
    pub page_faults: u64,
    pub system_calls: u64,
    pub instructions: u64,
}

/// Counts every case, prints a table, and compares it with the committed counts.
pub fn run(options: &BenchOptions) -> anyhow::Result<()> {
    let gambrel = &options.gambrel;
    let folder = tempfile::tempdir()?;
    let programs = Programs::compile(folder.path())?;
    let mut counted = Vec::new();
    println!("| cold `fire` | cpuid | page faults | system calls | instructions |");
    println!("|---|---|---|---|---|");
    for case in ColdCase::build_all(folder.path(), &programs.hook)? {
        let counts = count_case(&case, gambrel)?;
        let FireCounts { cpuids, page_faults, system_calls, instructions } = counts;
        println!("| {} | {cpuids} | {page_faults} | {system_calls} | {instructions} |", case.name);
        counted.push((case.name.to_owned(), counts));
    }
    let counted = CommittedCounts::new(counted)?;
    match options.save_counters {
        true => counted.save(),
        false => counted.compare_with(&CommittedCounts::load()?),
    }
}

/// Writes the names of all functions that the cases call, in the order of their first calls.
pub fn write_function_order(options: &BenchOptions, file: &Path) -> anyhow::Result<()> {
    let gambrel = &options.gambrel;
    let folder = tempfile::tempdir()?;
    let programs = Programs::compile(folder.path())?;
    let symbols = SymbolTable::read(gambrel)?;
    let (mut known, mut order) = (BTreeSet::new(), String::new());
    for case in ColdCase::build_all(folder.path(), &programs.hook)? {
        let run = CaseRun::new(&case, gambrel)?;
        let trace = single_step::trace_steps(run.command()?)?;
        run.check(trace.code)?;
        for address in trace.addresses {
            let name = symbols.function_at(address);
            if known.insert(name.to_owned()) {
                order.push_str(name);
                order.push('\n');
            }
        }
    }
    fs::write(file, order).with_context(|| file.display().to_string())
}

/// Runs of one case with files as its streams.
struct CaseRun<'c> {
    case: &'c ColdCase,
    gambrel: &'c Path,
    input: PathBuf,
    output: PathBuf,
}

impl<'c> CaseRun<'c> {
    /// Writes the event. A first run creates the state folder.
    fn new(case: &'c ColdCase, gambrel: &'c Path) -> anyhow::Result<Self> {
        let (input, output) = (case.folder().join("event.json"), case.folder().join("reply"));
        fs::write(&input, &case.event)?;
        let run = Self { case, gambrel, input, output };
        run.count_page_faults()?;
        Ok(run)
    }

    fn command(&self) -> anyhow::Result<Command> {
        let mut command = self.case.fire_command(self.gambrel);
        command.stdin(File::open(&self.input)?).stdout(File::create(&self.output)?);
        Ok(command)
    }

    fn count_page_faults(&self) -> anyhow::Result<u64> {
        let (faults, code) = single_step::count_page_faults(self.command()?)?;
        self.check(code)?;
        Ok(faults)
    }

    fn check(&self, code: i32) -> anyhow::Result<()> {
        self.case.check_reply(code, &fs::read(&self.output)?)
    }
}

/// Counts what one fire does.
pub fn count_case(case: &ColdCase, gambrel: &Path) -> anyhow::Result<FireCounts> {
    let run = CaseRun::new(case, gambrel)?;
    let faults = (0..FAULT_RUN_COUNT).map(|_| run.count_page_faults());
    let page_faults = faults.collect::<anyhow::Result<Vec<u64>>>()?.into_iter().min();
    let trace = single_step::trace_steps(run.command()?)?;
    run.check(trace.code)?;
    report_cpuids(&trace, gambrel);
    Ok(FireCounts {
        cpuids: trace.cpuids.len() as u64,
        page_faults: page_faults.context("no run")?,
        system_calls: trace.system_calls,
        instructions: trace.instructions,
    })
}

/// Names the functions that ask the processor for its features.
fn report_cpuids(trace: &StepTrace, gambrel: &Path) {
    let Ok(symbols) = SymbolTable::read(gambrel) else { return };
    let names: BTreeSet<&str> =
        trace.cpuids.iter().map(|address| symbols.function_at(*address)).collect();
    for name in names {
        println!("| cpuid in `{name}` |");
    }
}
