//! Lines of progress on stderr, and a summary at the end. Beside a live view only what stays true is
//! printed.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Instant;

use gambrel_runner::{
    LogKind, LogLine, Plan, RunCounts, RunFolder, RunResult, RunUpdate, describe_stop, read_hook,
};
use serde_json::json;

use super::counts_view::{cost_text, describe_counts, tokens_text};
use super::live::LiveView;
use crate::approvals::tickets::describe_question;
use crate::printer;

/// The most characters of an iteration's summary.
const MAX_SUMMARY_CHARS: usize = 200;

/// How a command shows its run.
pub struct RunDisplay {
    /// Whether it prints the lines of the log and nothing else.
    pub json: bool,
    /// The live view, on a terminal.
    pub live: Option<LiveView>,
}

impl RunDisplay {
    /// A live view where stderr is a terminal that can draw one.
    pub fn new(json: bool, plain: bool) -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let can_draw = std::io::stderr().is_terminal() && !is_dumb;
        Self { json, live: (can_draw && !json && !plain).then(LiveView::default) }
    }
}

/// Prints what a run does.
pub struct ProgressPrinter<'p> {
    plan: &'p Plan,
    display: &'p RunDisplay,
    began: Instant,
    iterations: BTreeMap<(String, u32), IterationRow>,
}

#[derive(Default)]
struct IterationRow {
    hooks: usize,
    decision: String,
    counts: RunCounts,
}

const TABLE_HEAD: [&str; 10] = [
    "STAGE",
    "ITERATION",
    "DECISION",
    "HOOKS",
    "TURNS",
    "CALLS",
    "BLOCKED",
    "TIME",
    "TOKENS",
    "COST",
];

impl IterationRow {
    fn to_cells(&self, stage: String, iteration: u32) -> Vec<String> {
        let counts = &self.counts;
        let unknown = || "-".to_owned();
        vec![
            stage,
            iteration.to_string(),
            self.decision.clone(),
            self.hooks.to_string(),
            counts.turns.to_string(),
            counts.sum.tool_calls.to_string(),
            counts.sum.blocked_calls.to_string(),
            format!("{:.1} s", counts.wall_seconds),
            tokens_text(counts).unwrap_or_else(unknown),
            cost_text(counts).unwrap_or_else(unknown),
        ]
    }
}

impl<'p> ProgressPrinter<'p> {
    /// A printer for a plan.
    pub fn new(plan: &'p Plan, display: &'p RunDisplay) -> Self {
        Self { plan, display, began: Instant::now(), iterations: BTreeMap::new() }
    }

    /// Shows one update.
    pub fn show(&mut self, update: &RunUpdate<'_>) {
        if let Some(live) = &self.display.live {
            live.apply(update);
        }
        match update {
            RunUpdate::Line(line) => {
                self.count(line);
                if self.display.json {
                    printer::print(&format!("{}\n", json!(line)));
                    return;
                }
                let text = match self.display.live {
                    Some(_) => self.describe_lasting(line),
                    None => self.describe(line),
                };
                if let Some(text) = text {
                    printer::print_stderr(&format!("{}\n", printer::replace_controls(&text)));
                }
            }
            RunUpdate::Notice(text) => {
                let text = printer::replace_controls(text);
                printer::print_stderr(&format!("  note: {text}\n"));
            }
            // The live view shows them as long as they hold.
            RunUpdate::Question(_) | RunUpdate::Waiting(_) if self.display.live.is_some() => {}
            RunUpdate::Question(ticket) => {
                let title = printer::single_line(&describe_question(ticket));
                printer::print_stderr(&format!(
                    "  question {id}: {title}\n    gambrel approve {id}, or gambrel deny {id}\n",
                    id = ticket.id
                ));
            }
            RunUpdate::Waiting(delay) if !self.display.json => {
                printer::print_stderr(&format!("  waiting {} s\n", delay.as_secs_f64()));
            }
            RunUpdate::Waiting(_) => {}
        }
    }

    fn count(&mut self, line: &LogLine) {
        let key = (line.cursor.node_path.clone(), line.cursor.iteration);
        let row = self.iterations.entry(key).or_default();
        match line.kind {
            LogKind::HookComplete => row.hooks += 1,
            LogKind::IterationComplete => {
                row.decision = line.data["decision"].as_str().unwrap_or_default().to_owned();
                let counts = serde_json::from_value(line.data["counts"].clone());
                row.counts = counts.unwrap_or_default();
            }
            _ => {}
        }
    }

