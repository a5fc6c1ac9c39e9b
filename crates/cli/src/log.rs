//! `gambrel log` and `gambrel show`: lists recorded firings, and prints one in full.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use gambrel::Gambrel;
use gambrel::model::ledger::{FiringQuery, FiringRecord, FiringState, RecordedFiring};
use gambrel::model::{JournalRecord, Ledger};
use serde_json::{Value, json};

use crate::args::{LogArgs, ShowArgs};
use crate::{open, printer};

/// How often `log --follow` reads the journal.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(300);

/// Prints the latest firings, newest last; with `-f` also new ones.
pub fn run(folder: Option<PathBuf>, args: &LogArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(open::build_setup(folder, None)?);
    let ledger = open_journal(&gambrel)?;
    let mut query = FiringQuery { session: args.session.clone(), limit: args.count, after: None };

    let mut last = 0;
    if let Some(recent) = ledger.recent_firings(&query)? {
        for firing in &recent.firings {
            if !printer::try_print(&format_line(firing, args.json)) {
                return Ok(0);
            }
        }
        // A long import runs in the background after the list is printed. Only `-f` waits for it.
        if !args.follow && gambrel.start_import().is_ok() {
            return Ok(0);
        }
        import_spool(ledger);
        let newest = recent.firings.last().map(|firing| ledger.firing(&firing.id));
        last = newest.transpose()?.flatten().map_or(0, |firing| firing.seq);
        query = FiringQuery { after: Some(last), limit: usize::MAX, ..query };
        if !args.follow {
            return Ok(0);
        }
    } else {
        import_spool(ledger);
    }
    loop {
        for firing in ledger.firings(&query)? {
            last = last.max(firing.seq);
            if !printer::try_print(&format_line(&firing, args.json)) {
                return Ok(0);
            }
        }
        if !args.follow {
            return Ok(0);
        }

        if printer::wait_for_reader_exit(FOLLOW_INTERVAL) {
            return Ok(0);
        }
        import_spool(ledger);
        query = FiringQuery { after: Some(last), limit: usize::MAX, ..query };
    }
}

/// Prints one firing in full.
pub fn show_firing(folder: Option<PathBuf>, args: &ShowArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(open::build_setup(folder, None)?);
    let ledger = open_journal(&gambrel)?;
    import_spool(ledger);

    let Some(firing) = ledger.firing(&args.id)? else {
        bail!("no firing `{}` in the journal: see `gambrel log`", args.id);
    };
    match args.json {
        true => printer::print_json(&to_json(&firing)),
        false => printer::print(&format_firing(&firing)),
    }
    Ok(0)
}

fn open_journal(gambrel: &Gambrel) -> anyhow::Result<&dyn Ledger> {
    let ledger = gambrel.durable_ledger().map(AsRef::as_ref);
    ledger.context("there is no state folder: set HOME or GAMBREL_STATE_DIR")
}

/// Imports the spool into the database. Failures are printed, and reading continues.
fn import_spool(ledger: &dyn Ledger) {
    match ledger.import_journal() {
        Ok(imported) => {
            for notice in &imported.notices {
                printer::warn(&format!("gambrel: {notice}"));
            }
            if imported.corrupt > 0 {
                printer::warn(&format!("gambrel: skipped {} broken records", imported.corrupt));
            }
        }
        Err(error) => printer::warn(&format!("gambrel: {error}")),
    }
}

fn to_json(firing: &FiringRecord) -> Value {
    RecordedFiring::new(firing).to_json()
}

