//! Measures the speed goals as ratios against a floor from the same run. A missed goal is reported,
//! but is no failure.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod callgrind;
mod child;
mod cold_case;
mod counters;
mod fixture;
mod floor;
mod goals;
mod meter;
mod options;
mod programs;
mod report;

use std::fs;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|word| word == child::CHILD_ARG) {
        return child::run(&args[1..]);
    }

    let options = options::BenchOptions::parse(&args)?;
    if options.counters {
        return counters::run(&options);
    }
    if let Some(file) = &options.function_order {
        return counters::write_function_order(&options, file);
    }
    let rows = goals::measure(&options)?;
    print!("{}", report::format_table(&rows));
    fs::write(&options.json, format!("{:#}\n", report::format_json(&rows, options.quick)))?;
    Ok(())
}
