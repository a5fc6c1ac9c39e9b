//! A decision as text: one row per hook, then the merged verdict.

use gambrel::Decision;
use gambrel::model::{Audience, Reason, Step};

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

/// A text with the title of the hook that it comes from. Messages of gambrel name themselves.
fn name_hook(decision: &Decision, text: &str, hook: &str) -> String {
    let text = printer::truncate_line(text, 100);
    let step = decision.trail.iter().find(|step| step.hook == hook && !step.title.is_empty());
    match step {
        Some(step) => format!("{text} ({})", printer::truncate_line(&step.title, 34)),
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
