//! `gambrel serve`: the page of open approvals. It shares its port with no other process, because a
//! waiting run that serves the same tickets may lack the page.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::connections;
use crate::listen::{ListenError, base_url, build_runtime, take_unshared_port};
use crate::state::{AppState, ServerConfig};

/// Time to finish calls to the ledger at the end.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

/// SIGINT, sent by Ctrl-C.
const INTERRUPT: u8 = 2;
/// SIGTERM, sent by the system.
const TERMINATE: u8 = 15;

/// Serves until SIGINT or SIGTERM, and returns that signal. Calls `on_ready` with the beginning of
/// links once they work.
pub fn serve(
    config: ServerConfig,
    port: u16,
    on_ready: &mut dyn FnMut(&str),
) -> Result<u8, ListenError> {
    let bound_port = take_unshared_port(port)?;
    let (stop, stopped) = watch::channel(false);
    let state = Arc::new(AppState::new(config, bound_port.port, stopped.clone())?);
    let runtime = build_runtime()?;
    let done = runtime.block_on(async {
        let mut end = EndSignals::new()?;
        on_ready(&base_url(bound_port.port));
        let serving = connections::serve_connections(bound_port, state, stopped);
        tokio::pin!(serving);
        let signal = tokio::select! {
            done = &mut serving => return done.map(|()| TERMINATE),
            signal = end.wait() => signal,
        };
        stop.send_replace(true);
        serving.await.map(|()| signal)
    });
    runtime.shutdown_timeout(SHUTDOWN_GRACE);
    done.map_err(ListenError::Start)
}

/// The signals that end the server.
#[cfg(unix)]
struct EndSignals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl EndSignals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Self { interrupt, terminate: signal(SignalKind::terminate())? })
    }

    async fn wait(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => INTERRUPT,
            _ = self.terminate.recv() => TERMINATE,
        }
    }
}

#[cfg(not(unix))]
struct EndSignals;

#[cfg(not(unix))]
impl EndSignals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn wait(&mut self) -> u8 {
        tokio::signal::ctrl_c().await.ok();
        INTERRUPT
    }
}
