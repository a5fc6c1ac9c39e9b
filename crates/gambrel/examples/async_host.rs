//! An async host: `fire` blocks, so it runs on a thread for blocking work, and the host goes on
//! meanwhile. Several sessions fire at once. `cargo run --example async_host FOLDER`.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gambrel::{Gambrel, HostEvent, Setup, ToolCall, TrustMode};
use serde_json::json;
use tokio::runtime::Builder;
use tokio::task::{JoinHandle, spawn_blocking};

const SESSIONS: [&str; 3] = ["red", "green", "blue"];

/// Fires on a thread of the runtime, and returns the ruling.
fn fire(gambrel: &Arc<Gambrel>, session: &'static str) -> JoinHandle<Result<String, String>> {
    let gambrel = Arc::clone(gambrel);
    spawn_blocking(move || {
        let call = ToolCall::new("bash", json!({"command": "make deploy"}));
        let event = HostEvent::tool_before(session, &call);
        let fired = gambrel.fire_event(&event).map_err(|complaint| complaint.to_string())?;
        // The host has what it needs: messages of this decision are not delivered again.
        gambrel.mark_delivered(&fired.decision).map_err(|error| error.to_string())?;
        let verdict = &fired.decision.for_caller;
        Ok(format!("{} {}", verdict.ruling.as_str(), verdict.ruling_reasons().join("; ")))
    })
}

async fn host(gambrel: Arc<Gambrel>) -> Result<(), Box<dyn std::error::Error>> {
    let began = Instant::now();
    let firings: Vec<_> =
        SESSIONS.iter().map(|session| (session, fire(&gambrel, session))).collect();
    // The host is not blocked.
    tokio::time::sleep(Duration::from_millis(1)).await;
    for (session, firing) in firings {
        writeln!(io::stdout(), "{session}: {}", firing.await??.trim_end())?;
    }
    writeln!(io::stderr(), "took {} ms", began.elapsed().as_millis())?;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("expected a folder")?;
    let mut setup = Setup::in_memory(folder);
    setup.options.trust = TrustMode::All;
    let gambrel = Arc::new(Gambrel::new(setup));
    Builder::new_current_thread().enable_time().build()?.block_on(host(gambrel))
}
