//! Goal 10: the cost of loading hooks is linear and little more than a bare parse of the same file.
//! Counted in instructions if valgrind is installed.

use std::path::Path;

use super::GoalContext;
use crate::child;
use crate::fixture::{Fixture, hook_group};
use crate::meter::{Candidate, Effort, in_process, interleave};
use crate::programs::is_installed;
use crate::report::Row;
use crate::{callgrind, floor};

const COUNTS: [usize; 3] = [10, 100, 1_000];

/// Measures JSON and YAML.
pub fn measure(context: &GoalContext<'_>) -> anyhow::Result<Vec<Row>> {
    let unit = if is_installed("valgrind") { "kinstr" } else { "µs CPU" };
    let json = ConfigLanguage { name: "JSON", bare: "parse-json", write: write_json, limit: 2.5 };
    let yaml = ConfigLanguage { name: "YAML", bare: "parse-yaml", write: write_yaml, limit: 2.0 };
    let mut rows = measure_language(context, unit, &json)?;
    rows.extend(measure_language(context, unit, &yaml)?);
    Ok(rows)
}

type WriteConfig = fn(&Path, usize) -> anyhow::Result<(Fixture, std::path::PathBuf)>;

/// A language of configuration files.
struct ConfigLanguage {
    name: &'static str,
    /// The work of a child process that only parses.
    bare: &'static str,
    write: WriteConfig,
    /// The goal: loading against parsing.
    limit: f64,
}

fn measure_language(
    context: &GoalContext<'_>,
    unit: &'static str,
    language: &ConfigLanguage,
) -> anyhow::Result<Vec<Row>> {
    let ConfigLanguage { name, bare, write, limit } = *language;
    let mut loads = Vec::new();
    let mut last = 0.0;
    for count in COUNTS {
        let (fixture, file) = write(&context.folder.join(format!("{name}{count}")), count)?;
        let folder = fixture.folder().display().to_string();
        loads.push(measure_cost(&["load", &folder, &count.to_string()])?);
        last = measure_cost(&[bare, &file.display().to_string()])?;
    }

    let slope =
        |from: usize| (loads[from + 1] - loads[from]) / (COUNTS[from + 1] - COUNTS[from]) as f64;
    let linear = format!("{name}: each hook more, at 100–1,000 / at 10–100");
    let versus = format!("{name}: load of 1,000 hooks / bare parse of that file");
    Ok(vec![
        Row::compare_counts("10", &linear, unit, slope(0), slope(1)).with_limit(1.1),
        Row::compare_counts("10", &versus, unit, last, loads[2])
            .with_limit(limit)
            .with_note(describe_loads(&loads)),
    ])
}

fn describe_loads(loads: &[f64]) -> String {
    let parts: Vec<String> =
        COUNTS.iter().zip(loads).map(|(count, load)| format!("{count}: {load:.0}")).collect();
    format!("load of {}; all five dialects searched", parts.join(", "))
}

/// The cost of one repetition, from two runs with different counts, so that the start of the
/// process is not included.
fn measure_cost(args: &[&str]) -> anyhow::Result<f64> {
    let program = std::env::current_exe()?;
    let run = |times: &'static str| [&[child::CHILD_ARG], args, &[times]].concat();
    if is_installed("valgrind") {
        let count = |times: &'static str| -> anyhow::Result<f64> {
            let counted = callgrind::count_instructions(&program, &run(times), &[], None)?;
            anyhow::ensure!(counted.is_complete, "{args:?} did not end well under valgrind");
            Ok(counted.count)
        };
        return Ok((count("3")? - count("1")?) / 2.0 / 1e3);
    }
    let candidate = |times: &'static str| -> anyhow::Result<Candidate<'static>> {
        let all = run(times);
        let argv = [&[program.to_str().unwrap_or_default()], all.as_slice()].concat();
        let bare = floor::BareProgram::new(&argv, &[])?;
        Ok(in_process(move || {
            let code = bare.run(b"")?.code;
            anyhow::ensure!(code == 0, "a load exited {code}");
            Ok(())
        }))
    };

    let mut both = [candidate("1")?, candidate("41")?];
    let measured = interleave(Effort { rounds: 9, fires: 3 }, &mut both)?;
    Ok((measured[1].median_cpu() - measured[0].median_cpu()) / 40.0)
}

fn write_json(folder: &Path, count: usize) -> anyhow::Result<(Fixture, std::path::PathBuf)> {
    let hooks: Vec<_> = (0..count)
        .map(|at| hook_group(&format!("Tool{at}"), &format!("/usr/local/bin/check-{at} --strict")))
        .collect();
    let fixture = Fixture::with_hooks(folder, &hooks)?;
    let file = fixture.settings_file();
    Ok((fixture, file))
}

fn write_yaml(folder: &Path, count: usize) -> anyhow::Result<(Fixture, std::path::PathBuf)> {
    let fixture = Fixture::in_folder(folder)?;
    let file = fixture.project().join(".iteratr.hooks.yml");
    let mut text = "version: 1\nhooks:\n  pre_iteration:\n".to_owned();
    for at in 0..count {
        text += &format!(
            "    - command: \"/usr/local/bin/check-{at} --strict\"\n      timeout: 30\n      pipe_output: true\n"
        );
    }
    std::fs::write(&file, text)?;
    Ok((fixture, file))
}
