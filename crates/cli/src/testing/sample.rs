//! `gambrel sample`: prints a sample event of an agent, for `fire`, `explain` and hook cases; or what
//! events there are.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use gambrel::DIALECTS;
use gambrel_dialects::sample_event;
use gambrel_model::complaint::nearest_name;
use gambrel_model::{Dialect, EventSpec};
use serde_json::json;

use crate::args::UsageError;
use crate::{open, printer};

/// Arguments of `sample`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gambrel sample                              list the dialects
  gambrel sample claude                       list the events of Claude Code
  gambrel sample claude PreToolUse            print one event
  gambrel sample omp tool_call | gambrel fire --from omp --json")]
pub struct SampleArgs {
    /// Print an event of this dialect: claude, omp, teams, iteratr, unified, gambrel or run.
    pub dialect: Option<String>,
    /// Print a sample of this event; without it, list all events.
    pub event: Option<String>,
    /// Print compact JSON on one line.
    #[arg(long)]
    pub json: bool,
}

/// Prints a sample event, the names of all events, or those of all dialects.
pub fn run(folder: Option<PathBuf>, args: &SampleArgs) -> anyhow::Result<u8> {
    let Some(dialect) = &args.dialect else {
        print_dialects(args.json);
        return Ok(0);
    };
    let dialect = find_dialect(dialect)?;
    let Some(name) = &args.event else {
        print_events(dialect, args.json);
        return Ok(0);
    };
    let setup = open::build_setup(folder, None)?;
    let sample = sample_event(dialect, find_event(dialect, name)?, &open::project_folder(&setup));
    match args.json {
        true => printer::print_json(&sample),
        false => printer::print(&format!("{sample:#}\n")),
    }
    Ok(0)
}

/// The dialect of this name.
pub fn find_dialect(name: &str) -> anyhow::Result<&'static Dialect> {
    let names: Vec<&str> = DIALECTS.iter().map(|dialect| dialect.name).collect();
    match DIALECTS.iter().find(|dialect| dialect.name == name) {
        Some(dialect) => Ok(dialect),
        None => {
            bail!(UsageError(format!("no dialect `{name}`: there are {}", names.join(", "))))
        }
    }
}

/// The row of an event, by its own name or by that of its moment.
pub fn find_event(dialect: &'static Dialect, name: &str) -> anyhow::Result<&'static EventSpec> {
    let mut rows = named_events(dialect);
    let found = rows.find(|row| row.name == name);
    if let Some(row) = found.or_else(|| named_events(dialect).find(|r| r.moment.name() == name)) {
        return Ok(row);
    }
    let dialect_name = dialect.name;
    let help = match nearest_name(name, named_events(dialect).map(|row| row.name)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("see `gambrel sample {dialect_name}`"),
    };
    bail!(UsageError(format!("{dialect_name} has no event `{name}`: {help}")))
}

fn named_events(dialect: &'static Dialect) -> impl Iterator<Item = &'static EventSpec> {
    dialect.events().iter().filter(|row| !row.name.is_empty())
}

fn print_dialects(as_json: bool) {
    if as_json {
        let entry =
            |dialect: &&Dialect| json!({"dialect": dialect.name, "product": dialect.product()});
        return printer::print_json(&DIALECTS.iter().map(entry).collect());
    }
    let row = |dialect: &&Dialect| {
        let events = format!("gambrel sample {}", dialect.name);
        vec![dialect.name.to_owned(), dialect.product().to_owned(), events]
    };
    let rows: Vec<Vec<String>> = DIALECTS.iter().map(row).collect();
    printer::print(&printer::format_table(&["DIALECT", "PRODUCT", "EVENTS"], &rows));
}

fn print_events(dialect: &'static Dialect, as_json: bool) {
    if as_json {
        let list = named_events(dialect)
            .map(|row| json!({"event": row.name, "moment": row.moment.name()}))
            .collect();
        return printer::print_json(&list);
    }
    let rows: Vec<Vec<String>> = named_events(dialect)
        .map(|row| vec![row.name.to_owned(), row.moment.name().to_owned()])
        .collect();
    printer::print(&printer::format_table(&["EVENT", "MOMENT"], &rows));
}
