//! `fire -v`: prints the console output of modules on stderr.

use gambrel::Decision;
use gambrel_model::Step;

use crate::printer;

/// Prints each line with the module's name before it, in the order of the trail.
pub fn print_console(decision: &Decision) {
    for step in decision.trail.iter().filter(|step| step.action == "module") {
        for line in console_lines(step) {
            printer::warn(&line);
        }
    }
}

fn console_lines(step: &Step) -> Vec<String> {
    let Some(outcome) = &step.outcome else { return Vec::new() };
    let texts = [outcome.stdout.to_text(), outcome.stderr.to_text()];
    let lines = texts.iter().flat_map(|text| text.lines());
    let name = printer::single_line(&step.title);
    lines.map(|line| format!("{name}: {}", printer::single_line(line))).collect()
}
