//! `gambrel fire`: the product's most-used line. One event in, one reply out; never exits 2 by our
//! own fault.

mod console;
mod deadline;
mod salvage;

use std::path::PathBuf;

use gambrel::model::{Complaint, Event, Powers, Reply, Severity};
use gambrel::{FireResult, Gambrel, Setup};
use serde_json::json;

use self::salvage::Salvaged;
use crate::args::{FireArgs, USAGE};
use crate::look::StateDirRefused;
use crate::printer::apart;
use crate::{look, printer, snippet, stdin};

/// Reads the event, fires, prints.
pub fn run(folder: Option<PathBuf>, args: &FireArgs) -> anyhow::Result<u8> {
    let host_timeout = deadline::arm(folder.as_deref(), args);
    let gambrel = match look::firing(folder.clone(), args, host_timeout) {
        Err(error) if args.hosted && error.is::<StateDirRefused>() => {
            return refuse_state_dir(folder, args, &error.to_string());
        }
        opened => opened?,
    };
    let bytes = match stdin::event(gambrel.setup().options.budget) {
        Ok(bytes) => bytes,
        Err(error) => return Ok(answer_unreadable(&gambrel, args, b"", &lost(&error))),
    };
    let code = match gambrel.receive(&args.from, &bytes) {
        Ok(mut event) => match gambrel.setup().state_dir_refusal(&event) {
            Some(why) => print_refusal(&gambrel, args, &bytes, &why),
            None => fire(&gambrel, args, &mut event),
        },
        Err(complaint) => answer_unreadable(&gambrel, args, &bytes, &complaint),
    };
    stdin::drain_tail();
    Ok(code)
}

fn fire(gambrel: &Gambrel, args: &FireArgs, event: &mut Event) -> u8 {
    let FireResult { decision, reply } = apart(|| gambrel.fire(event));
    let printed = match args.json {
        true => printer::raw(format!("{}\n", decision.to_json()).as_bytes()),
        false => printer::raw(&reply.stdout),
    };
    printer::err(&printer::clean(&reply.stderr));
    if args.verbose {
        console::print(&decision);
    }
    tell(gambrel, &decision, event, &reply);
    if let Err(error) = printed {
        // A reply that did not arrive has paid no debt, and must not pass for silence.
        printer::warn(&format!("gambrel: the reply could not be written: {error}"));
        if let Err(error) = gambrel.release_claims(&decision) {
            printer::warn(&format!("gambrel: {error}"));
        }
        return 1;
    }
    settle(gambrel, &decision);
    match args.json {
        true => 0,
        false => u8::try_from(reply.exit).unwrap_or(1),
    }
}

/// Without a state folder nobody knows what was trusted: a host's tool gate is refused.
fn refuse_state_dir(folder: Option<PathBuf>, args: &FireArgs, why: &str) -> anyhow::Result<u8> {
    let event_name = args.event.clone();
    let setup = Setup { folder, event_name, in_memory: true, ..Setup::from_env() };
    let gambrel = Gambrel::new(setup);
    let bytes = stdin::event(None).unwrap_or_default();
    Ok(print_refusal(&gambrel, args, &bytes, why))
}

/// The refusal in the caller's words at a host's tool gate; else exit code 64.
fn print_refusal(gambrel: &Gambrel, args: &FireArgs, bytes: &[u8], why: &str) -> u8 {
    let reply =
        Salvaged::from_bytes(gambrel, &args.from, bytes).refusal(&format!("gambrel: {why}"));
    match reply.filter(|_| args.hosted && !args.json) {
        Some(reply) if printer::raw(&reply.stdout).is_ok() => {
            printer::err(&printer::clean(&reply.stderr));
            u8::try_from(reply.exit).unwrap_or(1)
        }
        _ => {
            printer::warn(&format!("gambrel: {why}"));
            USAGE
        }
    }
}

fn lost(error: &anyhow::Error) -> Complaint {
    Complaint::error(gambrel::model::SourceSpan::default(), format!("{error:#}"))
}

/// What a person should know beside the reply. Hooks that could not be asked are told by the reply
/// itself where the caller shows one, once per session; then stderr repeats nothing.
fn tell(gambrel: &Gambrel, decision: &gambrel::Decision, event: &Event, reply: &Reply) {
    let shows = event.spec.caller_powers.contains(Powers::MESSAGE_USER);
    let fresh = decision.session_flags.iter().any(|mark| mark.starts_with("told:"));
    let is_told = !reply.stderr.is_empty() || (shows && !fresh);
    for why in decision.merged.gate_failures.iter().filter(|_| !is_told).take(5) {
        printer::warn(&format!("gambrel: {}", printer::line(why, 200)));
    }
    if gambrel.local_ledger().is_none() {
        printer::warn("gambrel: nothing is remembered: set HOME or GAMBREL_STATE_DIR");
    }
    for trouble in &decision.warnings {
        printer::warn(&format!("gambrel: {trouble}"));
    }
    complain(&decision.complaints);
}

fn settle(gambrel: &Gambrel, decision: &gambrel::Decision) {
    if let Err(error) = gambrel.mark_delivered(decision) {
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

/// A tool gate is refused. Another event of a live host passes: exit code 64 would only make the
/// host show an error that nobody can act on.
fn answer_unreadable(
    gambrel: &Gambrel,
    args: &FireArgs,
    bytes: &[u8],
    complaint: &Complaint,
) -> u8 {
    let salvaged = Salvaged::from_bytes(gambrel, &args.from, bytes);
    let why = format!("gambrel could not read this event: {}", complaint.message);
    if args.json {
        return print_unreadable(&salvaged, complaint, &why);
    }
    match salvaged.refusal(&why) {
        Some(reply) if printer::raw(&reply.stdout).is_ok() => {
            printer::err(&printer::clean(&reply.stderr));
            u8::try_from(reply.exit).unwrap_or(1)
        }
        None if args.hosted => {
            if let Err(error) = salvaged.remember(gambrel, &args.from, &complaint.message) {
                printer::warn(&format!("gambrel fire: {}: {error:#}", complaint.message));
            }
            0
        }
        _ => {
            printer::warn(&format!("gambrel fire: {}", complaint.message));
            if let Some(help) = &complaint.help {
                printer::warn(&format!("  help: {help}"));
            }
            USAGE
        }
    }
}

fn print_unreadable(salvaged: &Salvaged, complaint: &Complaint, why: &str) -> u8 {
    let refused = salvaged.is_refused();
    let reason = json!({"hook": "gambrel", "text": why});
    let reasons: Vec<_> = refused.then_some(reason).into_iter().collect();
    printer::json(&json!({
        "id": null, "moment": salvaged.moment(), "ruling": if refused { "deny" } else { "silent" },
        "reasons": reasons, "context": [], "notices": [], "patch": null, "trail": [],
        "complaints": [gambrel::model::decision::complaint_json(complaint)],
    }));
    0
}
