//! One firing as a row of `gambrel log`, in columns that suit the terminal, and as JSON.

use anstyle::Style;
use gambrel_engine::now_ms;
use gambrel_model::End;
use gambrel_model::ledger::{FiringRecord, RecordedFiring};
use serde_json::{Value, json};

use super::local_time;
use super::summary::summarize_event;
use crate::printer::{self, ruling_style};

/// The width of a short id, which `show` accepts.
const SHORT_ID_CHARS: usize = 6;
/// Width of a line where stdout is no terminal.
const DEFAULT_LINE_CHARS: usize = 160;
/// The headings of the columns. The reason has its own line where the terminal is narrow.
const HEADINGS: [&str; COLUMN_COUNT] = ["TIME", "ID", "RULING", "EVENT", "TOOL", "RAN", "ABOUT"];
const COLUMN_COUNT: usize = 7;
/// The column of the ruling.
const RULING: usize = 2;
/// The column of what the event is about, which gets the rest of the line.
const ABOUT: usize = 6;
/// The widths of columns for the firings that most users have.
const MIN_WIDTHS: [usize; COLUMN_COUNT] = [8, SHORT_ID_CHARS, 6, 11, 4, 3, 20];
const MAX_WIDTHS: [usize; COLUMN_COUNT] = [11, SHORT_ID_CHARS, 11, 20, 14, 5, 48];
/// The least that a line has for the reason. With less, the reason gets a line of its own.
const MIN_WHY_CHARS: usize = 32;
/// The indent of a reason on its own line: below the ruling.
const WHY_INDENT: usize = 18;

/// One firing in columns.
pub struct LogRow {
    cells: [String; COLUMN_COUNT],
    why: String,
}

impl LogRow {
    /// The columns of a firing.
    pub fn new(firing: &FiringRecord) -> Self {
        let recorded = RecordedFiring::new(firing);
        let ruling = match recorded.field("ruling").as_str() {
            Some(ruling) => printer::single_line(ruling),
            None => recorded.state_word().to_owned(),
        };
        let trail = recorded.list("trail");
        let ran = trail.iter().filter(|step| step["ran"] == true).count();
        let ran = if trail.is_empty() { "-".to_owned() } else { format!("{ran}/{}", trail.len()) };
        let about = summarize_event(&recorded).map(|summary| summary.text).unwrap_or_default();
        let cells = [
            local_time::format_short(firing.at, now_ms()),
            firing.short_id(),
            ruling,
            recorded.text("event").to_owned(),
            recorded.text("tool").to_owned(),
            ran,
            about,
        ];
        let mut widths = MAX_WIDTHS.into_iter();
        let fit = |cell: String| printer::fit_line(&cell, widths.next().unwrap_or_default());
        Self { cells: cells.map(fit), why: find_reason(&recorded) }
    }
}

/// The widths of the columns of one list.
pub struct LogLayout {
    widths: [usize; COLUMN_COUNT],
    line_chars: usize,
    is_why_below: bool,
}

impl LogLayout {
    /// Widths that suit these rows and the terminal.
    pub fn new(rows: &[LogRow]) -> Self {
        let mut widths = MIN_WIDTHS;
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(&row.cells) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let line_chars = printer::stdout_width().unwrap_or(DEFAULT_LINE_CHARS);
        let before_about: usize = widths[..ABOUT].iter().map(|width| width + 2).sum();
        let left = line_chars.saturating_sub(before_about + 1);
        let is_why_below = left < widths[ABOUT] + 2 + MIN_WHY_CHARS;
        if is_why_below {
            widths[ABOUT] = left.min(MAX_WIDTHS[ABOUT]);
        }
        Self { widths, line_chars, is_why_below }
    }

    /// The headings.
    pub fn format_head(&self) -> String {
        let why = if self.is_why_below { "" } else { "WHY" };
        self.format_cells(&HEADINGS.map(str::to_owned), why, Style::new())
    }

    /// A firing, on one line or two.
    pub fn format_row(&self, row: &LogRow) -> String {
        let style = ruling_style(&row.cells[RULING]);
        if !self.is_why_below {
            return self.format_cells(&row.cells, &row.why, style);
        }
        let line = self.format_cells(&row.cells, "", style);
        if row.why.is_empty() {
            return line;
        }
        let width = self.line_chars.saturating_sub(WHY_INDENT + 1).max(MIN_WHY_CHARS);
        format!("{line}{:WHY_INDENT$}{}\n", "", printer::fit_line(&row.why, width))
    }

    fn format_cells(&self, cells: &[String; COLUMN_COUNT], why: &str, ruling: Style) -> String {
        let mut line = String::new();
        let mut length = 0;
        for (index, (cell, width)) in cells.iter().zip(self.widths).enumerate() {
            let cell = if index == ABOUT { printer::fit_line(cell, width) } else { cell.clone() };
            let blanks = width.saturating_sub(cell.chars().count()) + 2;
            length += cell.chars().count() + blanks;
            let cell = match index {
                RULING => format!("{ruling}{cell}{ruling:#}"),
                _ => cell,
            };
            line += &format!("{cell}{:blanks$}", "");
        }
        let left = self.line_chars.saturating_sub(length + 1).max(MIN_WHY_CHARS);
        line += &printer::fit_line(why, left);
        format!("{}\n", line.trim_end())
    }
}

/// The firing as one line of JSON.
pub fn format_json(firing: &FiringRecord) -> String {
    format!("{}\n", to_json(firing))
}

/// The firing as JSON, with what is computed for people.
pub fn to_json(firing: &FiringRecord) -> Value {
    let recorded = RecordedFiring::new(firing);
    let mut value = recorded.to_json();
    value["short_id"] = json!(firing.short_id());
    value["time"] = json!(local_time::format_full(firing.at));
    value["about"] = json!(summarize_event(&recorded).map(|summary| summary.text));
    value
}

/// Whether only the caller's dialect knows this slot. It holds the same rewrite in its own words.
pub fn is_own_slot(slot: &str) -> bool {
    slot.contains('.')
}

fn find_reason(recorded: &RecordedFiring<'_>) -> String {
    let reason = recorded.list("reasons").iter().find_map(|reason| reason["text"].as_str());
    let trouble = || recorded.troubles().into_iter().find_map(Value::as_str);
    let rewrote = || describe_rewrites(recorded);
    let silent = || describe_missing_answer(recorded);
    reason.or_else(trouble).map(str::to_owned).or_else(rewrote).or_else(silent).unwrap_or_default()
}

/// What hooks rewrote: `rewrote input`.
pub fn describe_rewrites(recorded: &RecordedFiring<'_>) -> Option<String> {
    let slots = recorded.list("rewrote").iter().filter_map(Value::as_str);
    let slots: Vec<&str> = slots.filter(|slot| !is_own_slot(slot)).collect();
    (!slots.is_empty()).then(|| format!("rewrote {}", slots.join(", ")))
}

/// The first hook that gave no answer, or failed without one, and why.
fn describe_missing_answer(recorded: &RecordedFiring<'_>) -> Option<String> {
    let part = |step: &'_ Value, key: &str| step[key].as_str().unwrap_or_default().to_owned();
    let is_missing = |step: &&Value| {
        let has_failed = step["code"].as_i64().is_some_and(|code| code != 0);
        End::is_without_answer(&part(step, "outcome")) || has_failed
    };
    let step = recorded.list("trail").iter().find(is_missing)?;
    let why = [part(step, "why"), part(step, "outcome")].into_iter().find(|why| !why.is_empty())?;
    Some(format!("{}: {why}", part(step, "title")))
}
