//! What an author promised about waiting and failing, as values.

use std::time::Duration;

use gambrel_model::{EventSpec, HookPolicy, MomentKind, Ruling, Severity, Verdict};

use super::action::Type;
use super::events::{is_neutral_gate, is_own};
use crate::document::Fields;

/// Default of `retry_delay`.
const PAUSE: Duration = Duration::from_secs(5);
/// Before a request is sent again for the first time; longer each time.
const RESEND: Duration = Duration::from_secs(1);
/// More attempts than this are a mistake.
const RETRIES: u64 = 100;

/// The terms of one action.
pub fn terms(fields: &mut Fields<'_>, kind: &Type, row: &EventSpec) -> HookPolicy {
    let waits = fields.flag("await").unwrap_or(kind.waits);
    let policy = policy(fields);
    let retries = retries(fields, kind, policy);
    let sends = kind.word == "webhook";
    let pause = fields.seconds("retry_delay").unwrap_or(if sends { RESEND } else { PAUSE });
    let asks = sends && waits;
    // The question was not asked, so the gate denies.
    let holds = asks && is_neutral_gate(row) && policy != Some("continue");
    let failed = failed(holds || policy == Some("abort"), row);
    if policy == Some("abort") && !waits {
        let message = "nobody waits for this action, so its failure cannot abort anything";
        doubt(fields, "on_failure", message, "add `await: true`");
    }
    if asks && !holds {
        doubt_approval(fields, policy, row);
    }
    HookPolicy {
        blocking: waits,
        on_reject: rejected(fields, kind, row, policy, &failed).unwrap_or_default(),
        timeout: timeout(fields, kind),
        retries,
        retry_delay: pause,
        on_timeout: late(fields, kind, row).unwrap_or_else(|| failed.clone()),
        on_failure: failed,
        ..HookPolicy::default()
    }
}

/// What the author wrote under `on_failure`, if it is one of its words.
fn policy(fields: &mut Fields<'_>) -> Option<&'static str> {
    let before = fields.complaints.len();
    let word = fields.word("on_failure", &["continue", "abort", "retry"]);
    for complaint in fields.complaints.iter_mut().skip(before) {
        let meanings = "`continue` goes on, `abort` stops the pipeline, `retry` tries again";
        complaint.help.get_or_insert_with(|| meanings.to_owned());
    }
    word
}

/// Outside our own gates the run goes on when a question cannot be sent: by default, and after the
/// last attempt of `retry`. A written `continue` is taken as meant.
fn doubt_approval(fields: &mut Fields<'_>, policy: Option<&str>, row: &EventSpec) {
    let can_refuse = is_own(row) || row.kind() != MomentKind::Report;
    let unmeant = policy == Some("retry") || !fields.has("on_failure");
    if can_refuse && unmeant {
        let message = "this approval does not hold: the run goes on if its message cannot be sent";
        let help = "write `on_failure: abort`: it counts after the last attempt to send";
        doubt(fields, "on_failure", message, help);
    }
}

/// `abort` stops the pipeline. At a moment that agent-pipelines does not have it denies, and the
/// session continues.
fn failed(aborts: bool, row: &EventSpec) -> Verdict {
    let ruling = match aborts {
        true if is_own(row) => Ruling::Halt,
        true => Ruling::Deny,
        false => Ruling::Silent,
    };
    Verdict { ruling, ..Verdict::default() }
}

/// Only a webhook tells lateness from failure.
fn late(fields: &mut Fields<'_>, kind: &Type, row: &EventSpec) -> Option<Verdict> {
    if !kind.takes.contains(&"on_timeout") {
        return None;
    }
    let policy = fields.word("on_timeout", &["abort", "continue"]).unwrap_or("abort");
    Some(failed(policy == "abort", row))
}

/// A rejection aborts, unless `on_reject` or a written `on_failure` says something else.
fn rejected(
    fields: &mut Fields<'_>,
    kind: &Type,
    row: &EventSpec,
    policy: Option<&str>,
    on_failure: &Verdict,
) -> Option<Verdict> {
    if !kind.takes.contains(&"on_reject") {
        return None;
    }
    Some(match (fields.word("on_reject", &["abort", "continue"]), policy) {
        (Some(word), _) => failed(word == "abort", row),
        (None, Some(_)) => on_failure.clone(),
        (None, None) => failed(true, row),
    })
}

fn timeout(fields: &mut Fields<'_>, kind: &Type) -> Duration {
    let written = fields.seconds("timeout");
    if written == Some(Duration::ZERO) {
        fields.complain(
            "timeout",
            "`timeout: 0` leaves no time at all",
            "leave it out for the default",
        );
    }
    written.unwrap_or(kind.timeout)
}

/// 1 + `retries` attempts, and only when it is to be tried again.
fn retries(fields: &mut Fields<'_>, kind: &Type, policy: Option<&str>) -> u32 {
    let written = fields.count("retries");
    if written.is_some_and(|count| count > RETRIES) {
        let message = format!("`retries` is at most {RETRIES}");
        fields.complain("retries", message, "a hook that fails so often needs another remedy");
    }
    // Webhooks and spawns count `retries` with every `on_failure`.
    if policy != Some("retry") && kind.word == "shell" {
        if written.is_some() && kind.word == "shell" {
            let message = "`retries` counts only with `on_failure: retry`";
            doubt(fields, "retries", message, "add `on_failure: retry`, or leave it out");
        }
        return 0;
    }
    u32::try_from(written.unwrap_or(kind.retries).min(RETRIES)).unwrap_or(0)
}

fn doubt(fields: &mut Fields<'_>, key: &str, message: &str, help: &str) {
    fields.complain(key, message, help);
    if let Some(complaint) = fields.complaints.last_mut() {
        complaint.severity = Severity::Warning;
    }
}
