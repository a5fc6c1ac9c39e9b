//! `gambrel fire`: reads one event, runs its hooks, prints one reply. A failure of gambrel itself
//! never exits 2.

mod console;
mod deadline;
mod unparsable;

use std::io;
use std::path::PathBuf;

use gambrel::{FireResult, Gambrel, ReceivedEvent, Setup, StateDirError};
use gambrel_model::{Complaint, EventSpec, Hook, ParsedEvent, Powers, Reply, Severity};
use serde_json::{Value, json};

use self::deadline::HostTimer;
use self::unparsable::UnparsableEvent;
use crate::args::{FireArgs, USAGE_EXIT_CODE};
use crate::printer::with_stdout_redirected;
use crate::printer::{self, diagnostic};
use crate::{open, stdin};

/// Reads the event, fires it and prints the reply.
pub fn run(folder: Option<PathBuf>, args: &FireArgs) -> anyhow::Result<u8> {
    let timer = HostTimer::start(args);
    let setup = Setup { folder: folder.clone(), ..Setup::from_env() };
    let host_timeout = timer.and_then(|timer| timer.set_to_entry(&setup));
    let gambrel = match open::open_for_fire(setup, args, host_timeout) {
        Err(error) if args.hosted && error.is::<StateDirError>() => {
            return refuse_state_dir(folder, args, &error.to_string());
        }
        opened => opened?,
    };

    let mut bytes = match stdin::read_event(gambrel.setup().options.budget) {
        Ok(bytes) => bytes,
        Err(error) => return Ok(answer_unreadable(&gambrel, args, b"", &read_failure(&error))),
    };

    let code = match gambrel.receive_buffer(&args.from, &mut bytes) {
        Ok(event) => match gambrel.setup().check_state_dir(&event) {
            Err(why) => {
                let line = event.context.raw_line.as_deref().unwrap_or(&bytes);
                print_refusal(&gambrel, args, line, &why.to_string())
            }
            Ok(()) => fire_event(gambrel, args, event),
        },
        Err(complaint) => answer_unreadable(&gambrel, args, &bytes, &complaint),
    };

    stdin::drain_tail();
    Ok(code)
}

fn fire_event(gambrel: Gambrel, args: &FireArgs, event: ReceivedEvent) -> u8 {
    let spec = event.parsed.spec;
    let loaded = gambrel.load_hooks(Some(&event));
    // Only modules run code of others inside this process.
    let runs_module = loaded.hooks.iter().any(|hook| is_module_for(hook, &event.parsed));
    let fire = || gambrel.fire_with_hooks(event, &loaded);
    let result = if runs_module { with_stdout_redirected(fire) } else { fire() };
    let code = print_result(&gambrel, args, spec, &result);

    // Other actions may end processes and listeners when they are dropped. These have nothing but
    // memory, and the process ends now.
    let is_memory =
        loaded.hooks.iter().all(|hook| matches!(hook.draft.action.as_str(), "shell" | "rule"));
    std::mem::forget((result, loaded));
    if is_memory {
        std::mem::forget(gambrel);
    }
    code
}

/// Whether a hook is a module that receives events of this kind.
fn is_module_for(hook: &Hook, event: &ParsedEvent) -> bool {
    let receives = || hook.spec_for(event.dialect.name, event.spec.name, &event.moment).is_some();
    hook.draft.action == "module" && receives()
}

/// Prints the reply and the warnings, and marks the messages of the reply as delivered.
fn print_result(gambrel: &Gambrel, args: &FireArgs, spec: &EventSpec, result: &FireResult) -> u8 {
    let FireResult { decision, reply, .. } = result;
    let printed = match args.json {
        true => printer::write_json_reply(&to_json(result)),
        false => printer::write_reply(&reply.stdout),
    };

    printer::print_stderr(&printer::replace_controls(&reply.stderr));
    if args.verbose {
        console::print_console(decision);
    }

    print_warnings(gambrel, decision, spec, reply);
    if let Err(error) = printed {
        // The messages of an unwritten reply stay undelivered, and the exit code reports the
        // failure.
        warn_unwritten(&error);
        if let Err(error) = gambrel.release_claims(decision) {
            printer::warn(&format!("gambrel: {error}"));
        }
        return 1;
    }
    mark_delivered(gambrel, decision);
    match args.json {
        true => 0,
        false => u8::try_from(reply.exit).unwrap_or(1),
    }
}

fn warn_unwritten(error: &io::Error) {
    printer::warn(&format!("gambrel: the reply could not be written: {error}"));
}

/// The decision, and the reply that the caller would receive.
fn to_json(FireResult { decision, reply, .. }: &FireResult) -> Value {
    let mut json = decision.to_json();
    let stdout = String::from_utf8_lossy(&reply.stdout);
    json["reply"] = json!({"stdout": stdout, "stderr": reply.stderr, "exit": reply.exit});
    json
}

