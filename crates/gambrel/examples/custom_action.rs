//! An action of the host's own in place of a built-in one: commands of hooks run with an empty
//! environment, and each is written down. `cargo run --example custom_action FOLDER`.

use std::io::{self, Write};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use gambrel::action::{Action, Captured, End, Job, Outcome, Program};
use gambrel::{Gambrel, HostEvent, Setup, ToolCall, TrustMode};
use serde_json::json;

/// Replaces `shell`. Real hosts start a container here, or a program on another machine.
struct AuditedShell {
    audit: Arc<Mutex<Vec<String>>>,
}

impl AuditedShell {
    fn run_one(&self, job: &Job<'_>) -> Outcome {
        let text = match &job.call.program {
            Program::Shell { text, .. } => text.clone(),
            Program::Exec(words) => words.join(" "),
            Program::None => return Outcome::from_end(End::NotApplicable),
        };
        self.audit.lock().unwrap_or_else(PoisonError::into_inner).push(text.clone());
        let input = job.call.stdin.as_ref().map(|bytes| bytes.to_vec()).unwrap_or_default();
        match run_clean(&text, &input) {
            // What a hook wrote and its exit code: its dialect reads the decision from them.
            Ok(output) => Outcome {
                stdout: Captured::from_text(&String::from_utf8_lossy(&output.stdout)),
                stderr: Captured::from_text(&String::from_utf8_lossy(&output.stderr)),
                ..Outcome::from_end(End::Exited(output.status.code().unwrap_or(-1)))
            },
            // No decision: a gate then fails as the user's settings say.
            Err(error) => Outcome::from_end(End::FailedToStart(error.to_string())),
        }
    }
}

impl Action for AuditedShell {
    fn name(&self) -> &'static str {
        "shell"
    }

    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
        jobs.iter().map(|job| self.run_one(job)).collect()
    }
}

fn run_clean(text: &str, input: &[u8]) -> io::Result<Output> {
    let mut child = Command::new("/bin/sh")
        .args(["-c", text])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A hook need not read its input.
        let _unread = stdin.write_all(input);
    }
    child.wait_with_output()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("expected a folder")?;
    let mut setup = Setup::in_memory(folder);
    setup.options.trust = TrustMode::All;
    let audit = Arc::new(Mutex::new(Vec::new()));
    let gambrel = Gambrel::new(setup).with_action(AuditedShell { audit: Arc::clone(&audit) });

    let call = ToolCall::new("bash", json!({"command": "rm -rf build"}));
    let fired = gambrel.fire_event(&HostEvent::tool_before("example", &call))?;

    let mut stdout = io::stdout();
    let verdict = &fired.decision.for_caller;
    writeln!(stdout, "{}: {}", verdict.ruling.as_str(), verdict.ruling_reasons().join("; "))?;
    for text in audit.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        writeln!(stdout, "ran: {text}")?;
    }
    Ok(())
}
