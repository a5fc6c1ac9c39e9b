//! Writes the reply: the piped output of hooks, unchanged.

use gambrel_model::{Audience, Decision, Reply};

/// Joins the messages with a newline on stdout. Messages for the user go to stderr.
pub fn write_reply(decision: &Decision) -> Reply {
    let verdict = &decision.for_caller;
    let piped = verdict.messages.iter().filter(|message| message.to != Audience::User);
    let piped: Vec<&str> = piped.map(|message| message.text.as_str()).collect();
    Reply {
        stdout: piped.join("\n").into_bytes(),
        stderr: verdict.messages_for(Audience::User).map(|notice| format!("{notice}\n")).collect(),
        exit: 0,
    }
}
