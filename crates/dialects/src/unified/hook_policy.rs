//! Reads the policy of an action: blocking mode, timeout, retries, and the verdicts of failures.

use std::time::Duration;

use gambrel_document::DocumentFields;
use gambrel_model::{EventSpec, HookPolicy, Limits, MomentKind, Ruling, Verdict};

use super::action::ActionType;
use super::events::{is_neutral_gate, is_pipeline_point};

/// The default of `retry_delay`.
const DEFAULT_RETRY_DELAY: Duration = Duration::from_secs(5);
/// The default of `retry_delay` for requests. It grows with each attempt.
const WEBHOOK_RETRY_DELAY: Duration = Duration::from_secs(1);
/// Maximum number of retries.
pub const MAX_RETRY_COUNT: u64 = 100;
/// The words of `on_failure`.
pub const FAILURE_WORDS: [&str; 3] = ["continue", "abort", "retry"];
/// The words of `on_timeout` and `on_reject`.
pub const ANSWER_WORDS: [&str; 2] = ["abort", "continue"];

/// Reads the policy of one action.
pub fn read_policy(
    fields: &mut DocumentFields<'_>,
    kind: &ActionType,
    row: &EventSpec,
) -> HookPolicy {
    let waits = fields.read_flag("await").unwrap_or(kind.waits);
    let policy = read_on_failure(fields);
    let retries = read_retries(fields, kind, policy);
    let sends = kind.name == "webhook";
    let retry_delay = fields.read_seconds("retry_delay").unwrap_or(if sends {
        WEBHOOK_RETRY_DELAY
    } else {
        DEFAULT_RETRY_DELAY
    });

    let asks = sends && waits;
    // A neutral gate denies if its question cannot be sent.
    let holds = asks && is_neutral_gate(row) && policy != Some("continue");
    let failed = failure_verdict(holds || policy == Some("abort"), row);
    if policy == Some("abort") && !waits {
        let message = "nobody waits for this action, so its failure cannot abort anything";
        fields.add_warning("on_failure", message, "add `await: true`");
    }
    if asks && !holds {
        warn_unenforced_approval(fields, policy, row);
    }

    HookPolicy {
        on_reject: rejection_verdict(fields, kind, row, policy, &failed).unwrap_or_default().into(),
        limits: Limits {
            blocking: waits,
            timeout: read_timeout(fields, kind),
            retries,
            retry_delay,
            ..Limits::default()
        },
        on_timeout: timeout_verdict(fields, kind, row).unwrap_or_else(|| failed.clone()).into(),
        on_failure: failed.into(),
        ..HookPolicy::default()
    }
}

/// Reads `on_failure`.
fn read_on_failure(fields: &mut DocumentFields<'_>) -> Option<&'static str> {
    let before = fields.complaints.len();
    let word = fields.read_word("on_failure", &FAILURE_WORDS);
    for complaint in fields.complaints.iter_mut().skip(before) {
        let meanings = "`continue` goes on, `abort` stops the pipeline, `retry` tries again";
        complaint.help.get_or_insert_with(|| meanings.to_owned());
    }
    word
}

/// Warns of an approval whose run goes on if the question cannot be sent: by default, and after the
/// last attempt of `retry`. An explicit `continue` gets no warning.
fn warn_unenforced_approval(
    fields: &mut DocumentFields<'_>,
    policy: Option<&str>,
    row: &EventSpec,
) {
    let can_refuse = is_pipeline_point(row) || row.kind() != MomentKind::Report;
    let is_implicit = policy == Some("retry") || !fields.has_key("on_failure");
    if can_refuse && is_implicit {
        let message = "this approval does not hold: the run goes on if its message cannot be sent";
        let help = "write `on_failure: abort`: it counts after the last attempt to send";
        fields.add_warning("on_failure", message, help);
    }
}

/// The verdict of a failure. `abort` stops the pipeline. At a moment that agent-pipelines does not
/// have, it denies, and the session continues.
fn failure_verdict(aborts: bool, row: &EventSpec) -> Verdict {
    let ruling = match aborts {
        true if is_pipeline_point(row) => Ruling::Halt,
        true => Ruling::Deny,
        false => Ruling::Silent,
    };
    Verdict { ruling, ..Verdict::default() }
}

/// The verdict of a timeout. Only a webhook has `on_timeout`.
fn timeout_verdict(
    fields: &mut DocumentFields<'_>,
    kind: &ActionType,
    row: &EventSpec,
) -> Option<Verdict> {
    if !kind.optional_fields.contains(&"on_timeout") {
        return None;
    }
    let policy = fields.read_word("on_timeout", &ANSWER_WORDS).unwrap_or("abort");
    Some(failure_verdict(policy == "abort", row))
}

/// The verdict of a rejection: abort, unless `on_reject` or an explicit `on_failure` differs.
fn rejection_verdict(
    fields: &mut DocumentFields<'_>,
    kind: &ActionType,
    row: &EventSpec,
    policy: Option<&str>,
    on_failure: &Verdict,
) -> Option<Verdict> {
    if !kind.optional_fields.contains(&"on_reject") {
        return None;
    }
    Some(match (fields.read_word("on_reject", &ANSWER_WORDS), policy) {
        (Some(word), _) => failure_verdict(word == "abort", row),
        (None, Some(_)) => on_failure.clone(),
        (None, None) => failure_verdict(true, row),
    })
}

fn read_timeout(fields: &mut DocumentFields<'_>, kind: &ActionType) -> Duration {
    let written = fields.read_seconds("timeout");
    if written == Some(Duration::ZERO) {
        fields.add_error(
            "timeout",
            "`timeout: 0` leaves no time at all",
            "leave it out for the default",
        );
    }
    written.unwrap_or(kind.timeout)
}

/// Reads `retries`, the number of attempts after the first.
fn read_retries(fields: &mut DocumentFields<'_>, kind: &ActionType, policy: Option<&str>) -> u32 {
    let written = fields.read_count("retries");
    if written.is_some_and(|count| count > MAX_RETRY_COUNT) {
        let message = format!("`retries` is at most {MAX_RETRY_COUNT}");
        fields.add_error("retries", message, "fix the hook instead of retrying more often");
    }
    // Webhooks and spawns count `retries` with every `on_failure`.
    if policy != Some("retry") && kind.name == "shell" {
        if written.is_some() {
            let message = "`retries` counts only with `on_failure: retry`";
            fields.add_warning("retries", message, "add `on_failure: retry`, or leave it out");
        }
        return 0;
    }
    u32::try_from(written.unwrap_or(kind.retries).min(MAX_RETRY_COUNT)).unwrap_or(0)
}
