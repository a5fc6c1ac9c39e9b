//! `gambrel fire`: the product's most-used line. One event in, one reply out; never exits 2 by our
//! own fault.

mod salvage;

use std::path::PathBuf;

use gambrel::model::{Complaint, Severity};
use gambrel::{Fired, Gambrel};
use serde_json::json;

use crate::args::{FireArgs, USAGE};
use crate::printer::apart;
use crate::{look, printer, snippet, stdin};

/// Reads the event, fires, prints.
pub fn run(folder: Option<PathBuf>, args: &FireArgs) -> anyhow::Result<u8> {
    let gambrel = look::firing(folder, args)?;
    let bytes = match stdin::event(gambrel.setup().options.budget) {
        Ok(bytes) => bytes,
        Err(error) => return Ok(unreadable(&gambrel, args, b"", &lost(&error))),
    };
    let mut event = match gambrel.receive(&args.from, &bytes) {
        Ok(event) => event,
        Err(complaint) => return Ok(unreadable(&gambrel, args, &bytes, &complaint)),
    };
    let Fired { decision, reply } = apart(|| gambrel.fire(&mut event));
    let printed = match args.json {
        true => printer::raw(format!("{}\n", decision.to_json()).as_bytes()),
        false => printer::raw(&reply.stdout),
    };
    printer::err(&printer::clean(&reply.stderr));
    tell(&gambrel, &decision);
    if let Err(error) = printed {
        // A reply that did not arrive has paid no debt, and must not pass for silence.
        printer::warn(&format!("gambrel: the reply could not be written: {error}"));
        return Ok(1);
    }
    settle(&gambrel, &decision);
    Ok(match args.json {
        true => 0,
        false => u8::try_from(reply.exit).unwrap_or(1),
    })
}

fn lost(error: &anyhow::Error) -> Complaint {
    Complaint::error(gambrel::model::Spot::default(), format!("{error:#}"))
}

/// What a person should know beside the reply: hooks that could not be asked, what the world
/// refused, and mistakes in the configuration.
fn tell(gambrel: &Gambrel, decision: &gambrel::Decision) {
    for why in decision.meant.unheard.iter().take(5) {
        printer::warn(&format!("gambrel: not asked: {}", printer::line(why, 200)));
    }
    if gambrel.local_ledger().is_none() {
        printer::warn("gambrel: nothing is remembered: set HOME or GAMBREL_STATE_DIR");
    }
    for trouble in &decision.troubles {
        printer::warn(&format!("gambrel: {trouble}"));
    }
    complain(&decision.complaints);
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

fn unreadable(gambrel: &Gambrel, args: &FireArgs, bytes: &[u8], complaint: &Complaint) -> u8 {
    printer::warn(&format!("gambrel fire: {}", complaint.message));
    if let Some(help) = &complaint.help {
        printer::warn(&format!("  help: {help}"));
    }
    let strict = gambrel.setup().options.strict;
    if args.json {
        let reason = json!({"hook": "gambrel", "text": format!("strict: {}", complaint.message)});
        let reasons: Vec<_> = strict.then_some(reason).into_iter().collect();
        let complaint = gambrel::model::decision::complaint_json(complaint);
        printer::json(&json!({
            "id": null, "moment": null, "ruling": if strict { "deny" } else { "silent" },
            "reasons": reasons, "context": [], "notices": [], "patch": null, "trail": [],
            "complaints": [complaint],
        }));
        return 0;
    }
    let refusal = strict.then(|| salvage::refusal(gambrel, &args.from, bytes, &complaint.message));
    match refusal.flatten() {
        Some(reply) if printer::raw(&reply.stdout).is_ok() => {
            printer::err(&printer::clean(&reply.stderr));
            u8::try_from(reply.exit).unwrap_or(1)
        }
        _ => USAGE,
    }
}
