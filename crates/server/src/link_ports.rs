//! The ports of links that are still open, while `gambrel serve` runs: a process that sent a link may
//! end before the question has its answer. The server then takes over its port. It also holds the
//! lock that tells other processes that somebody serves.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gambrel_model::ProcessOrigin;
use gambrel_model::ledger::{Ledger, LedgerError, RunLock};
use gambrel_model::ticket::TicketState;

use crate::listen::{Listener, share_port};
use crate::state::{ServerConfig, now_ms};

/// The lock that a running `gambrel serve` holds.
const SERVE_LOCK: &str = "approvals-server";
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// After another program used a port, it is tried again after this time.
const REFUSED_DELAY: Duration = Duration::from_secs(10);
/// How many ports are held at most.
const MAX_PORT_COUNT: usize = 16;

/// Whether a process serves the links of this ledger for as long as it runs.
pub fn is_served(ledger: &dyn Ledger) -> bool {
    ledger.lock_owner(SERVE_LOCK).is_ok_and(|owner| owner.is_some())
}

/// The thread that watches open tickets.
pub(crate) struct LinkPorts {
    thread: JoinHandle<()>,
    stop: Sender<()>,
}

impl LinkPorts {
    /// Starts the thread. `asked` is the port that links lead to by default, `own` that of the page.
    pub(crate) fn start(config: &ServerConfig, asked: u16, own: u16) -> io::Result<Self> {
        let config = ServerConfig { key: None, ..config.clone() };
        let mut ports = HeldPorts {
            config,
            asked,
            own,
            lock: None,
            listeners: BTreeMap::new(),
            refused: BTreeMap::new(),
        };
        let (stop, stopped) = channel();
        let work = move || {
            ports.update();
            while stopped.recv_timeout(CHECK_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                ports.update();
            }
        };
        let thread = std::thread::Builder::new().name("gambrel-links".into()).spawn(work)?;
        Ok(Self { thread, stop })
    }

    /// Ends the thread and waits for its end.
    pub(crate) fn stop(self) {
        drop(self.stop);
        self.thread.join().ok();
    }
}

struct HeldPorts {
    config: ServerConfig,
    asked: u16,
    own: u16,
    lock: Option<RunLock>,
    listeners: BTreeMap<u16, Listener>,
    /// Ports that another program used, and when.
    refused: BTreeMap<u16, Instant>,
}

impl HeldPorts {
    /// Holds the ports that open links lead to, and no others.
    fn update(&mut self) {
        if self.lock.is_none() {
            // Another `gambrel serve` may hold it.
            let origin = ProcessOrigin::of_this_process();
            self.lock = self.config.ledger.acquire_lock(SERVE_LOCK, &origin).ok();
        }
        // A ledger that cannot be read now counts as unchanged.
        let Ok(mut wanted) = self.find_ports() else { return };
        wanted.retain(|port| *port != self.own && *port != 0);
        wanted.truncate(MAX_PORT_COUNT);
        self.listeners.retain(|port, _| wanted.contains(port));
        self.refused.retain(|_, at| at.elapsed() < REFUSED_DELAY);
        wanted
            .retain(|port| !self.listeners.contains_key(port) && !self.refused.contains_key(port));
        for port in wanted {
            match share_port(&self.config, port) {
                Some(listener) => drop(self.listeners.insert(port, listener)),
                None => drop(self.refused.insert(port, Instant::now())),
            }
        }
    }

    fn find_ports(&self) -> Result<Vec<u16>, LedgerError> {
        let now = now_ms();
        let mut ports = vec![self.asked];
        for ticket in self.config.ledger.list_tickets()? {
            let is_open = ticket.sent && ticket.state_at(now) == TicketState::Open;
            let local = ticket.base_url.strip_prefix("http://localhost:");
            let port = local.filter(|_| is_open).and_then(|port| port.parse().ok());
            ports.extend(port.filter(|port| !ports.contains(port)));
        }
        Ok(ports)
    }
}
