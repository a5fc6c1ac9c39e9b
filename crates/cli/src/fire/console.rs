//! `fire -v`: what modules wrote to their console, on stderr.

use gambrel::Decision;
use gambrel::model::Step;

use crate::printer;

/// One line a line, each with the module's name before it; the trail's order.
pub fn print(decision: &Decision) {
    for step in decision.trail.iter().filter(|step| step.action == "module") {
        for line in lines(step) {
            printer::warn(&line);
        }
    }
}

fn lines(step: &Step) -> Vec<String> {
    let Some(outcome) = &step.outcome else { return Vec::new() };
    let texts = [outcome.stdout.text(), outcome.stderr.text()];
    let lines = texts.iter().flat_map(|text| text.lines());
    let name = printer::flat(&step.title);
    lines.map(|line| format!("{name}: {}", printer::flat(line))).collect()
}
