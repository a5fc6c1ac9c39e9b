//! `gambrel log` and `gambrel show`: the journal of firings, and one in full.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use gambrel::Gambrel;
use gambrel::ledger::{Firing, FiringState, LocalLedger, Query};
use gambrel::model::{FiringPhase, JournalRecord};
use serde_json::{Value, json};

use crate::args::{LogArgs, ShowArgs};
use crate::{look, printer};

/// How often a followed journal is looked at.
const FOLLOW: Duration = Duration::from_millis(300);

/// The latest firings, newest last; with `-f`, what comes after them too.
pub fn run(folder: Option<PathBuf>, args: &LogArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(look::setup(folder, None)?);
    let ledger = journal(&gambrel)?;
    let mut query = Query { session: args.session.clone(), limit: args.count, after: None };
    let mut last = 0;
    if let Some(recent) = ledger.recent(&query)? {
        for firing in &recent.firings {
            if !printer::try_out(&line(firing, args.json)) {
                return Ok(0);
            }
        }
        // A long import comes after the page; nobody waits for it but who follows.
        if !args.follow && gambrel.start_import().is_ok() {
            return Ok(0);
        }
        take_in(ledger);
        let newest = recent.firings.last().map(|firing| ledger.firing(&firing.id));
        last = newest.transpose()?.flatten().map_or(0, |firing| firing.seq);
        query = Query { after: Some(last), limit: usize::MAX, ..query };
        if !args.follow {
            return Ok(0);
        }
    } else {
        take_in(ledger);
    }
    loop {
        for firing in ledger.firings(&query)? {
            last = last.max(firing.seq);
            if !printer::try_out(&line(&firing, args.json)) {
                return Ok(0);
            }
        }
        if !args.follow {
            return Ok(0);
        }
        if printer::reader_left(FOLLOW) {
            return Ok(0);
        }
        take_in(ledger);
        query = Query { after: Some(last), limit: usize::MAX, ..query };
    }
}

/// One firing in full.
pub fn show(folder: Option<PathBuf>, args: &ShowArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(look::setup(folder, None)?);
    let ledger = journal(&gambrel)?;
    take_in(ledger);
    let Some(firing) = ledger.firing(&args.id)? else {
        bail!("no firing `{}` in the journal: see `gambrel log`", args.id);
    };
    match args.json {
        true => printer::json(&to_json(&firing)),
        false => printer::out(&in_full(&firing)),
    }
    Ok(0)
}

fn journal(gambrel: &Gambrel) -> anyhow::Result<&LocalLedger> {
    gambrel.local_ledger().context("there is no state folder: set HOME or GAMBREL_STATE_DIR")
}

/// What the spool holds goes into the database; what is wrong with that is told, and reading
/// goes on without it.
fn take_in(ledger: &LocalLedger) {
    match ledger.take_in() {
        Ok(taken) => {
            for notice in &taken.notices {
                printer::warn(&format!("gambrel: {notice}"));
            }
            if taken.corrupt > 0 {
                printer::warn(&format!(
                    "gambrel: {} broken records were passed over",
                    taken.corrupt
                ));
            }
        }
        Err(error) => printer::warn(&format!("gambrel: {error}")),
    }
}

fn body(firing: &Firing, stage: FiringPhase) -> Option<&Value> {
    firing.records.iter().find(|record| record.step == stage).map(|record| &record.body)
}

fn state(firing: &Firing) -> &'static str {
    match firing.state {
        FiringState::Running => "running",
        FiringState::Finished => "finished",
        FiringState::Interrupted => "interrupted",
    }
}

fn to_json(firing: &Firing) -> Value {
    let accepted = body(firing, FiringPhase::Accepted).cloned().unwrap_or_default();
    let finished = body(firing, FiringPhase::Finished).cloned().unwrap_or_default();
    let late = firing.records.iter().filter(|record| record.step == FiringPhase::Late);
    // What a detached hook said and nobody could keep is trouble of its firing.
    let lost = late.clone().filter_map(|record| record.body["troubles"].as_array()).flatten();
    let mut troubles = finished["troubles"].clone();
    for trouble in lost {
        match troubles.as_array_mut() {
            Some(known) => known.push(trouble.clone()),
            None => troubles = json!([trouble]),
        }
    }
    json!({
        "id": firing.id, "at": firing.at, "session": firing.session, "state": state(firing),
        "from": accepted["from"], "hosted": accepted["hosted"], "event": accepted["event"], "moment": accepted["moment"],
        "tool": accepted["tool"], "cwd": accepted["cwd"], "trusts_all_by": accepted["trusts_all_by"],
        "ruling": finished["ruling"], "said": finished["said"], "reasons": finished["reasons"],
        "says": finished["says"], "trail": finished["trail"], "losses": finished["losses"],
        "troubles": troubles,
        "late": late.map(|record| record.body.clone()).collect::<Vec<_>>(),
    })
}

