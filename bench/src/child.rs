//! Work that the benchmark does in child processes: firing with a given resident memory, and
//! repeated loading of configuration for instruction counts.

use std::fs;
use std::hint::black_box;
use std::io::{BufRead, Write};

use anyhow::{Context, bail, ensure};
use gambrel::Ruling;

use crate::fixture::{Fixture, fire_and_check};
use crate::goals::modules;
use crate::meter;

/// The first argument of a child process.
pub const CHILD_ARG: &str = "--child";

/// Runs the work that the next argument names.
pub fn run(args: &[String]) -> anyhow::Result<()> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["resident", folder, megabytes] => fire_resident(folder, megabytes.parse()?),
        ["module", path, count, loads] => {
            print_module_figures(path, count.parse()?, loads.parse()?)
        }
        ["load", folder, hooks, times] => load_repeatedly(folder, hooks.parse()?, times.parse()?),
        ["parse-json", file, times] => parse_repeatedly(file, times.parse()?, |text| {
            black_box(serde_json::from_str::<serde_json::Value>(text)?);
            Ok(())
        }),
        ["parse-yaml", file, times] => parse_repeatedly(file, times.parse()?, |text| {
            for event in granit_parser::Parser::new_from_str(text) {
                black_box(event?);
            }
            Ok(())
        }),
        _ => bail!("no such work: {args:?}"),
    }
}

/// Reads counts from stdin, one per line. Fires that often and prints CPU and wall time.
fn fire_resident(folder: &str, megabytes: usize) -> anyhow::Result<()> {
    // Every page is written, so that it is resident.
    let memory = black_box(vec![1_u8; megabytes << 20]);
    let fixture = Fixture::in_folder(folder)?;
    let gambrel = fixture.engine_with_journal();
    let loaded = gambrel.load_hooks(None);
    let event = fixture.tool_event("Write", "resident", 1_000);

    let mut candidate =
        meter::in_process(|| fire_and_check(&gambrel, &loaded, &event, Ruling::Deny).map(drop));
    for line in std::io::stdin().lock().lines() {
        let round = candidate(line?.trim().parse()?)?;
        let (cpu, wall) = (round.cpu.as_secs_f64() * 1e6, round.wall.as_secs_f64() * 1e6);
        let mut out = std::io::stdout().lock();
        writeln!(out, "{cpu:.3} {wall:.3}")?;
        out.flush()?;
    }
    ensure!(black_box(&memory).len() == megabytes << 20, "the memory is gone");
    Ok(())
}

/// Prints the figures of a module on one line.
fn print_module_figures(path: &str, count: usize, loads: usize) -> anyhow::Result<()> {
    let figures =
        modules::measure_module(path.as_ref(), count, loads)?.map(|figure| figure.to_string());
    writeln!(std::io::stdout(), "{}", figures.join(" "))?;
    Ok(())
}

fn load_repeatedly(folder: &str, hooks: usize, times: usize) -> anyhow::Result<()> {
    let gambrel = Fixture::in_folder(folder)?.engine_with_journal();
    for _ in 0..times {
        let loaded = black_box(gambrel.load_hooks(None));
        ensure!(loaded.hooks.len() == hooks, "{} hooks loaded", loaded.hooks.len());
    }
    Ok(())
}

fn parse_repeatedly(
    file: &str,
    times: usize,
    parse: impl Fn(&str) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for _ in 0..times {
        let text = fs::read_to_string(file).with_context(|| file.to_owned())?;
        parse(black_box(&text))?;
    }
    Ok(())
}
