//! Goal 10: loading hooks grows with their number and no faster, and costs little more than a
//! bare parse of the same file. Counted in instructions where valgrind is there.

use std::path::Path;

use super::Ground;
use crate::child;
use crate::meter::{Candidate, Effort, here, interleave};
use crate::programs::present;
use crate::report::Row;
use crate::scene::{Scene, hook};
use crate::{callgrind, floor};

const COUNTS: [usize; 3] = [10, 100, 1_000];

/// JSON, then YAML.
pub fn measure(ground: &Ground<'_>) -> anyhow::Result<Vec<Row>> {
    let unit = if present("valgrind") { "kinstr" } else { "µs CPU" };
    let mut rows = of_language(ground, unit, "JSON", "parse-json", json)?;
    rows.extend(of_language(ground, unit, "YAML", "parse-yaml", yaml)?);
    Ok(rows)
}

type Writes = fn(&Path, usize) -> anyhow::Result<(Scene, std::path::PathBuf)>;

fn of_language(
    ground: &Ground<'_>,
    unit: &'static str,
    name: &str,
    bare: &str,
    write: Writes,
) -> anyhow::Result<Vec<Row>> {
    let mut loads = Vec::new();
    let mut last = 0.0;
    for count in COUNTS {
        let (scene, file) = write(&ground.folder.join(format!("{name}{count}")), count)?;
        let folder = scene.folder().display().to_string();
        loads.push(cost(&["load", &folder, &count.to_string()])?);
        last = cost(&[bare, &file.display().to_string()])?;
    }
    let slope =
        |from: usize| (loads[from + 1] - loads[from]) / (COUNTS[from + 1] - COUNTS[from]) as f64;
    let linear = format!("{name}: each hook more, at 100–1,000 / at 10–100");
    let versus = format!("{name}: load of 1,000 hooks / bare parse of that file");
    Ok(vec![
        Row::counted("10", &linear, unit, slope(0), slope(1)).at_most(1.1),
        Row::counted("10", &versus, unit, last, loads[2]).at_most(1.5).noting(note(&loads)),
    ])
}

fn note(loads: &[f64]) -> String {
    let told: Vec<String> =
        COUNTS.iter().zip(loads).map(|(count, load)| format!("{count}: {load:.0}")).collect();
    format!("load of {}; all five dialects looked for", told.join(", "))
}

/// The difference that two more times make, so that the start of the process does not count.
fn cost(args: &[&str]) -> anyhow::Result<f64> {
    let program = std::env::current_exe()?;
    let run = |times: &'static str| [&[child::WORD], args, &[times]].concat();
    if present("valgrind") {
        let count = |times: &'static str| -> anyhow::Result<f64> {
            let counted = callgrind::instructions(&program, &run(times), &[], None)?;
            anyhow::ensure!(counted.whole, "{args:?} did not end well under valgrind");
            Ok(counted.count)
        };
        return Ok((count("3")? - count("1")?) / 2.0 / 1e3);
    }
    let candidate = |times: &'static str| -> anyhow::Result<Candidate<'static>> {
        let all = run(times);
        let argv = [&[program.to_str().unwrap_or_default()], all.as_slice()].concat();
        let bare = floor::Bare::new(&argv, &[])?;
        Ok(here(move || {
            let code = bare.run(b"")?.code;
            anyhow::ensure!(code == 0, "a load exited {code}");
            Ok(())
        }))
    };
    let mut both = [candidate("1")?, candidate("41")?];
    let measured = interleave(Effort { rounds: 9, fires: 3 }, &mut both)?;
    Ok((measured[1].typical() - measured[0].typical()) / 40.0)
}

fn json(folder: &Path, count: usize) -> anyhow::Result<(Scene, std::path::PathBuf)> {
    let hooks: Vec<_> = (0..count)
        .map(|at| hook(&format!("Tool{at}"), &format!("/usr/local/bin/check-{at} --strict")))
        .collect();
    let scene = Scene::with(folder, &hooks)?;
    let file = scene.settings();
    Ok((scene, file))
}

fn yaml(folder: &Path, count: usize) -> anyhow::Result<(Scene, std::path::PathBuf)> {
    let scene = Scene::at(folder)?;
    let file = scene.project().join(".iteratr.hooks.yml");
    let mut text = "version: 1\nhooks:\n  pre_iteration:\n".to_owned();
    for at in 0..count {
        text += &format!(
            "    - command: \"/usr/local/bin/check-{at} --strict\"\n      timeout: 30\n      pipe_output: true\n"
        );
    }
    std::fs::write(&file, text)?;
    Ok((scene, file))
}
