//! An MCP server over stdin and stdout for the tests, written by hand so that it can break every
//! rule. Its argument selects the behaviour.

use std::io::{self, BufRead, Write};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

fn main() -> ExitCode {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let _ = writeln!(io::stderr(), "starting {mode}");
    match serve(&mode) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve(mode: &str) -> io::Result<()> {
    match mode {
        "dies" => return fail_with_stderr(),
        "hangs" => sleep_forever(),
        "floods" => write_endlessly(&(notification().to_string() + "\n"))?,
        "floods-line" => write_endlessly("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")?,
        // A child in its own session, which the server does not wait for.
        "leaves" => drop(detached_sleep().spawn()?),
        "stubborn" => ignore_term()?,
        _ => {}
    }
    for line in io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let Some(id) = request.get("id").cloned() else { continue };
        let reply = match request["method"].as_str() {
            Some("initialize") => json!({ "result": {
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "test", "version": "1" },
            } }),
            Some("tools/call") if mode == "dies-later" => return fail_with_stderr(),
            Some("tools/call") if mode == "hangs-later" => sleep_forever(),
            Some("tools/call") => call_tool(&request["params"])?,
            _ => json!({ "error": { "code": -32601, "message": "no such method" } }),
        };
        send_reply(&reply, &id)?;
    }
    Ok(())
}

fn call_tool(params: &Value) -> io::Result<Value> {
    let folder = std::env::current_dir()?;
    let folder = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let colour = std::env::var("COLOUR").unwrap_or_default();
    let text = |text: &str| json!({ "type": "text", "text": text });
    Ok(match params["name"].as_str() {
        Some("echo") => json!({ "result": {
            "content": [
                text(params["arguments"]["text"].as_str().unwrap_or_default()),
                { "type": "image", "data": "AAAA", "mimeType": "image/png" },
                text(&format!("{colour} in {folder}")),
            ],
            "structuredContent": { "tool": "echo" },
        } }),
        Some("shape") => json!({ "result": { "content": [], "structuredContent": { "a": 1 } } }),
        Some("mark") => {
            std::fs::write("mark", "")?;
            json!({ "result": { "content": [] } })
        }
        Some("fail") => json!({ "result": { "content": [text("out of paper")], "isError": true } }),
        _ => json!({ "error": { "code": -32602, "message": "Unknown tool" } }),
    })
}

fn send_reply(reply: &Value, id: &Value) -> io::Result<()> {
    let mut reply = reply.clone();
    reply["jsonrpc"] = "2.0".into();
    reply["id"] = id.clone();
    let mut out = io::stdout().lock();
    writeln!(out, "{reply}")?;
    out.flush()
}

fn notification() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/message",
        "params": { "level": "info", "data": "x".repeat(1000) } })
}

fn write_endlessly(text: &str) -> io::Result<()> {
    let block = text.repeat(100);
    loop {
        io::stdout().lock().write_all(block.as_bytes())?;
        io::stderr().lock().write_all(block.as_bytes())?;
    }
}

fn fail_with_stderr() -> io::Result<()> {
    let mut err = io::stderr().lock();
    for _ in 0..200 {
        writeln!(err, "there is much to say before the end comes")?;
    }
    writeln!(err, "no licence")?;
    Err(io::Error::other("no licence"))
}

fn sleep_forever() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(60));
    }
}

fn detached_sleep() -> Command {
    let mut command = Command::new("setsid");
    command.args(["sleep", "60"]).stdin(Stdio::null());
    command
}

/// Becomes a shell that ignores SIGTERM, with a child that ignores it too.
fn ignore_term() -> io::Result<()> {
    use std::os::unix::process::CommandExt;
    let text = "trap '' TERM; setsid sleep 60 & while :; do sleep 1; done";
    Err(Command::new("sh").args(["-c", text]).exec())
}
