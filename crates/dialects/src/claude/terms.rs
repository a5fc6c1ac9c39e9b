//! What a handler promises about waiting and failing, settled when it is read.

use std::time::Duration;

use gambrel_model::{EventSpec, HookPolicy, Moment, MomentKind, Ruling, SearchRoots, Verdict};

use super::events::{Voice, makes_worktree, voice};
use crate::document::Fields;

/// A hook gets this long unless it, its type or its event says otherwise.
const TIMEOUT: Duration = Duration::from_secs(600);
/// At the end of a session nobody may ask for more.
const SESSION_END_MOST: Duration = Duration::from_secs(60);
/// How often in a row a stop may be refused.
const STOP_CAP: u64 = 8;

/// How long the product waits at an event.
pub fn patience(row: &EventSpec) -> Duration {
    match &row.moment {
        Moment::IterationStart => Duration::from_secs(30),
        Moment::SessionEnd => Duration::from_millis(1_500),
        Moment::Other(name) if name == "message_display" => Duration::from_secs(10),
        _ => TIMEOUT,
    }
}

/// The terms of one handler.
pub fn terms(
    fields: &mut Fields<'_>,
    row: &EventSpec,
    kind: &str,
    roots: &SearchRoots,
) -> HookPolicy {
    // Only a command may be left alone: the other types have no such fields.
    let detached = kind == "command"
        && [fields.flag("async"), fields.flag("asyncRewake")].contains(&Some(true));
    let on_failure = fields.word("onFailure", &["continue", "block"]);
    // A hook that nobody waits for refuses nothing; where things end, failing must not go on
    // for ever; a request knows no exit 2 that it could count as. A worktree that could not be made is not there.
    let refusable = row.kind() != MomentKind::Close && voice(row) != Voice::Request;
    let blocks = on_failure == Some("block") && !detached && refusable;
    let failed = match blocks || makes_worktree(row) {
        true => Verdict { ruling: Ruling::Deny, ..Verdict::default() },
        false => Verdict::default(),
    };
    let written = written(fields);
    HookPolicy {
        blocking: !detached,
        timeout: match detached {
            true => written.unwrap_or(of_kind(kind)),
            false => timeout(written, row, kind, roots),
        },
        // An event's own time is how long the product waits for the hook itself.
        leftover_timeout: written.is_none().then_some(of_kind(kind)),
        on_timeout: failed.clone(),
        on_failure: failed,
        max_refusals_in_row: cap(row, roots),
        ..HookPolicy::default()
    }
}

/// How long a handler of a type may take.
fn of_kind(kind: &str) -> Duration {
    match kind {
        "prompt" => Duration::from_secs(30),
        "agent" => Duration::from_secs(60),
        _ => TIMEOUT,
    }
}

fn written(fields: &mut Fields<'_>) -> Option<Duration> {
    fields.seconds("timeout").filter(|written| {
        let some = !written.is_zero();
        if !some {
            let help = "leave it out for the default";
            fields.complain("timeout", "`timeout` should be more than 0", help);
        }
        some
    })
}

/// Of a hook that is waited for.
fn timeout(
    written: Option<Duration>,
    row: &EventSpec,
    kind: &str,
    roots: &SearchRoots,
) -> Duration {
    let ends_session = row.moment == Moment::SessionEnd;
    match written {
        Some(written) if ends_session => written.min(SESSION_END_MOST),
        Some(written) => written,
        None if ends_session => {
            let named = roots.env_var("CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS");
            let named = named.and_then(|text| text.trim().parse().ok()).filter(|ms| *ms > 0);
            named.map_or_else(|| patience(row), Duration::from_millis)
        }
        None => patience(row).min(of_kind(kind)),
    }
}

fn cap(row: &EventSpec, roots: &SearchRoots) -> Option<u64> {
    let stops = matches!(row.moment, Moment::IterationEnd | Moment::SubagentStop);
    let named = || roots.env_var("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP")?.trim().parse().ok();
    stops.then(|| named().unwrap_or(STOP_CAP))
}
