//! The piped output, raw, and nothing else on stdout.

use gambrel_model::{Decision, Ear, Reply};

/// Outputs keep their own newlines and are joined by one more; notices go to the person.
pub fn reply(decision: &Decision) -> Reply {
    let said = &decision.said;
    let piped = said.says.iter().filter(|say| say.ear != Ear::Person);
    let piped: Vec<&str> = piped.map(|say| say.text.as_str()).collect();
    Reply {
        stdout: piped.join("\n").into_bytes(),
        stderr: said.words(Ear::Person).map(|notice| format!("{notice}\n")).collect(),
        exit: 0,
    }
}
