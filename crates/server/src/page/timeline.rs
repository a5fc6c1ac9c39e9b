//! The picture of a run: stages, iterations as bars, and hooks with their decisions. The same picture
//! is a page of the server and a file of its own.

use gambrel_model::{IterationTimeline, RunTimeline, StageTimeline, TimelineNote};
use maud::{DOCTYPE, Markup, html};

use super::assets;
use super::hook_rows::hook_rows;
use super::page_frame;
use super::text::{clean_line, clean_text};
use super::when::{format_duration, time_element};

/// The width of the longest bar.
const BAR_WIDTH: u64 = 1000;
/// The least width of a part that took any time.
const MIN_PART_WIDTH: u64 = 4;

/// The page of one run.
pub(crate) fn run_page(timeline: &RunTimeline, now: u64) -> Markup {
    let session = clean_line(&timeline.summary.session);
    let body = html! {
        p { a href="/" { "← Overview" } }
        p.live.quiet hidden role="status" {}
        (run_entries(timeline, now))
    };
    page_frame(&session, &body)
}

/// The part of the page that changes.
pub(crate) fn run_entries(timeline: &RunTimeline, now: u64) -> Markup {
    let longest = longest_iteration(timeline, now);
    html! {
        div #timeline data-revision=(timeline.summary.revision) {
            (run_header(timeline, now))
            @if timeline.stages.is_empty() { p.quiet { "No stage has begun yet." } }
            @for stage in &timeline.stages { (stage_section(stage, timeline, (longest, now))) }
        }
    }
}

/// The picture as one file without requests and scripts.
pub fn report_page(timeline: &RunTimeline, now: u64) -> String {
    let session = clean_line(&timeline.summary.session);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(assets::report_policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Run " (session) " · gambrel" }
                (assets::style_element())
            }
            body.report {
                header { span.roof aria-hidden="true" {} "gambrel" }
                main {
                    (run_entries(timeline, timeline.ended))
                    p.quiet.made { "Written " (time_element(now, now, false)) }
                }
            }
        }
    };
    page.into_string()
}

/// The CSS class of a run's status.
pub(super) fn status_class(status: &str) -> &'static str {
    match status {
        "complete" => "approved",
        "running" | "paused" => "open",
        "failed" => "rejected",
        _ => "over",
    }
}

fn run_header(timeline: &RunTimeline, now: u64) -> Markup {
    let summary = &timeline.summary;
    let until = if is_live(timeline) { now } else { timeline.ended };
    html! {
        article.card {
            div.top {
                p.state.(status_class(&summary.status)) role="status" { (clean_line(&summary.status)) }
                p.deadline.began {
                    "Began " (time_element(summary.began, now, false))
                    @if is_live(timeline) { ", so far " } @else { ", took " }
                    strong { (format_duration(until.saturating_sub(summary.began))) }
                }
            }
            h1 { (clean_line(&summary.session)) }
            p.quiet {
                (clean_line(&summary.pipeline))
                @if !timeline.counts.is_empty() { " · " (clean_line(&timeline.counts)) }
            }
            (note_list(&timeline.notes, now))
            p.legend.quiet {
                span.swatch.agent {} "agent "
                span.swatch.rest {} "hooks and gambrel"
            }
        }
    }
}

fn stage_section(
    stage: &StageTimeline,
    timeline: &RunTimeline,
    (longest, now): (u64, u64),
) -> Markup {
    let is_current = is_live(timeline) && timeline.summary.stage == stage.id;
    let (word, class) = match (stage.reason.as_str(), is_current) {
        ("", true) => ("running".to_owned(), "open"),
        ("", false) => ("not complete".to_owned(), "over"),
        (reason, _) => (format!("complete: {}", reason.replace('_', " ")), "approved"),
    };
    let last = stage.iterations.len().saturating_sub(1);
    html! {
        section.stage {
            div.stage-head {
                h2 { (clean_line(&stage.id)) }
                span.state.(class) { (clean_line(&word)) }
                span.quiet { (clean_line(&stage.agent)) }
            }
            (hook_rows(&format!("stage-{}", stage.id), &stage.hooks))
            @for (index, iteration) in stage.iterations.iter().enumerate() {
                @let until = if is_current && index == last { now } else { iteration.ended };
                (iteration_card(&stage.id, iteration, (until, longest, is_current && index == last)))
            }
        }
    }
}

