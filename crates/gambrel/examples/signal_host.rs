//! A host that lives on after a signal: it fires the same event twice in the given folder and
//! prints for each firing the caught signal and the trail. The tests use it.

use std::io::{self, Write};

use gambrel::{Gambrel, Setup, SignalGuard, SignalPolicy, TrustMode};

const EVENT: &[u8] = br#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"ls"}}"#;

fn main() -> io::Result<()> {
    let folder = std::env::args().nth(1).ok_or_else(|| io::Error::other("expected a folder"))?;
    let mut setup = Setup::in_memory(folder);
    setup.signals = SignalPolicy::Return;
    setup.options.trust = TrustMode::All;
    let gambrel = Gambrel::new(setup);

    for _ in 0..2 {
        // The outermost guard: this host decides what follows a signal.
        let guard = SignalGuard::install();
        let event = gambrel
            .receive("claude", EVENT)
            .map_err(|complaint| io::Error::other(complaint.message))?;
        let fired = gambrel.fire(event);
        let signal = guard.and_then(|guard| guard.triggered());
        let trail: Vec<String> = fired.decision.trail.iter().map(|step| step.why.clone()).collect();
        writeln!(io::stdout(), "signal {}: {}", signal.unwrap_or(0), trail.join("; "))?;
    }
    Ok(())
}
