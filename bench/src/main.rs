//! Measures the goals of speed as ratios, each against a floor that the same run measures. Never
//! a test: a figure that is missed is told, not failed.

#![expect(clippy::print_stdout, reason = "a benchmark tells its figures")]

mod asked;
mod callgrind;
mod child;
mod floor;
mod goals;
mod meter;
mod programs;
mod report;
mod scene;

use std::fs;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|word| word == child::WORD) {
        return child::run(&args[1..]);
    }
    let asked = asked::Asked::read(&args)?;
    let rows = goals::measure(&asked)?;
    print!("{}", report::table(&rows));
    fs::write(&asked.json, format!("{:#}\n", report::json(&rows, asked.quick)))?;
    Ok(())
}
