//! `gambrel explain`: prints for each hook why it would run or not.

use std::path::PathBuf;

use anyhow::bail;
use gambrel::{Candidate, Selection, Setup};
use serde_json::{Value, json};

use crate::args::{FireArgs, UsageError};
use crate::{open, printer, stdin};

/// Reads the event and explains every hook. Runs no hook.
pub fn run(folder: Option<PathBuf>, args: &FireArgs) -> anyhow::Result<u8> {
    let setup = Setup { folder, ..Setup::from_env() };
    let gambrel = open::open_for_fire(setup, args, None)?;
    let bytes = stdin::read_event(None)?;
    let event = match gambrel.receive(&args.from, &bytes) {
        Ok(event) => event,
        Err(complaint) => bail!(UsageError(complaint.message)),
    };

    let loaded = gambrel.load_hooks(Some(&event));
    let (name, moment) = (event.parsed.name.clone(), event.parsed.moment.clone());
    let candidates = gambrel.explain(event, &loaded);

    if args.json {
        let hooks: Vec<Value> = candidates.iter().map(to_json).collect();
        let complaints = loaded.complaints.iter().map(gambrel_model::decision::complaint_json);
        printer::print_json(&json!({
            "moment": moment.name(), "event": name, "hooks": hooks,
            "complaints": complaints.collect::<Vec<_>>(),
        }));
        return Ok(0);
    }

    let summary = format!("{} from {} is {}", name, args.from, moment);
    printer::print(&format!("{}\n", printer::single_line(&summary)));
    for candidate in &candidates {
        printer::print(&format_candidate(candidate));
    }
    if candidates.is_empty() {
        printer::print("no hooks are configured here\n");
    }
    Ok(0)
}

fn explain_selection(candidate: &Candidate) -> (bool, String) {
    match &candidate.selection {
        Selection::Run if !candidate.remark.is_empty() => (true, candidate.remark.clone()),
        Selection::Run => {
            let matcher = candidate.hook.draft.matcher.to_text();
            let why = matcher.map_or("no matcher: runs for every such event".into(), |m| {
                format!("matcher `{m}` matches")
            });
            (true, why)
        }
        Selection::Skip(skip) => (false, skip.why.clone()),
        Selection::Replaced(by) => (false, format!("shadowed by {by}")),
    }
}

fn to_json(candidate: &Candidate) -> Value {
    let (runs, why) = explain_selection(candidate);
    let hook = &candidate.hook;
    json!({
        "hook": hook.id, "title": hook.title(), "dialect": hook.dialect.name,
        "event": hook.draft.event, "source": hook.draft.source.location(), "runs": runs, "why": why,
        "status": hook.draft.status,
    })
}

fn format_candidate(candidate: &Candidate) -> String {
    let (runs, why) = explain_selection(candidate);
    let mark = if runs { "run" } else { "skip" };
    let hook = &candidate.hook;
    format!(
        "{mark:<4}  {}  {}\n      {} · {}\n",
        hook.dialect.name,
        printer::truncate_line(&hook.title(), 60),
        printer::truncate_line(&why, 200),
        printer::single_line(&hook.draft.source.location()),
    )
}
