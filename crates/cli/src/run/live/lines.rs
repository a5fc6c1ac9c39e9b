//! The lines of the live view. Texts of hooks, agents and users lose their control characters here.

use std::time::{Duration, Instant};

use super::state::{LiveStage, LiveState, StageProgress};
use crate::printer::status_block::StatusLine;
use crate::printer::{self, style};

/// How many nodes of a long plan are shown.
const MAX_STAGE_COUNT: usize = 5;
/// How many running hooks are shown.
const MAX_HOOK_COUNT: usize = 3;
/// How many open questions are shown.
const MAX_QUESTION_COUNT: usize = 3;
/// The most characters of a blocked call, if its reason follows.
const MAX_CALL_CHARS: usize = 40;
/// The column in which texts begin.
const LABEL_COLUMNS: usize = 12;

/// The lines for a terminal of this width.
pub fn format_lines(state: &LiveState, columns: usize) -> Vec<StatusLine> {
    let mut lines = vec![header_line(state)];
    lines.extend(stage_lines(state));
    if state.is_delivering {
        lines.push(StatusLine::default().with(style::BOLD, "  ▸ final messages for the agent"));
    }
    lines.extend(agent_line(state));
    for hook in state.hooks.iter().take(MAX_HOOK_COUNT) {
        let title = printer::truncate_line(&hook.title, columns / 2);
        let text = format!("{title}  {}", hook.product);
        lines.push(labelled_line("", "hook", &text).with(style::DIM, since(hook.began)));
    }
    if let Some(more) = state.hooks.len().checked_sub(MAX_HOOK_COUNT).filter(|more| *more > 0) {
        let more = printer::format_quantity(more, "more hook");
        lines.push(labelled_line(style::DIM, "", &format!("and {more}")));
    }
    for (call, reason) in &state.blocked {
        let call = printer::truncate_line(call, MAX_CALL_CHARS);
        let reason = printer::truncate_line(reason, columns);
        let line = labelled_line(style::RED, "blocked", &call);
        lines.push(line.with(style::DIM, format!("  {reason}")));
    }
    for (id, title) in state.questions.iter().take(MAX_QUESTION_COUNT) {
        let title = printer::truncate_line(title, columns.saturating_sub(48).max(20));
        let line = labelled_line(style::YELLOW, "question", &title);
        lines.push(line.with(style::DIM, format!("  gambrel approve {id}, or deny")));
    }
    lines
}

fn header_line(state: &LiveState) -> StatusLine {
    let elapsed = state.began.map(|began| began.elapsed()).unwrap_or_default();
    let (calls, blocked) = state.calls;
    let calls = printer::format_quantity(calls, "call");
    let word = if state.is_paused { "paused  " } else { "" };
    StatusLine::default()
        .with(style::BOLD, printer::single_line(&state.session))
        .with("", format!("  {}  ", format_clock(elapsed)))
        .with(style::YELLOW, word)
        .with(style::DIM, format!("{calls}, {blocked} blocked"))
}

/// The nodes around the current one.
fn stage_lines(state: &LiveState) -> Vec<StatusLine> {
    let count = state.stages.len();
    let first = state.node.saturating_sub(MAX_STAGE_COUNT / 2);
    let first = first.min(count.saturating_sub(MAX_STAGE_COUNT));
    let shown = state.stages.iter().skip(first).take(MAX_STAGE_COUNT);
    let mut lines: Vec<StatusLine> = shown.map(stage_line).collect();
    let rest = count.saturating_sub(first + MAX_STAGE_COUNT);
    let hidden = [(first, "earlier"), (rest, "later")];
    for (count, word) in hidden.into_iter().filter(|(count, _)| *count > 0) {
        let text = printer::format_quantity(count, &format!("{word} stage"));
        lines.push(labelled_line(style::DIM, "", &text));
    }
    lines
}

fn stage_line(stage: &LiveStage) -> StatusLine {
    let (color, sign) = match stage.status {
        StageProgress::Waiting => (style::DIM, "·"),
        StageProgress::Running => (style::BOLD, "▸"),
        StageProgress::Complete => (style::GREEN, "✓"),
        StageProgress::Failed => (style::RED, "✗"),
    };
    let progress = match (stage.status, stage.max) {
        (StageProgress::Waiting, _) => String::new(),
        (StageProgress::Running, Some(max)) => {
            format!("iteration {} of at most {max}", stage.iteration)
        }
        _ => format!("iteration {}", stage.iteration),
    };
    let id = printer::truncate_line(&stage.id, 30);
    StatusLine::default()
        .with(color, format!("  {sign} {id}"))
        .with(style::DIM, format!("  {progress}"))
}

/// The agent's last words, while it works.
fn agent_line(state: &LiveState) -> Option<StatusLine> {
    let began = state.agent_began?;
    let words = match state.words.as_str() {
        "" => "(nothing written yet)".to_owned(),
        words => printer::single_line(words),
    };
    let line =
        labelled_line("", "agent", "").with(style::DIM, format!("{:<8}", since(began).trim()));
    Some(line.with("", words))
}

fn labelled_line(color: &'static str, label: &str, text: &str) -> StatusLine {
    let label = format!("    {label}");
    StatusLine::default().with(color, format!("{label:<LABEL_COLUMNS$}  ")).with("", text)
}

fn since(began: Instant) -> String {
    format!("  {} s", began.elapsed().as_secs())
}

/// `1:02:03`, or `2:03`.
fn format_clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        hours => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::format_clock;

    #[test]
    fn formats_hours_only_where_there_are_some() {
        assert_eq!(format_clock(Duration::from_secs(59)), "0:59");
        assert_eq!(format_clock(Duration::from_secs(3661)), "1:01:01");
    }
}
