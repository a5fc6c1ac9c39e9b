//! Reads the exit code of a script, and builds the log file of pi-teams.

use gambrel_model::text::truncate_chars;
use gambrel_model::{
    Captured, End, Event, Hook, Outcome, QualityGateResult, SideEffect, Verdict, iso_time,
};
use serde_json::{Value, json};

use super::HOOK_CONTRACT_VERSION;
use super::payload::{event_timestamp, team_of, version_warning};

/// Maximum length of each stream in the result, in characters.
const MAX_STREAM_CHARS: usize = 12_000;

/// Reads an outcome. Exit code 0 passes; for everything else, the hook's policy has the verdict.
pub fn read_outcome(event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
    let mut verdict = match &outcome.end {
        End::Exited(0) => Verdict::default(),
        End::TimedOut => hook.draft.policy.on_timeout.with_reason(&failure_text(hook, outcome)),
        _ => hook.draft.policy.on_failure.with_reason(&failure_text(hook, outcome)),
    };
    verdict.side_effects.push(log_file(event, hook, outcome));
    if hook.draft.event != "idle" {
        verdict.side_effects.push(SideEffect::QualityGate(gate_result(hook, outcome)));
    }
    verdict
}

/// The result for the owner of the task board, who applies the policy.
fn gate_result(hook: &Hook, outcome: &Outcome) -> QualityGateResult {
    let policy = serde_json::from_value(hook.draft.config["policy"].clone());
    QualityGateResult {
        hook: format!("on_{}", hook.draft.event),
        policy: policy.unwrap_or_default(),
        failure: (outcome.end != End::Exited(0)).then(|| failure_summary(outcome)),
        elapsed_ms: elapsed_ms(outcome),
        command: display_command(&outcome.command).into_iter().map(str::to_owned).collect(),
        stdout: limit_stream(&outcome.stdout),
        stderr: limit_stream(&outcome.stderr),
    }
}

fn elapsed_ms(outcome: &Outcome) -> u64 {
    u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX)
}

fn failure_text(hook: &Hook, outcome: &Outcome) -> String {
    format!("Hook on_{} failed: {}", hook.draft.event, failure_summary(outcome))
}

/// Error, timeout or exit code, and the first line of stderr, joined by bullets
/// (`contracts/teams/CONTRACT.md#failure-summary`).
pub fn failure_summary(outcome: &Outcome) -> String {
    let mut parts = Vec::new();
    match &outcome.end {
        End::FailedToStart(why) => parts.push(why.clone()),
        End::TimedOut => parts.push(match &outcome.cut_short_by {
            Some(why) => format!("cut short: {why}"),
            None => format!("timeout after {}ms", outcome.elapsed.as_millis()),
        }),
        End::Exited(code) if *code != 0 => parts.push(format!("exit code {code}")),
        _ => {}
    }
    let stderr = outcome.stderr.to_text();
    if let Some(line) = stderr.lines().map(str::trim).find(|line| !line.is_empty()) {
        let long = line.chars().count() > 180;
        parts.push(if long { truncate_chars(line, 179, "…") } else { line.to_owned() });
    }
    if parts.is_empty() { "hook failed".into() } else { parts.join(" • ") }
}

/// The `result` object of the log, which is also the reply to a teams caller.
pub fn result_json(path: &str, outcome: &Outcome) -> Value {
    let exit_code = match outcome.end {
        End::Exited(code) => Some(code),
        _ => None,
    };
    let mut result = json!({
        "ran": true,
        "hookPath": path,
        "command": display_command(&outcome.command),
        "exitCode": exit_code,
        "timedOut": outcome.end == End::TimedOut,
        "durationMs": elapsed_ms(outcome),
        "stdout": limit_stream(&outcome.stdout),
        "stderr": limit_stream(&outcome.stderr),
    });
    if let End::FailedToStart(why) = &outcome.end {
        result["error"] = json!(why);
    }
    result["contractVersion"] = json!(HOOK_CONTRACT_VERSION);
    result
}

/// The command with the interpreter's name instead of its path: `node`.
fn display_command(command: &[String]) -> Vec<&str> {
    let word = |path: &'_ String| -> usize { path.rfind('/').map_or(0, |at| at + 1) };
    match command {
        [program, script] => vec![&program[word(program)..], script],
        other => other.iter().map(String::as_str).collect(),
    }
}

fn limit_stream(captured: &Captured) -> String {
    let text = String::from_utf8_lossy(&captured.bytes);
    if text.chars().count() <= MAX_STREAM_CHARS && !captured.is_truncated() {
        return text.into_owned();
    }
    let kept = truncate_chars(&text, MAX_STREAM_CHARS, "");
    let omitted = captured.total.saturating_sub(kept.len() as u64);
    format!("{kept}\n… (truncated, {omitted} bytes omitted)")
}

/// The hook log: one file per invocation, written only if a hook ran.
fn log_file(event: &Event, hook: &Hook, outcome: &Outcome) -> SideEffect {
    let team = team_of(event);
    let own_name = &hook.draft.event;
    let task = match own_name.as_str() {
        "idle" => Value::Null,
        _ => super::payload::build_context(event, own_name)["task"].clone(),
    };
    let path = hook.draft.config.get("path").and_then(Value::as_str).unwrap_or_default();
    let mut log = json!({
        "invocation": {
            "event": own_name,
            "teamId": team.id,
            "teamDir": team.dir,
            "taskListId": team.list,
            "style": team.style,
            "memberName": event.facts.member,
            "timestamp": event_timestamp(event),
            "completedTask": task,
        },
        "result": result_json(path, outcome),
    });
    if let Some(warning) = version_warning(event) {
        log["result"]["warning"] = json!(warning);
    }
    let stamp = iso_time(event.at, true).replace([':', '.'], "-");
    let text = serde_json::to_string_pretty(&log).unwrap_or_default() + "\n";
    SideEffect::AddFile {
        path: team.dir.join("hook-logs").join(format!("{stamp}_{own_name}.json")),
        text,
    }
}
