//! The results of cases, as text and as JSON.

use gambrel_model::text::truncate_chars;
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use super::compare::CaseDifference;
use crate::printer;

/// How many lines of one difference are shown.
const MAX_DIFF_LINES: usize = 40;
/// Maximum width of a line of a difference.
const MAX_LINE_CHARS: usize = 160;

/// The result of one case.
#[derive(Debug)]
pub struct CaseResult {
    /// Its name.
    pub name: String,
    /// How it ended.
    pub end: CaseEnd,
}

/// How a case ended.
#[derive(Debug)]
pub enum CaseEnd {
    /// Every expectation holds.
    Passed,
    /// Some expectation does not hold.
    Failed(Vec<FailedStep>),
    /// It was not run, and why.
    Skipped(String),
}

/// A step that failed.
#[derive(Debug)]
pub struct FailedStep {
    /// Its number, from 1; 0 if the case could not begin.
    pub number: usize,
    /// The event.
    pub event: String,
    /// Why it could not be fired.
    pub error: Option<String>,
    /// What differs.
    pub differences: Vec<CaseDifference>,
    /// Hooks and their part: title, outcome, verdict and reason.
    pub trail: Vec<String>,
}

impl CaseResult {
    /// One line, and for a failed case what differs.
    pub fn format(&self) -> String {
        let name = printer::single_line(&self.name);
        match &self.end {
            CaseEnd::Passed => format!("  ok    {name}\n"),
            CaseEnd::Skipped(why) => format!("  skip  {name}: {}\n", printer::single_line(why)),
            CaseEnd::Failed(steps) => {
                let style = printer::ruling_style("deny");
                let steps: String = steps.iter().map(FailedStep::format).collect();
                format!("  {style}FAIL{style:#}  {name}\n{steps}")
            }
        }
    }

    /// The result as JSON.
    pub fn to_json(&self, file: &str) -> Value {
        let (status, why, steps) = match &self.end {
            CaseEnd::Passed => ("passed", Value::Null, Vec::new()),
            CaseEnd::Skipped(why) => ("skipped", json!(why), Vec::new()),
            CaseEnd::Failed(steps) => {
                ("failed", Value::Null, steps.iter().map(FailedStep::to_json).collect())
            }
        };
        json!({"file": file, "name": self.name, "status": status, "why": why, "steps": steps})
    }
}

impl FailedStep {
    fn format(&self) -> String {
        let mut text = match self.number {
            0 => String::new(),
            number => format!("        step {number}: {}\n", printer::single_line(&self.event)),
        };
        if let Some(error) = &self.error {
            text += &format!("          {}\n", printer::truncate_line(error, 400));
        }
        text += &self.differences.iter().map(format_difference).collect::<String>();
        if !self.trail.is_empty() {
            text += "          hooks\n";
        }
        for line in &self.trail {
            text += &format!("            {}\n", printer::truncate_line(line, MAX_LINE_CHARS));
        }
        text
    }

    fn to_json(&self) -> Value {
        let difference = |one: &CaseDifference| json!({"what": one.what, "expected": one.expected, "observed": one.observed});
        json!({
            "step": self.number, "event": self.event, "error": self.error, "trail": self.trail,
            "differences": self.differences.iter().map(difference).collect::<Vec<_>>(),
        })
    }
}

/// A difference: both values, or the lines that differ.
fn format_difference(difference: &CaseDifference) -> String {
    let CaseDifference { what, expected, observed } = difference;
    let mut text = format!("          {}\n", printer::single_line(what));
    let is_short = |text: &str| !text.trim_end().contains('\n');
    if is_short(expected) && is_short(observed) {
        for (word, value) in [("expected", expected), ("observed", observed)] {
            let value = if value.is_empty() { "(nothing)" } else { value };
            text +=
                &format!("            {word}  {}\n", printer::truncate_line(value, MAX_LINE_CHARS));
        }
        return text;
    }
    let diff = TextDiff::from_lines(expected.as_str(), observed.as_str());
    let changes: Vec<_> = diff.iter_all_changes().collect();
    for change in changes.iter().take(MAX_DIFF_LINES) {
        let mark = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        };
        let line = change.value().trim_end_matches('\n');
        let line = printer::replace_controls(line);
        text += &format!("            {mark} {}\n", truncate_chars(&line, MAX_LINE_CHARS, "…"));
    }
    if changes.len() > MAX_DIFF_LINES {
        let more = printer::format_quantity(changes.len() - MAX_DIFF_LINES, "more line");
        text += &format!("            … {more}\n");
    }
    text
}

/// The last line.
pub fn format_counts(results: &[CaseResult]) -> String {
    let count = |is: fn(&CaseEnd) -> bool| results.iter().filter(|result| is(&result.end)).count();
    let passed = count(|end| matches!(end, CaseEnd::Passed));
    let failed = count(|end| matches!(end, CaseEnd::Failed(_)));
    let skipped = results.len() - passed - failed;
    let cases = printer::format_quantity(results.len(), "case");
    let skipped = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
    format!("{cases}: {passed} passed, {failed} failed{skipped}\n")
}
