//! A decision as text: one row per hook, then the merged verdict.

use gambrel::Decision;
use gambrel::model::{Audience, Step};

use crate::printer;

/// One row for every hook that was considered.
pub fn format_trail(decision: &Decision) -> String {
    let rows: Vec<Vec<String>> = decision.full_trail().iter().map(format_step).collect();
    let text = printer::format_table(&["  DIALECT", "HOOK", "OUTCOME", "VERDICT", "WHY"], &rows);
    if rows.is_empty() { "  no hooks for this event\n".into() } else { text }
}

fn format_step(step: &Step) -> Vec<String> {
    let outcome = step.outcome.as_ref().map_or("skipped".into(), |outcome| match outcome.end {
        gambrel::model::End::Exited(code) => format!("exited {code}"),
        ref end => end.trail_word().to_owned(),
    });
    let verdict = if step.ran { step.verdict.as_str() } else { "-" };
    let title = if step.recheck { format!("{} (again)", step.title) } else { step.title.clone() };
    let cells =
        [&*format!("  {}", step.dialect), &*printer::truncate_line(&title, 34), &*outcome, verdict];
    let mut cells: Vec<String> = cells.iter().map(|cell| (*cell).to_owned()).collect();
    cells.push(printer::truncate_line(&step.why, 70));
    cells
}

/// The ruling with its reasons, the messages and the losses.
pub fn format_verdict(decision: &Decision) -> String {
    let mut text = format!("  ruling: {}\n", decision.merged.ruling.as_str());
    for reason in decision.merged.ruling_reasons() {
        text += &format!("    because {}\n", printer::truncate_line(reason, 100));
    }
    for (audience, word) in [
        (Audience::AgentNow, "for the agent"),
        (Audience::AgentNextTurn, "for its next turn"),
        (Audience::User, "for you"),
    ] {
        for words in decision.merged.messages_for(audience) {
            text += &format!("    {word}: {}\n", printer::truncate_line(words, 100));
        }
    }
    for loss in &decision.losses {
        text += &format!("    lost: {} ({})\n", loss.what, printer::single_line(&loss.why));
    }
    text
}