    /// A line that is still true after the next one, for a terminal with a live view.
    fn describe_lasting(&self, line: &LogLine) -> Option<String> {
        match line.kind {
            LogKind::SessionStart
            | LogKind::NodeStart
            | LogKind::IterationStart
            | LogKind::HookComplete
            | LogKind::AgentStart => None,
            LogKind::IterationComplete => {
                let node = self.plan.nodes.get(line.cursor.node());
                let stage = node.map(|node| node.id.as_str()).unwrap_or_default();
                let text = |key: &str| line.data["history"][key].as_str().unwrap_or_default();
                let summary = printer::truncate_line(text("summary"), MAX_SUMMARY_CHARS);
                let decision = text("decision");
                Some(format!("{stage} {}  {decision}  {summary}", line.cursor.iteration))
            }
            _ => self.describe(line),
        }
    }

    fn describe(&self, line: &LogLine) -> Option<String> {
        let node = self.plan.nodes.get(line.cursor.node());
        let stage = node.map(|node| node.id.as_str()).unwrap_or_default();
        let limit = node.and_then(|node| node.termination.limit());
        let text = |key: &str| line.data[key].as_str().unwrap_or_default().to_owned();
        let iteration = line.cursor.iteration;
        Some(match line.kind {
            LogKind::SessionStart => format!("run {}: {}", line.session, text("pipeline")),
            LogKind::Resumed => format!("run {}: continued at iteration {iteration}", line.session),
            LogKind::NodeStart => format!("stage {stage}"),
            LogKind::IterationStart => {
                let limit = limit.map(|max| format!(" of at most {max}")).unwrap_or_default();
                match line.cursor.attempt {
                    1 => format!("  iteration {iteration}{limit}"),
                    attempt => format!("  iteration {iteration}{limit}, attempt {attempt}"),
                }
            }
            LogKind::HookComplete => {
                let hook = read_hook(line);
                let decision = match hook.decision_words() {
                    words if words.is_empty() => "silent".to_owned(),
                    words => words,
                };
                format!("    hook {} ({} ms): {decision}", hook.title, hook.ms)
            }
            LogKind::AgentStart => "    agent started".to_owned(),
            LogKind::Stop => format!("    {}", describe_stop(line)),
            LogKind::IterationComplete => {
                let reason = text("reason");
                let reason = if reason.is_empty() { reason } else { format!(" ({reason})") };
                format!("    decision: {}{reason}", text("decision"))
            }
            LogKind::IterationHooksDone => {
                format!("    committed {}", line.data["commit"].as_str()?)
            }
            LogKind::NodeComplete => format!("  stage {stage} complete: {}", text("reason")),
            LogKind::Delivery => "  final messages for the agent".to_owned(),
            LogKind::Error => format!("  error: {}", text("message")),
            LogKind::Recovered => "  the iteration starts again".to_owned(),
            LogKind::Paused => "paused; `gambrel resume` lets it go on".to_owned(),
            LogKind::Cancelled => "cancelled; `gambrel resume` continues".to_owned(),
            _ => return None,
        })
    }

    /// Prints what each iteration did, the counts of the whole run, and how it ended.
    pub fn print_summary(&self, result: &RunResult, folder: &RunFolder, total: &RunCounts) {
        if self.display.json {
            return;
        }
        let is_shown = |((_, iteration), row): &(&(String, u32), &IterationRow)| {
            *iteration > 0 && !row.decision.is_empty()
        };
        let rows = self.iterations.iter().filter(is_shown).map(|((node, iteration), row)| {
            let node = node.parse().ok().and_then(|index: usize| self.plan.nodes.get(index));
            let stage = node.map(|node| node.id.clone()).unwrap_or_default();
            row.to_cells(stage, *iteration)
        });
        let rows: Vec<Vec<String>> = rows.collect();
        if !rows.is_empty() {
            printer::print_stderr(&printer::format_table(&TABLE_HEAD, &rows));
        }
        if total.turns > 0 {
            printer::print_stderr(&format!("total: {}\n", describe_counts(total)));
        }
        let end = match result {
            RunResult::Completed(reason) => format!("complete: {reason}"),
            RunResult::Failed(failure) => {
                format!("failed: {}", printer::replace_controls(&failure.message))
            }
            RunResult::Cancelled(signal) => format!("cancelled by signal {signal}"),
        };
        let seconds = self.began.elapsed().as_secs_f64();
        let folder = folder.path.display();
        printer::print_stderr(&format!("{end} after {seconds:.1} s; files in {folder}\n"));
    }
}