/// Denies a tool gate of an agent: without a state folder no trust is known.
fn refuse_state_dir(folder: Option<PathBuf>, args: &FireArgs, why: &str) -> anyhow::Result<u8> {
    let event_name = args.event.clone();
    let setup = Setup { folder, event_name, in_memory: true, ..Setup::from_env() };
    let gambrel = Gambrel::new(setup);
    let bytes = stdin::read_event(None).unwrap_or_default();
    Ok(print_refusal(&gambrel, args, &bytes, why))
}

/// Prints a deny in the caller's format at a tool gate of an agent; otherwise exits 64.
fn print_refusal(gambrel: &Gambrel, args: &FireArgs, bytes: &[u8], why: &str) -> u8 {
    let reply = UnparsableEvent::from_bytes(gambrel, &args.from, bytes)
        .deny_reply(&format!("gambrel: {why}"));
    match reply.filter(|_| args.hosted && !args.json) {
        Some(reply) if printer::write_reply(&reply.stdout).is_ok() => {
            printer::print_stderr(&printer::replace_controls(&reply.stderr));
            u8::try_from(reply.exit).unwrap_or(1)
        }
        _ => {
            printer::warn(&format!("gambrel: {why}"));
            USAGE_EXIT_CODE
        }
    }
}

fn read_failure(error: &anyhow::Error) -> Complaint {
    Complaint::error(gambrel_model::SourceSpan::default(), format!("{error:#}"))
}

/// Prints warnings on stderr. Gate failures that the reply already shows, once per session, are not
/// repeated.
fn print_warnings(
    gambrel: &Gambrel,
    decision: &gambrel::Decision,
    spec: &EventSpec,
    reply: &Reply,
) {
    let shows = spec.caller_powers.contains(Powers::MESSAGE_USER);
    let fresh = decision.session_flags.iter().any(|mark| mark.starts_with("told:"));
    let is_shown = !reply.stderr.is_empty() || (shows && !fresh);
    for why in decision.merged.gate_failures.iter().filter(|_| !is_shown).take(5) {
        printer::warn(&format!("gambrel: {}", printer::truncate_line(why, 200)));
    }

    if gambrel.durable_ledger().is_none() {
        printer::warn("gambrel: nothing is remembered: set HOME or GAMBREL_STATE_DIR");
    }

    for warning in &decision.warnings {
        printer::warn(&format!("gambrel: {warning}"));
    }
    print_errors(&decision.complaints);
}

fn mark_delivered(gambrel: &Gambrel, decision: &gambrel::Decision) {
    if let Err(error) = gambrel.mark_delivered(decision) {
        printer::warn(&format!("gambrel: {error}"));
    }
}

/// Prints one line per error. `gambrel check` shows all details.
fn print_errors(complaints: &[Complaint]) {
    let errors: Vec<&Complaint> =
        complaints.iter().filter(|c| c.severity == Severity::Error).collect();
    for complaint in errors.iter().take(5) {
        printer::warn(&format!("gambrel: {}", diagnostic::short_line(complaint)));
    }

    if errors.len() > 5 {
        printer::warn(&format!("gambrel: {} more: run `gambrel check`", errors.len() - 5));
    }
}

/// Denies at a tool gate. Any other event of an agent passes: exit code 64 would only make the
/// agent show an error that the user cannot act on.
fn answer_unreadable(
    gambrel: &Gambrel,
    args: &FireArgs,
    bytes: &[u8],
    complaint: &Complaint,
) -> u8 {
    let unparsable = UnparsableEvent::from_bytes(gambrel, &args.from, bytes);
    let why = format!("gambrel could not read this event: {}", complaint.message);
    if args.json {
        return print_unreadable(&unparsable, complaint, &why);
    }

    match unparsable.deny_reply(&why) {
        Some(reply) if printer::write_reply(&reply.stdout).is_ok() => {
            printer::print_stderr(&printer::replace_controls(&reply.stderr));
            u8::try_from(reply.exit).unwrap_or(1)
        }
        None if args.hosted => {
            if let Err(error) = unparsable.record_passed(gambrel, &args.from, &complaint.message) {
                printer::warn(&format!("gambrel fire: {}: {error:#}", complaint.message));
            }
            0
        }
        _ => {
            printer::warn(&format!("gambrel fire: {}", complaint.message));
            if let Some(help) = &complaint.help {
                printer::warn(&format!("  help: {help}"));
            }
            USAGE_EXIT_CODE
        }
    }
}

fn print_unreadable(unparsable: &UnparsableEvent, complaint: &Complaint, why: &str) -> u8 {
    let refused = unparsable.is_refused();
    let reason = json!({"hook": "gambrel", "text": why});
    let reasons: Vec<_> = refused.then_some(reason).into_iter().collect();
    let printed = printer::write_json_reply(&json!({
        "id": null, "moment": unparsable.moment(), "ruling": if refused { "deny" } else { "silent" },
        "reasons": reasons, "context": [], "notices": [], "patch": null, "trail": [],
        "complaints": [gambrel_model::decision::complaint_json(complaint)],
    }));
    if let Err(error) = &printed {
        warn_unwritten(error);
    }
    u8::from(printed.is_err())
}