fn line(firing: &Firing, as_json: bool) -> String {
    if as_json {
        return format!("{}\n", to_json(firing));
    }
    let value = to_json(firing);
    let word = |key: &str| printer::flat(value[key].as_str().unwrap_or("-"));
    let trail = value["trail"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ran = trail.iter().filter(|step| step["ran"] == true).count();
    let ruling = match firing.state {
        FiringState::Finished => word("ruling"),
        _ => state(firing).to_owned(),
    };
    let reason = value["reasons"][0]["text"].as_str().or_else(|| value["troubles"][0].as_str());
    let reason = reason.unwrap_or_default();
    format!(
        "{}  {:<11} {:<8} {:<18} {:<12} {ran} of {} ran  {}\n",
        firing.id,
        ruling,
        word("from"),
        printer::line(&word("event"), 18),
        printer::line(&firing.session, 12),
        trail.len(),
        printer::line(reason, 60),
    )
}

fn in_full(firing: &Firing) -> String {
    let value = to_json(firing);
    let word = |key: &str| printer::flat(value[key].as_str().unwrap_or("-"));
    let mut text = format!(
        "firing {}  {}\n  event    {} from {} ({})\n  session  {}\n  ruling   {} (the caller was told {})\n",
        firing.id,
        state(firing),
        word("event"),
        word("from"),
        word("moment"),
        printer::flat(&firing.session),
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
            printer::line(reason["text"].as_str().unwrap_or_default(), 200)
        );
    }
    for step in list("trail") {
        text += &one_step(&step);
    }
    for late in list("late") {
        let part = |key: &str| printer::flat(late[key].as_str().unwrap_or_default());
        let (hook, end) = (part("hook"), part("outcome"));
        text += &format!("  late     {hook}  {end} after {} ms\n", late["ms"]);
    }
    for trouble in list("troubles") {
        text +=
            &format!("  trouble  {}\n", printer::line(trouble.as_str().unwrap_or_default(), 200));
    }
    for loss in list("losses") {
        let part = |key: &str| printer::flat(loss[key].as_str().unwrap_or_default());
        text += &format!("  lost     {}: {}\n", part("what"), part("why"));
    }
    text + &times(&firing.records)
}

fn one_step(step: &Value) -> String {
    let part = |key: &str| printer::line(step[key].as_str().unwrap_or_default(), 160);
    let code = step["code"].as_i64().map(|code| format!(" {code}")).unwrap_or_default();
    let head = format!(
        "  hook     {}  {}{code}  {} ms  {}\n           {}  {}\n",
        part("title"),
        part("outcome"),
        step["ms"],
        part("verdict"),
        part("source"),
        printer::line(step["why"].as_str().unwrap_or_default(), 600),
    );
    head + &stream(step, "stdout") + &stream(step, "stderr")
}

/// The lines of an output that are shown at most; `--json` has all that the journal keeps.
const MAX_SHOWN_LINES: usize = 20;

/// What a hook wrote to one of its outputs.
fn stream(step: &Value, name: &str) -> String {
    let text = step[name].as_str().unwrap_or_default();
    let line = |line| format!("  {name:<8} {}\n", printer::line(line, 160));
    let shown: String = text.lines().take(MAX_SHOWN_LINES).map(line).collect();
    match text.lines().count().saturating_sub(MAX_SHOWN_LINES) {
        0 => shown,
        more => format!("{shown}  {name:<8} … {more} more lines: see `--json`\n"),
    }
}

fn times(records: &[JournalRecord]) -> String {
    let first = records.first().map_or(0, |record| record.at);
    let step = |record: &JournalRecord| {
        let word = json!(record.step);
        format!("{} +{} ms", word.as_str().unwrap_or_default(), record.at.saturating_sub(first))
    };
    format!("  journal  {}\n", records.iter().map(step).collect::<Vec<_>>().join(", "))
}