fn iteration_card(
    stage: &str,
    iteration: &IterationTimeline,
    (until, longest, is_current): (u64, u64, bool),
) -> Markup {
    let id = format!("{stage}-{}-{}", iteration.number, iteration.attempt);
    let took = until.saturating_sub(iteration.began);
    html! {
        article.iteration {
            div.bar-line {
                span.number { (iteration.number) }
                (iteration_bar(iteration, until, longest))
                span.took { (format_duration(took)) }
            }
            @if iteration.attempt > 1 { p.quiet { "attempt " (iteration.attempt) } }
            p.outcome {
                @if !iteration.decision.is_empty() {
                    span.state.(decision_class(&iteration.decision)) { (clean_line(&iteration.decision)) }
                } @else if iteration.is_agent_working {
                    span.state.open { "agent works" }
                } @else if is_current {
                    span.state.open { "hooks run" }
                } @else {
                    span.state.over { "not finished" }
                }
                " " (clean_line(&iteration.summary))
                @if !iteration.reason.is_empty() {
                    span.quiet { " (" (clean_line(&iteration.reason)) ")" }
                }
            }
            (hook_rows(&id, &iteration.hooks))
            (note_list(&iteration.notes, until))
        }
    }
}

fn decision_class(decision: &str) -> &'static str {
    match decision {
        "error" => "rejected",
        "stop" => "approved",
        _ => "over",
    }
}

/// A bar as long as the iteration took, with the times of the agent in another colour.
fn iteration_bar(iteration: &IterationTimeline, until: u64, longest: u64) -> Markup {
    let took = until.saturating_sub(iteration.began);
    let scale = |ms: u64| ms.saturating_mul(BAR_WIDTH) / longest.max(1);
    let spans: Vec<(u64, u64)> =
        iteration.agent_spans.iter().map(|(from, to)| (*from, *to)).collect();
    let last = spans.len().saturating_sub(1);
    let parts = spans.iter().enumerate().map(|(index, (from, to))| {
        let to = if iteration.is_agent_working && index == last { until } else { *to };
        let start = scale(from.saturating_sub(iteration.began));
        (start, scale(to.saturating_sub(*from)).max(MIN_PART_WIDTH), to.saturating_sub(*from))
    });
    let parts: Vec<(u64, u64, u64)> = parts.collect();
    let agent: u64 = parts.iter().map(|(.., ms)| ms).sum();
    let label = format!("{}, the agent {}", format_duration(took), format_duration(agent));
    html! {
        svg.bar viewBox={ "0 0 " (BAR_WIDTH) " 10" } preserveAspectRatio="none" role="img"
            aria-label=(label) {
            rect.track x="0" y="0" width=(BAR_WIDTH) height="10" {}
            rect.rest x="0" y="0" width=(scale(took).max(MIN_PART_WIDTH)) height="10" {}
            @for (start, width, _) in &parts {
                rect.agent x=(start) y="0" width=(width) height="10" {}
            }
        }
    }
}

fn note_list(notes: &[TimelineNote], now: u64) -> Markup {
    html! {
        @for note in notes {
            p.note.trouble[note.is_trouble] {
                (clean_text(&note.text)) " " span.quiet.at { (time_element(note.at, now, false)) }
            }
        }
    }
}

fn is_live(timeline: &RunTimeline) -> bool {
    matches!(timeline.summary.status.as_str(), "running" | "paused")
}

fn longest_iteration(timeline: &RunTimeline, now: u64) -> u64 {
    let all = timeline.stages.iter().flat_map(|stage| &stage.iterations);
    let ended = all.map(|iteration| iteration.ended.saturating_sub(iteration.began));
    let last = timeline.stages.last().and_then(|stage| stage.iterations.last());
    let running = last.filter(|_| is_live(timeline)).map(|last| now.saturating_sub(last.began));
    ended.chain(running).max().unwrap_or(0)
}
