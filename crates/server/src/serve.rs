//! The page of open approvals for as long as a person wants it. It shares its port with nobody:
//! a run that serves the same tickets need not have the page.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::connections;
use crate::listen::{ListenError, base_of, own_place, runtime};
use crate::room::{Desk, Room};

/// How long work on the ledger that is under way at the end may still take.
const GRACE: Duration = Duration::from_secs(1);

/// What a person's Ctrl-C sends.
const INTERRUPT: u8 = 2;
/// What the system sends to end a program.
const TERMINATE: u8 = 15;

/// Serves until it is interrupted or told to end, and returns the signal that did. `on_ready` is
/// told what links begin with, once they work.
pub fn serve(desk: Desk, port: u16, on_ready: &mut dyn FnMut(&str)) -> Result<u8, ListenError> {
    let place = own_place(port)?;
    let (stop, stopped) = watch::channel(false);
    let room = Arc::new(Room::new(desk, place.port, stopped.clone())?);
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        let mut end = Ends::new()?;
        on_ready(&base_of(place.port));
        let serving = connections::accept(place, room, stopped);
        tokio::pin!(serving);
        let signal = tokio::select! {
            done = &mut serving => return done.map(|()| TERMINATE),
            signal = end.wait() => signal,
        };
        stop.send_replace(true);
        serving.await.map(|()| signal)
    });
    runtime.shutdown_timeout(GRACE);
    done.map_err(ListenError::Start)
}

/// The ways in which a person or the system ends a program.
#[cfg(unix)]
struct Ends {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Ends {
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
struct Ends;

#[cfg(not(unix))]
impl Ends {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn wait(&mut self) -> u8 {
        tokio::signal::ctrl_c().await.ok();
        INTERRUPT
    }
}
