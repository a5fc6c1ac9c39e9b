//! A decision as text: one row per hook, then the merged verdict.

use gambrel::Decision;
use gambrel_model::{Audience, Reason, Step};

use crate::printer;

/// Width of a line where stdout is no terminal.
const DEFAULT_LINE_CHARS: usize = 100;
/// The most characters of a hook's title, and of why it decided so.
const MAX_TITLE_CHARS: usize = 34;
const MAX_WHY_CHARS: usize = 160;
/// The indent of a reason that does not fit into its row.
const WHY_INDENT: usize = 11;

/// One row for every hook that was considered. A long reason has a line of its own.
pub fn format_trail(decision: &Decision) -> String {
    let trail = decision.full_trail();
    if trail.is_empty() {
        return "  no hooks for this event\n".into();
    }
    let rows: Vec<Vec<String>> = trail.iter().map(format_step).collect();
    let table = printer::format_table(&["  DIALECT", "HOOK", "OUTCOME", "VERDICT", "WHY"], &rows);
    let line_chars = printer::stdout_width().unwrap_or(DEFAULT_LINE_CHARS);
    let mut lines = table.lines();
    let mut text = format!("{}\n", lines.next().unwrap_or_default());
    for (line, row) in lines.zip(&rows) {
        let why = row.last().map_or("", String::as_str);
        let before = line.strip_suffix(why).filter(|_| line.chars().count() > line_chars);
        text += &match before {
            Some(before) => {
                let why = printer::fit_line(why, line_chars.saturating_sub(WHY_INDENT));
                format!("{}\n{:WHY_INDENT$}{why}\n", before.trim_end(), "")
            }
            None => format!("{line}\n"),
        };
    }
    text
}

fn format_step(step: &Step) -> Vec<String> {
    let outcome = step.outcome.as_ref().map_or("skipped".into(), |outcome| match outcome.end {
        gambrel_model::End::Exited(code) => format!("exited {code}"),
        ref end => end.trail_word().to_owned(),
    });
    let verdict = if step.ran { step.verdict.as_str() } else { "-" };
    let again = if step.recheck { " (again)" } else { "" };
    let title = printer::truncate_line(&step.title, MAX_TITLE_CHARS - again.len());
    vec![
        format!("  {}", step.dialect),
        title + again,
        outcome,
        verdict.to_owned(),
        printer::truncate_line(&step.why, MAX_WHY_CHARS),
    ]
}

/// A text with the title of the hook that it comes from. Messages of gambrel name themselves.
fn name_hook(decision: &Decision, text: &str, hook: &str) -> String {
    let text = printer::truncate_line(text, 100);
    let step = decision.trail.iter().find(|step| step.hook == hook && !step.title.is_empty());
    // The title of a rule may be its message.
    match step.filter(|step| step.title != text) {
        Some(step) => format!("{text} ({})", printer::truncate_line(&step.title, MAX_TITLE_CHARS)),
        None => text,
    }
}

/// The ruling with its reasons, the messages and the losses.
pub fn format_verdict(decision: &Decision) -> String {
    let mut text = format!("  ruling: {}\n", decision.merged.ruling.as_str());
    let of_ruling = |reason: &&Reason| reason.ruling == decision.merged.ruling;
    for reason in decision.merged.reasons.iter().filter(of_ruling) {
        let line = name_hook(decision, &reason.text, &reason.hook);
        text += &format!("    because {line}\n");
    }
    for (audience, word) in [
        (Audience::AgentNow, "for the agent"),
        (Audience::AgentNextTurn, "for its next turn"),
        (Audience::User, "for you"),
    ] {
        for message in decision.merged.messages.iter().filter(|message| message.to == audience) {
            let line = name_hook(decision, &message.text, &message.hook);
            text += &format!("    {word}: {line}\n");
        }
    }
    for loss in &decision.losses {
        text += &format!("    lost: {} ({})\n", loss.what, printer::single_line(&loss.why));
    }
    text
}
