//! A decision as a person reads it: one line a hook, then what came of it.

use gambrel::Decision;
use gambrel::model::{Audience, Step};

use crate::printer;

/// Every hook that was considered.
pub fn table(decision: &Decision) -> String {
    let rows: Vec<Vec<String>> = decision.full_trail().iter().map(row).collect();
    let text = printer::table(&["  DIALECT", "HOOK", "OUTCOME", "VERDICT", "WHY"], &rows);
    if rows.is_empty() { "  no hooks are for this event\n".into() } else { text }
}

fn row(step: &Step) -> Vec<String> {
    let outcome = step.outcome.as_ref().map_or("skipped".into(), |outcome| match outcome.end {
        gambrel::model::End::Exited(code) => format!("exited {code}"),
        ref end => end.word().to_owned(),
    });
    let verdict = if step.ran { step.verdict.word() } else { "-" };
    let title = if step.recheck { format!("{} (again)", step.title) } else { step.title.clone() };
    let cells = [&*format!("  {}", step.dialect), &*printer::line(&title, 34), &*outcome, verdict];
    let mut cells: Vec<String> = cells.iter().map(|cell| (*cell).to_owned()).collect();
    cells.push(printer::line(&step.why, 70));
    cells
}

/// What came of it.
pub fn ending(decision: &Decision) -> String {
    let mut text = format!("  ruling: {}\n", decision.merged.ruling.word());
    for reason in decision.merged.ruling_reasons() {
        text += &format!("    because {}\n", printer::line(reason, 100));
    }
    for (ear, word) in [
        (Audience::AgentNow, "for the agent"),
        (Audience::AgentNextTurn, "for its next turn"),
        (Audience::User, "for you"),
    ] {
        for words in decision.merged.messages_for(ear) {
            text += &format!("    {word}: {}\n", printer::line(words, 100));
        }
    }
    for loss in &decision.losses {
        text += &format!("    lost: {} ({})\n", loss.what, printer::flat(&loss.why));
    }
    text
}
