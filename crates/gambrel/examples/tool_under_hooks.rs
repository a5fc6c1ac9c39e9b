//! A tool of a Rust host under the hooks of a folder: they may refuse the call, rewrite its input and
//! its output, and leave messages. Run it in a project: `cargo run --example tool_under_hooks FOLDER
//! COMMAND`.

use std::io::{self, Write};
use std::process::Command;

use gambrel::{Gambrel, Setup, ToolCall, ToolOutput, TrustMode};
use serde_json::{Value, json};

/// The tool itself: it receives the input as hooks left it.
fn run_shell(input: &Value) -> io::Result<ToolOutput> {
    let command = input["command"].as_str().unwrap_or_default();
    let output = Command::new("sh").args(["-c", command]).output()?;
    Ok(ToolOutput::text(&String::from_utf8_lossy(&output.stdout))
        .with_details(json!({"code": output.status.code()})))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (folder, command) =
        args.next().zip(args.next()).ok_or("expected a folder and a command")?;

    let mut setup = Setup::in_memory(folder);
    // For the example. Without this line, hooks run that `gambrel trust` has accepted.
    setup.options.trust = TrustMode::All;
    let gambrel = Gambrel::new(setup);

    let call = ToolCall::new("bash", json!({"command": command})).in_session("example");
    let wrapped = gambrel.wrap(&call, run_shell)?;

    let mut stdout = io::stdout();
    writeln!(stdout, "input: {}", wrapped.input["command"])?;
    match &wrapped.result {
        Ok(output) => writeln!(stdout, "output: {}", output.joined_text().trim_end())?,
        Err(error) => writeln!(stdout, "no output: {error}")?,
    }
    for message in &wrapped.messages {
        writeln!(stdout, "message: {}", message.text)?;
    }
    Ok(())
}
