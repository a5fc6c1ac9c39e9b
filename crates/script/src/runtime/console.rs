//! Copies console lines and warnings of a module from its effects to the outcome, where the trail
//! and the journal show them. Knows no engine.

use gambrel_model::{Captured, Outcome};
use serde_json::Value;

/// Adds log lines to the outcome's streams, and warnings to its remarks.
pub fn record_console(outcome: &mut Outcome, effects: &[Value]) {
    let (mut stdout, mut stderr) = (String::new(), String::new());

    for effect in effects {
        let Some(message) = effect["message"].as_str() else { continue };
        match (effect["type"].as_str(), effect["level"].as_str()) {
            (Some("warning"), _) => outcome.remarks.push(message.to_owned()),
            (Some("log"), Some("warn" | "error")) => add_line(&mut stderr, message),
            (Some("log"), _) => add_line(&mut stdout, message),
            _ => {}
        }
    }

    outcome.stdout = Captured::from_text(&stdout);
    outcome.stderr = Captured::from_text(&stderr);
}

fn add_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}
