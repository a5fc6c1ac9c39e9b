//! `gambrel explain`: for every hook, in words, why it would or would not run.

use std::path::PathBuf;

use anyhow::bail;
use gambrel::{Candidate, Selection};
use serde_json::{Value, json};

use crate::args::{FireArgs, Usage};
use crate::{look, printer, stdin};

/// Reads the event and explains; runs nothing.
pub fn run(folder: Option<PathBuf>, args: &FireArgs) -> anyhow::Result<u8> {
    let gambrel = look::firing(folder, args, None)?;
    let bytes = stdin::event(None)?;
    let mut event = match gambrel.receive(&args.from, &bytes) {
        Ok(event) => event,
        Err(complaint) => bail!(Usage(complaint.message)),
    };
    let loaded = gambrel.load_hooks(Some(&event));
    let candidates = gambrel.explain(&mut event, &loaded);
    if args.json {
        let hooks: Vec<Value> = candidates.iter().map(to_json).collect();
        let complaints = loaded.complaints.iter().map(gambrel::model::decision::complaint_json);
        printer::json(&json!({
            "moment": event.moment.name(), "event": event.name, "hooks": hooks,
            "complaints": complaints.collect::<Vec<_>>(),
        }));
        return Ok(0);
    }
    let heard = format!("{} from {} is {}", event.name, args.from, event.moment);
    printer::out(&format!("{}\n", printer::flat(&heard)));
    for candidate in &candidates {
        printer::out(&spoken(candidate));
    }
    if candidates.is_empty() {
        printer::out("no hooks are configured here\n");
    }
    Ok(0)
}

fn why(candidate: &Candidate) -> (bool, String) {
    match &candidate.selection {
        Selection::Run if !candidate.remark.is_empty() => (true, candidate.remark.clone()),
        Selection::Run => {
            let matcher = candidate.hook.draft.matcher.words();
            let why = matcher
                .map_or("it is for every such event".into(), |m| format!("matcher `{m}` is met"));
            (true, why)
        }
        Selection::Skip(skip) => (false, skip.why.clone()),
        Selection::Replaced(by) => (false, format!("shadowed by {by}")),
    }
}

fn to_json(candidate: &Candidate) -> Value {
    let (runs, why) = why(candidate);
    let hook = &candidate.hook;
    json!({
        "hook": hook.id, "title": hook.title(), "dialect": hook.dialect.name(),
        "event": hook.draft.event, "source": hook.draft.source.location(), "runs": runs, "why": why,
        "status": hook.draft.status,
    })
}

fn spoken(candidate: &Candidate) -> String {
    let (runs, why) = why(candidate);
    let mark = if runs { "runs   " } else { "does not" };
    let hook = &candidate.hook;
    format!(
        "{mark}  {}  {}\n          {} · {}\n",
        hook.dialect.name(),
        printer::line(&hook.title(), 60),
        printer::line(&why, 200),
        printer::flat(&hook.draft.source.location()),
    )
}
