//! One firing as one line of `gambrel log`.

use gambrel::model::ledger::{FiringRecord, RecordedFiring};
use gambrel_engine::now_ms;
use serde_json::{Value, json};

use super::local_time;
use super::summary::summarize_event;
use crate::printer::{self, ruling_style};

/// Length of the short id, which `show` accepts.
const SHORT_ID_CHARS: usize = 6;
/// Maximum width of a line where stdout is no terminal.
const DEFAULT_LINE_CHARS: usize = 160;
/// The least that a line has for its last column.
const MIN_WHY_CHARS: usize = 10;

/// The heading of the columns.
pub fn format_head() -> String {
    format_columns(["TIME", "ID", "RULING", "EVENT", "TOOL", "ABOUT", "RAN"], "WHY")
}

/// The line of a firing.
pub fn format_firing(firing: &FiringRecord) -> String {
    let recorded = RecordedFiring::new(firing);
    let ruling = match recorded.field("ruling").as_str() {
        Some(ruling) => printer::single_line(ruling),
        None => recorded.state_word().to_owned(),
    };
    let trail = recorded.list("trail");
    let ran = trail.iter().filter(|step| step["ran"] == true).count();
    let ran = if trail.is_empty() { String::new() } else { format!("{ran}/{}", trail.len()) };
    let about = summarize_event(&recorded).map(|summary| summary.text).unwrap_or_default();
    let cells = [
        &local_time::format_short(firing.at, now_ms()),
        &short_id(&firing.id),
        &ruling,
        recorded.text("event"),
        recorded.text("tool"),
        &about,
        &ran,
    ];
    let line = format_columns(cells, &find_reason(&recorded));
    let style = ruling_style(&ruling);
    line.replacen(&ruling, &format!("{style}{ruling}{style:#}"), 1)
}

/// The firing as one line of JSON.
pub fn format_json(firing: &FiringRecord) -> String {
    format!("{}\n", to_json(firing))
}

/// The firing as JSON, with what is computed for people.
pub fn to_json(firing: &FiringRecord) -> Value {
    let recorded = RecordedFiring::new(firing);
    let mut value = recorded.to_json();
    value["short_id"] = json!(short_id(&firing.id));
    value["time"] = json!(local_time::format_full(firing.at));
    value["about"] = json!(summarize_event(&recorded).map(|summary| summary.text));
    value
}

/// The beginning of the random part of an id. The part before it is the time.
pub fn short_id(id: &str) -> String {
    let random = id.split_once('-').map_or(id, |(_, part)| part);
    random.chars().take(SHORT_ID_CHARS).collect()
}

fn find_reason(recorded: &RecordedFiring<'_>) -> String {
    let reason = recorded.list("reasons").iter().find_map(|reason| reason["text"].as_str());
    let trouble = || recorded.troubles().into_iter().find_map(Value::as_str);
    let rewrote = || {
        let slots: Vec<&str> = recorded.list("rewrote").iter().filter_map(Value::as_str).collect();
        (!slots.is_empty()).then(|| format!("rewrote {}", slots.join(", ")))
    };
    reason.or_else(trouble).map(str::to_owned).or_else(rewrote).unwrap_or_default()
}

fn format_columns(cells: [&str; 7], why: &str) -> String {
    const WIDTHS: [usize; 7] = [8, SHORT_ID_CHARS, 11, 16, 6, 32, 4];
    let padded = cells.iter().zip(WIDTHS).map(|(cell, width)| {
        let cell = printer::fit_line(cell, width);
        format!("{cell:<width$}  ")
    });
    let line: String = padded.collect();
    let width = printer::stdout_width().unwrap_or(DEFAULT_LINE_CHARS);
    let left = width.saturating_sub(line.chars().count() + 1).max(MIN_WHY_CHARS);
    let line = line + &printer::fit_line(why, left);
    format!("{}\n", line.trim_end())
}
