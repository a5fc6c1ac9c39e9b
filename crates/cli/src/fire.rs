//! `gambrel fire`: the product's most-used line. One event in, one reply out; never exits 2 by our
//! own fault.

use std::path::PathBuf;

use gambrel::model::{Complaint, Severity};
use gambrel::{Fired, Gambrel};
use serde_json::json;

use crate::args::{FireArgs, USAGE};
use crate::{look, printer, snippet};

/// Reads the event, fires, prints.
pub fn run(folder: Option<PathBuf>, args: &FireArgs) -> anyhow::Result<u8> {
    let gambrel = match look::firing(folder, args) {
        Ok(gambrel) => gambrel,
        Err(error) => {
            printer::warn(&format!("gambrel fire: {error:#}"));
            return Ok(USAGE);
        }
    };
    let bytes = look::stdin()?;
    let mut event = match gambrel.receive(&args.from, &bytes) {
        Ok(event) => event,
        Err(complaint) => return Ok(unreadable(args, &complaint)),
    };
    let Fired { decision, reply } = gambrel.fire(&mut event);
    let printed = match args.json {
        true => printer::raw(format!("{}\n", decision.to_json()).as_bytes()),
        false => printer::raw(&reply.stdout),
    };
    printer::err(&printer::clean(&reply.stderr));
    for trouble in &decision.troubles {
        printer::warn(&format!("gambrel: {trouble}"));
    }
    complain(&decision.complaints);
    // A reply that did not arrive has paid no debt.
    if printed.is_ok() {
        settle(&gambrel, &decision);
    }
    Ok(match args.json {
        true => 0,
        false => u8::try_from(reply.exit).unwrap_or(1),
    })
}

fn settle(gambrel: &Gambrel, decision: &gambrel::Decision) {
    if let Err(error) = gambrel.settle(decision) {
        printer::warn(&format!("gambrel: {error}"));
    }
}

/// One line each: the whole picture is `gambrel check`.
fn complain(complaints: &[Complaint]) {
    let errors: Vec<&Complaint> =
        complaints.iter().filter(|c| c.severity == Severity::Error).collect();
    for complaint in errors.iter().take(5) {
        printer::warn(&format!("gambrel: {}", snippet::short(complaint)));
    }
    if errors.len() > 5 {
        printer::warn(&format!("gambrel: {} more: run `gambrel check`", errors.len() - 5));
    }
}

fn unreadable(args: &FireArgs, complaint: &Complaint) -> u8 {
    printer::warn(&format!("gambrel fire: {}", complaint.message));
    if let Some(help) = &complaint.help {
        printer::warn(&format!("  help: {help}"));
    }
    if !args.json {
        return USAGE;
    }
    let complaint = gambrel::model::decision::complaint_json(complaint);
    printer::json(&json!({
        "id": null, "moment": null, "ruling": if args.strict { "deny" } else { "silent" },
        "reasons": [], "context": [], "notices": [], "patch": null, "trail": [],
        "complaints": [complaint],
    }));
    0
}
