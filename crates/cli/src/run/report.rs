//! `gambrel report`: a run as text, as JSON, or as one HTML file.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context, bail};
use gambrel::Gambrel;
use gambrel_model::{IterationTimeline, RunTimeline, TimelineHook, iso_time};
use serde_json::json;

use super::{ReportArgs, status, timelines};
use crate::open;
use crate::printer::{self, style};

/// Prints the report, or writes it to a file.
pub fn print_report(folder: Option<PathBuf>, args: &ReportArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(open::build_setup(folder, None)?);
    let Some(timeline) = timelines::read_timeline(&gambrel, &args.session)? else {
        bail!(status::unknown_run(&gambrel, &args.session));
    };
    let text = match (args.html, args.json) {
        (true, _) => html_report(&timeline)?,
        (false, true) => format!("{}\n", json!(timeline)),
        (false, false) => text_report(&timeline),
    };
    match &args.output {
        Some(path) => {
            let path = gambrel.setup().working_dir().join(path);
            std::fs::write(&path, text).with_context(|| path.display().to_string())?;
            printer::warn(&format!("written to {}", path.display()));
        }
        None => printer::print(&text),
    }
    Ok(0)
}

#[cfg(feature = "http")]
fn html_report(timeline: &RunTimeline) -> anyhow::Result<String> {
    Ok(gambrel_server::report_page(timeline, gambrel::now_ms()))
}

#[cfg(not(feature = "http"))]
fn html_report(_: &RunTimeline) -> anyhow::Result<String> {
    bail!("this build of gambrel has no pages")
}

fn text_report(timeline: &RunTimeline) -> String {
    let summary = &timeline.summary;
    let mut text = format!(
        "{}  {}  {}\n{}\n",
        style::paint(style::BOLD, &printer::single_line(&summary.session)),
        summary.status,
        iso_time(summary.began, false),
        timeline.counts
    );
    for note in &timeline.notes {
        let _infallible = writeln!(text, "  {}", printer::single_line(&note.text));
    }
    for stage in &timeline.stages {
        let reason = if stage.reason.is_empty() { "not complete" } else { &stage.reason };
        let _infallible = writeln!(text, "{}  {reason}", printer::single_line(&stage.id));
        for iteration in &stage.iterations {
            describe_iteration(&mut text, iteration);
        }
    }
    text
}

fn describe_iteration(text: &mut String, iteration: &IterationTimeline) {
    let seconds = iteration.ended.saturating_sub(iteration.began) as f64 / 1000.0;
    let summary = printer::truncate_line(&iteration.summary, 100);
    let decision = match iteration.decision.as_str() {
        "" if iteration.is_agent_working => "agent works",
        "" => "not finished",
        decision => decision,
    };
    let line = format!("  {} {decision}  {seconds:.1} s  {summary}", iteration.number);
    let _infallible = writeln!(text, "{}", line.trim_end());
    let spoke = |hook: &&TimelineHook| !hook.decision_words().is_empty() || !hook.why.is_empty();
    for hook in iteration.hooks.iter().filter(spoke) {
        let color = match hook.verdict.as_str() {
            "deny" | "halt" => style::RED,
            "ask" | "defer" => style::YELLOW,
            "allow" => style::GREEN,
            _ if !hook.rewrote.is_empty() || hook.is_unanswered => style::YELLOW,
            _ => style::DIM,
        };
        let words = hook.decision_words();
        let verdict = style::paint(color, if words.is_empty() { &hook.verdict } else { &words });
        let title = printer::truncate_line(&hook.title, 40);
        let call = printer::truncate_line(&hook.call, 40);
        let why = printer::truncate_line(&hook.why, 80);
        let parts = [verdict, title, call, why];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let _infallible = writeln!(text, "    {}", parts.join("  "));
    }
    for note in &iteration.notes {
        let _infallible = writeln!(text, "    {}", printer::truncate_line(&note.text, 100));
    }
}