fn format_line(firing: &FiringRecord, as_json: bool) -> String {
    if as_json {
        return format!("{}\n", to_json(firing));
    }
    let value = to_json(firing);
    let word = |key: &str| printer::single_line(value[key].as_str().unwrap_or("-"));
    let trail = value["trail"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ran = trail.iter().filter(|step| step["ran"] == true).count();

    let ruling = match firing.state {
        FiringState::Finished => word("ruling"),
        _ => word("state"),
    };

    let reason = value["reasons"][0]["text"].as_str().or_else(|| value["troubles"][0].as_str());
    let reason = reason.unwrap_or_default();
    format!(
        "{}  {:<11} {:<8} {:<18} {:<12} {ran} of {} ran  {}\n",
        firing.id,
        ruling,
        word("from"),
        printer::truncate_line(&word("event"), 18),
        printer::truncate_line(&firing.session, 12),
        trail.len(),
        printer::truncate_line(reason, 60),
    )
}

fn format_firing(firing: &FiringRecord) -> String {
    let value = to_json(firing);
    let word = |key: &str| printer::single_line(value[key].as_str().unwrap_or("-"));
    let mut text = format!(
        "firing {}  {}\n  event    {} from {} ({})\n  session  {}\n  ruling   {} (reply to the caller: {})\n",
        firing.id,
        word("state"),
        word("event"),
        word("from"),
        word("moment"),
        printer::single_line(&firing.session),
        word("ruling"),
        word("said"),
    );

    let list = |key: &str| value[key].as_array().cloned().unwrap_or_default();
    if value["trusts_all_by"].is_string() {
        text += &format!("  trust    every hook may run, by {}\n", word("trusts_all_by"));
    }

    for reason in list("reasons") {
        text += &format!(
            "  because  {}\n",
            printer::truncate_line(reason["text"].as_str().unwrap_or_default(), 200)
        );
    }

    for step in list("trail") {
        text += &format_step(&step);
    }

    for late in list("late") {
        let part = |key: &str| printer::single_line(late[key].as_str().unwrap_or_default());
        let (hook, end) = (part("hook"), part("outcome"));
        text += &format!("  late     {hook}  {end} after {} ms\n", late["ms"]);
    }

    for trouble in list("troubles") {
        text += &format!(
            "  trouble  {}\n",
            printer::truncate_line(trouble.as_str().unwrap_or_default(), 200)
        );
    }
    for loss in list("losses") {
        let part = |key: &str| printer::single_line(loss[key].as_str().unwrap_or_default());
        text += &format!("  lost     {}: {}\n", part("what"), part("why"));
    }
    text + &format_times(&firing.records)
}

fn format_step(step: &Value) -> String {
    let part = |key: &str| printer::truncate_line(step[key].as_str().unwrap_or_default(), 160);
    let code = step["code"].as_i64().map(|code| format!(" {code}")).unwrap_or_default();
    let head = format!(
        "  hook     {}  {}{code}  {} ms  {}\n           {}  {}\n",
        part("title"),
        part("outcome"),
        step["ms"],
        part("verdict"),
        part("source"),
        printer::truncate_line(step["why"].as_str().unwrap_or_default(), 600),
    );
    head + &format_output(step, "stdout") + &format_output(step, "stderr")
}

/// How many lines of an output are shown; `--json` prints all recorded lines.
const MAX_SHOWN_LINES: usize = 20;

/// The recorded stdout or stderr of a hook.
fn format_output(step: &Value, name: &str) -> String {
    let text = step[name].as_str().unwrap_or_default();
    let line = |line| format!("  {name:<8} {}\n", printer::truncate_line(line, 160));
    let shown: String = text.lines().take(MAX_SHOWN_LINES).map(line).collect();
    match text.lines().count().saturating_sub(MAX_SHOWN_LINES) {
        0 => shown,
        more => format!("{shown}  {name:<8} … {more} more lines: see `--json`\n"),
    }
}

fn format_times(records: &[JournalRecord]) -> String {
    let first = records.first().map_or(0, |record| record.at);
    let step = |record: &JournalRecord| {
        let word = json!(record.step);
        format!("{} +{} ms", word.as_str().unwrap_or_default(), record.at.saturating_sub(first))
    };
    format!("  journal  {}\n", records.iter().map(step).collect::<Vec<_>>().join(", "))
}
