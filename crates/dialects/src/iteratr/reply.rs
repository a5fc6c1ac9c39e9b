//! The piped output, raw, and nothing else on stdout.

use gambrel_model::{Audience, Decision, Reply};

/// Outputs keep their own newlines and are joined by one more; notices go to the person.
pub fn reply(decision: &Decision) -> Reply {
    let said = &decision.for_caller;
    let piped = said.messages.iter().filter(|say| say.to != Audience::User);
    let piped: Vec<&str> = piped.map(|say| say.text.as_str()).collect();
    Reply {
        stdout: piped.join("\n").into_bytes(),
        stderr: said.messages_for(Audience::User).map(|notice| format!("{notice}\n")).collect(),
        exit: 0,
    }
}
