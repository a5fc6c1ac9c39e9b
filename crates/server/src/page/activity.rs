//! What happens besides questions: the runs of the project, and the newest firings.

use gambrel_model::ledger::{FiringRecord, FiringState, RecordedFiring};
use gambrel_model::text::{replace_controls, truncate_chars};
use gambrel_model::{End, RunSummary, TimelineHook};
use maud::{Markup, html};
use serde_json::Value;

use super::hook_rows::{count_text, hook_rows, verdict_chip};
use super::text::clean_line;
use super::timeline::status_class;
use super::when::time_element;
use crate::activity::Activity;

/// How many runs are shown.
const MAX_RUN_COUNT: usize = 8;
/// The most characters of a firing's command and of its reasons.
const MAX_LINE_CHARS: usize = 160;

/// Runs and firings, for a page that shows them.
pub(super) fn activity_sections(activity: &Activity, now: u64) -> Markup {
    html! {
        section #runs {
            h2 id="runs-title" { "Runs" }
            @if activity.runs.is_empty() {
                p.quiet id="no-runs" { "No runs are here; " code { "gambrel run" } " starts one." }
            }
            @for run in activity.runs.iter().take(MAX_RUN_COUNT) { (run_row(run, now)) }
            @if let Some(more) = activity.runs.len().checked_sub(MAX_RUN_COUNT).filter(|n| *n > 0) {
                p.quiet id={ "more-runs-" (more) } {
                    (count_text(more, "older run")) ": see " code { "gambrel runs" }
                }
            }
        }
        section #firings {
            h2 id="firings-title" { "Recent firings" }
            @if activity.firings.is_empty() {
                p.quiet id="no-firings" { "No agent has called gambrel yet." }
            }
            @for firing in activity.firings.iter().rev() { (firing_row(firing, activity, now)) }
        }
    }
}

/// The id changes with the run, so that the page takes the new row.
fn run_row(run: &RunSummary, now: u64) -> Markup {
    html! {
        a.row href={ "/runs/" (run.session) }
            id={ "run-" (run.session) "-" (run.status) "-" (run.revision) } {
            span.state.(status_class(&run.status)) { (clean_line(&run.status)) }
            strong { (clean_line(&run.session)) }
            span.quiet {
                @if !run.stage.is_empty() { (clean_line(&run.stage)) ", iteration " (run.iteration) " · " }
                (time_element(run.began, now, false))
            }
        }
    }
}

fn firing_row(firing: &FiringRecord, activity: &Activity, now: u64) -> Markup {
    let recorded = RecordedFiring::new(firing);
    let text = |key: &str| clean_line(recorded.text(key));
    let ruling = match firing.state {
        FiringState::Finished => text("ruling"),
        _ => recorded.state_word().to_owned(),
    };
    let hooks = read_trail(&recorded, activity);
    let reasons = recorded.list("reasons").iter().filter_map(|reason| reason["text"].as_str());
    let reasons: Vec<&str> = reasons.collect();
    let is_repeated = reasons.iter().all(|text| hooks.iter().any(|hook| hook.why.contains(text)));
    let reason = cut_line(&reasons.join("; "));
    let caller = (activity.name_product)(recorded.text("from"));
    let summary = cut_line(&replace_controls(&(activity.summarize)(firing)));
    let slots = recorded.list("rewrote").iter().filter_map(Value::as_str);
    let rewrote = TimelineHook::name_rewrites(slots);
    let tool = text("tool");
    html! {
        details.row id={ "firing-" (firing.id) "-" (ruling) } {
            summary {
                (verdict_chip(&ruling, &rewrote))
                strong { @if tool.is_empty() { (text("event")) } @else { (tool) } }
                @if !summary.is_empty() { " " code { (summary) } }
                span.quiet { (clean_line(&caller)) " · " (time_element(firing.at, now, false)) }
                @if !reason.is_empty() { span.why.repeated[is_repeated] { (reason) } }
            }
            @if hooks.is_empty() { p.quiet { "No hook ran." } }
            (hook_rows(&firing.id, &hooks))
            p.quiet {
                (text("event")) ", session " (clean_line(&firing.session)) ": "
                code { "gambrel show " (clean_line(&firing.short_id())) }
            }
        }
    }
}

/// A text on one line, cut to a length.
fn cut_line(text: &str) -> String {
    truncate_chars(&clean_line(text), MAX_LINE_CHARS, "…")
}

/// The hooks that ran.
fn read_trail(recorded: &RecordedFiring<'_>, activity: &Activity) -> Vec<TimelineHook> {
    let ran = recorded.list("trail").iter().filter(|step| step["ran"] == true);
    let hook = |step: &Value| {
        let text = |key: &str| step[key].as_str().unwrap_or_default().to_owned();
        TimelineHook {
            title: text("title"),
            product: (activity.name_product)(step["dialect"].as_str().unwrap_or_default()),
            moment: text("outcome"),
            verdict: text("verdict"),
            rewrote: TimelineHook::name_rewrites(
                step["rewrote"].as_array().into_iter().flatten().filter_map(Value::as_str),
            ),
            is_unanswered: step["outcome"].as_str().is_some_and(End::is_without_answer),
            ms: step["ms"].as_f64().map_or(0, |ms| ms.round() as u64),
            why: text("why"),
            ..TimelineHook::default()
        }
    };
    ran.map(hook).collect()
}
