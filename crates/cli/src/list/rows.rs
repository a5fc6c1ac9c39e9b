//! Hooks as text: two lines for each. The first says what runs at which event, the second where it
//! comes from and under which conditions it runs.

use std::ops::RangeInclusive;
use std::path::Path;

use gambrel_model::Hook;

use super::describe::{place_of, summary_line};
use super::state::HookState;
use crate::printer;

/// Lines are not longer than this, and not longer than those of the terminal.
const LINE_CHARS: RangeInclusive<usize> = 60..=100;
/// Maximum width of the event and of the matcher.
const MAX_EVENT_CHARS: usize = 24;
const MAX_MATCHER_CHARS: usize = 20;
/// The indent of the second line.
const INDENT: &str = "      ";

/// The columns of a row.
struct ListRow {
    cells: [String; 4],
    description: String,
    details: Vec<String>,
}

/// All hooks, with a heading.
pub fn format_hooks(states: &[HookState<'_>], project: &Path, home: Option<&Path>) -> String {
    let rows: Vec<ListRow> = states.iter().map(|state| list_row(state, project, home)).collect();
    let terminal = printer::stdout_width().unwrap_or(*LINE_CHARS.end());
    let line_chars = terminal.clamp(*LINE_CHARS.start(), *LINE_CHARS.end());
    let head = ["RUN", "DIALECT", "EVENT", "MATCHER"].map(str::to_owned);
    let width_of = |column: usize| {
        let cells = rows.iter().map(|row| &row.cells).chain([&head]);
        cells.map(|cells| cells[column].chars().count()).max().unwrap_or_default()
    };
    let widths = [0, 1, 2, 3].map(width_of);
    let line = |cells: &[String; 4], last: &str| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}  "));
        let start: String = padded.collect();
        let left = line_chars.saturating_sub(start.chars().count());
        format!("{}\n", (start + &printer::fit_line(last, left)).trim_end())
    };
    let mut text = line(&head, "DESCRIPTION");
    for row in &rows {
        text += &line(&row.cells, &row.description);
        text += &wrap_details(&row.details, line_chars);
    }
    text
}

fn list_row(state: &HookState<'_>, project: &Path, home: Option<&Path>) -> ListRow {
    let hook = state.hook;
    let matcher = hook.draft.matcher.to_text().unwrap_or_else(|| "*".into());
    let mut details = vec![
        hook.id.clone(),
        place_of(&hook.draft.source.spot, project, home),
        state.trust.as_str().to_owned(),
        hook.kind(),
    ];
    details.extend(limits_of(hook));
    let below_project = format!("{}/", project.display());
    let skipped = state.skip_reason().map(|why| why.replace(&below_project, ""));
    details.extend(skipped.map(|why| format!("skipped: {why}")));
    let mark = if state.may_run() { "run" } else { "skip" };
    // The summary of a module is its path.
    let summary = summary_line(hook, *LINE_CHARS.end()).replace(&below_project, "");
    let description = match &hook.draft.status {
        Some(status) => format!("{status}: {summary}"),
        None => summary,
    };
    ListRow {
        cells: [
            mark.to_owned(),
            hook.dialect.name.to_owned(),
            printer::fit_line(&state.events_text(), MAX_EVENT_CHARS),
            printer::fit_line(&matcher, MAX_MATCHER_CHARS),
        ],
        description,
        details,
    }
}

/// Condition, timeout, and whether anybody waits for it.
fn limits_of(hook: &Hook) -> Vec<String> {
    let limits = &hook.draft.policy.limits;
    let condition = hook.describe().condition.map(|text| format!("if {text}"));
    let timeout = format!("timeout {} s", limits.timeout.as_secs_f64());
    let is_process = hook.draft.action != "rule";
    let background = (!limits.blocking).then(|| "async".to_owned());
    let once = hook.draft.once.then(|| "once".to_owned());
    condition
        .into_iter()
        .chain(is_process.then_some(timeout))
        .chain(background)
        .chain(once)
        .collect()
}

/// The details in lines that are not too long.
fn wrap_details(details: &[String], line_chars: usize) -> String {
    let width = line_chars - INDENT.len();
    let mut lines: Vec<String> = Vec::new();
    for detail in details {
        let detail = printer::fit_line(detail, width);
        match lines.last_mut() {
            Some(line) if line.chars().count() + detail.chars().count() + 3 <= width => {
                *line += &format!(" · {detail}");
            }
            _ => lines.push(detail),
        }
    }
    lines.into_iter().map(|line| format!("{INDENT}{line}\n")).collect()
}
