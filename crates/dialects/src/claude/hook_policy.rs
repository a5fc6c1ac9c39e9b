//! Reads the policy of a handler: timeout, blocking mode, and the verdicts of failures.

use std::time::Duration;

use gambrel_document::DocumentFields;
use gambrel_model::{
    EventSpec, HookPolicy, Limits, Moment, MomentKind, Ruling, SearchRoots, Verdict,
};

use super::event_row::{ClaudeEvent, DEFAULT_TIMEOUT, ReplyForm, StdoutUse};

/// Maximum timeout at `SessionEnd`.
const MAX_SESSION_END_TIMEOUT: Duration = Duration::from_secs(60);
/// How often in a row hooks may refuse a stop.
const DEFAULT_STOP_CAP: u64 = 8;

/// Reads the policy of one handler.
pub fn read_policy(
    fields: &mut DocumentFields<'_>,
    event: &ClaudeEvent,
    kind: &str,
    roots: &SearchRoots,
) -> HookPolicy {
    let row = &event.spec;
    // Only commands can be detached.
    let detached = kind == "command"
        && [fields.read_flag("async"), fields.read_flag("asyncRewake")].contains(&Some(true));
    let on_failure = fields.read_word("onFailure", &["continue", "block"]);

    // The failure of a detached hook cannot refuse. Nor can a failure at a Close, where the session
    // would never end, or at a permission request, which ignores exit code 2. A failed worktree
    // hook always refuses.
    let refusable = row.kind() != MomentKind::Close && event.reply != ReplyForm::Request;
    let blocks = on_failure == Some("block") && !detached && refusable;
    let failed = match blocks || event.stdout == StdoutUse::WorktreePath {
        true => Verdict { ruling: Ruling::Deny, ..Verdict::default() },
        false => Verdict::default(),
    };

    let written = read_timeout(fields);
    HookPolicy {
        limits: Limits {
            blocking: !detached,
            timeout: match detached {
                true => written.unwrap_or(type_timeout(kind)),
                false => blocking_timeout(written, row, kind, roots),
            },
            // The event's default timeout applies to the hook, not to its background processes.
            leftover_timeout: written.is_none().then_some(type_timeout(kind)),
            ..Limits::default()
        },
        on_timeout: failed.clone().into(),
        on_failure: failed.into(),
        max_refusals_in_row: refusal_cap(row, roots),
        ..HookPolicy::default()
    }
}

/// The default timeout of a handler type.
fn type_timeout(kind: &str) -> Duration {
    match kind {
        "prompt" => Duration::from_secs(30),
        "agent" => Duration::from_secs(60),
        _ => DEFAULT_TIMEOUT,
    }
}

fn read_timeout(fields: &mut DocumentFields<'_>) -> Option<Duration> {
    fields.read_seconds("timeout").filter(|written| {
        let some = !written.is_zero();
        if !some {
            let help = "leave it out for the default";
            fields.add_error("timeout", "`timeout` should be more than 0", help);
        }
        some
    })
}

/// The timeout of a blocking hook.
fn blocking_timeout(
    written: Option<Duration>,
    row: &EventSpec,
    kind: &str,
    roots: &SearchRoots,
) -> Duration {
    let host_timeout = row.host_timeout.unwrap_or(DEFAULT_TIMEOUT);
    let ends_session = row.moment == Moment::SessionEnd;
    match written {
        Some(written) if ends_session => written.min(MAX_SESSION_END_TIMEOUT),
        Some(written) => written,
        None if ends_session => {
            let named = roots.env_var("CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS");
            let named = named.and_then(|text| text.trim().parse().ok()).filter(|ms| *ms > 0);
            named.map_or(host_timeout, Duration::from_millis)
        }
        None => host_timeout.min(type_timeout(kind)),
    }
}

fn refusal_cap(row: &EventSpec, roots: &SearchRoots) -> Option<u64> {
    let stops = matches!(row.moment, Moment::IterationEnd | Moment::SubagentStop);
    let named = || roots.env_var("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP")?.trim().parse().ok();
    stops.then(|| named().unwrap_or(DEFAULT_STOP_CAP))
}
