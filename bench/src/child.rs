//! What the benchmark does in processes of its own: fire with so much memory resident, and load
//! configuration so often that instructions can be counted.

use std::fs;
use std::hint::black_box;
use std::io::{BufRead, Write};

use anyhow::{Context, bail, ensure};
use gambrel::Ruling;

use crate::goals::modules;
use crate::meter;
use crate::scene::{Scene, fire};

/// The first argument of such a process.
pub const WORD: &str = "--child";

/// By the word that follows.
pub fn run(args: &[String]) -> anyhow::Result<()> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["resident", folder, megabytes] => resident(folder, megabytes.parse()?),
        ["module", path, count, loads] => module(path, count.parse()?, loads.parse()?),
        ["load", folder, hooks, times] => load(folder, hooks.parse()?, times.parse()?),
        ["parse-json", file, times] => parse(file, times.parse()?, |text| {
            black_box(serde_json::from_str::<serde_json::Value>(text)?);
            Ok(())
        }),
        ["parse-yaml", file, times] => parse(file, times.parse()?, |text| {
            for event in granit_parser::Parser::new_from_str(text) {
                black_box(event?);
            }
            Ok(())
        }),
        _ => bail!("no such work: {args:?}"),
    }
}

/// Fires as often as stdin says, a number a line.
fn resident(folder: &str, megabytes: usize) -> anyhow::Result<()> {
    // Written to, page by page, so that it is really there.
    let memory = black_box(vec![1_u8; megabytes << 20]);
    let scene = Scene::at(folder)?;
    let gambrel = scene.journalled();
    let loaded = gambrel.load_hooks(None);
    let event = scene.event("Write", "resident", 1_000);
    let mut candidate = meter::here(|| fire(&gambrel, &loaded, &event, Ruling::Deny).map(drop));
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

/// Tells the figures of a module in one line.
fn module(path: &str, count: usize, loads: usize) -> anyhow::Result<()> {
    let figures = modules::alone(path.as_ref(), count, loads)?.map(|figure| figure.to_string());
    writeln!(std::io::stdout(), "{}", figures.join(" "))?;
    Ok(())
}

fn load(folder: &str, hooks: usize, times: usize) -> anyhow::Result<()> {
    let gambrel = Scene::at(folder)?.journalled();
    for _ in 0..times {
        let loaded = black_box(gambrel.load_hooks(None));
        ensure!(loaded.hooks.len() == hooks, "{} hooks loaded", loaded.hooks.len());
    }
    Ok(())
}

fn parse(
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
