//! The listener of a process that waits for an answer. Processes with the same ledger share a port:
//! the first serves it for all. When it ends, another waiting process takes over.

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use gambrel_model::PublicUrl;
use tokio::sync::watch;

use crate::connections;
use crate::port::BoundPort;
use crate::probe::{PortOwner, find_owner};
use crate::state::{AppState, ServerConfig};

/// How many ports after the requested one are tried.
const MAX_PORT_OFFSET: u16 = 50;
/// How often a process that shares a port checks whether it is free.
const PORT_CHECK_INTERVAL: Duration = Duration::from_millis(300);
/// Time to finish calls to the ledger at the end.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

/// The listeners of this process.
static LISTENERS: Mutex<Vec<KnownListener>> = Mutex::new(Vec::new());

/// A listener of this process. A search compares the fields, so that it keeps no listener open.
struct KnownListener {
    port: u16,
    ledger_id: String,
    listener: Weak<SharedListener>,
}

/// Why no listener could start.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The system refused the port.
    #[error("port {port} cannot be used: {why}")]
    Refused {
        /// The port.
        port: u16,
        /// The system's error.
        why: io::Error,
    },
    /// Other programs use every port that was tried.
    #[error("ports {from} to {to} are all taken; name another one with --port")]
    AllTaken {
        /// The first port that was tried.
        from: u16,
        /// The last port that was tried.
        to: u16,
    },
    /// The listener itself could not be started.
    #[error("the listener cannot start: {0}")]
    Start(#[from] io::Error),
}

/// Keeps a listener open.
#[derive(Debug, Clone)]
pub struct Listener {
    shared: Arc<SharedListener>,
}

impl Listener {
    /// The beginning of links: the public address, or `http://localhost:8765`.
    pub fn base(&self) -> &str {
        &self.shared.base
    }

    /// The port on this machine.
    pub fn port(&self) -> u16 {
        self.shared.port
    }
}

/// Listens for answers on `port`, or on one of the next fifty if other programs use it.
pub fn listen(config: &ServerConfig, port: u16) -> Result<Listener, ListenError> {
    let mut listeners = LISTENERS.lock().unwrap_or_else(PoisonError::into_inner);
    listeners.retain(|known| known.listener.strong_count() > 0);
    let shared = match find_listener(config, port, &listeners)? {
        ListenerState::InProcess(station) => station,
        ListenerState::Free(bound_port) => {
            SharedListener::start(config, bound_port.port, Some(bound_port))?
        }
        ListenerState::Shared(port, public_url) => {
            let public_url = config.public_url.clone().or(public_url);
            let config = ServerConfig { public_url, ..config.clone() };
            SharedListener::start(&config, port, None)?
        }
    };
    let (ledger_id, listener) = (config.ledger_id.clone(), Arc::downgrade(&shared));
    listeners.push(KnownListener { port: shared.port, ledger_id, listener });
    Ok(Listener { shared })
}

/// Serves this port, or waits until its owner ends. `None` if another program uses it.
pub(crate) fn share_port(config: &ServerConfig, port: u16) -> Option<Listener> {
    let bound_port = take_port(port).ok()?;
    if bound_port.is_none()
        && !matches!(find_owner(port, &config.ledger_id), PortOwner::SameLedger(_))
    {
        return None;
    }
    let shared = SharedListener::start(config, port, bound_port).ok()?;
    Some(Listener { shared })
}

/// Takes a port that is not shared, also on one more address.
pub(crate) fn take_unshared_port(
    port: u16,
    more: Option<IpAddr>,
) -> Result<BoundPort, ListenError> {
    for candidate in candidate_ports(port) {
        let bound_port = BoundPort::bind_also(candidate, more);
        let refused = |why| ListenError::Refused { port: candidate, why };
        if let Some(bound_port) = bound_port.map_err(refused)? {
            return Ok(bound_port);
        }
    }
    Err(all_taken(port))
}

/// The beginning of links to a port of this machine.
pub(crate) fn base_url(port: u16) -> String {
    format!("http://localhost:{port}")
}

/// An async runtime for one thread.
pub(crate) fn build_runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(16).build()
}

enum ListenerState {
    InProcess(Arc<SharedListener>),
    Free(BoundPort),
    Shared(u16, Option<PublicUrl>),
}

fn find_listener(
    config: &ServerConfig,
    port: u16,
    listeners: &[KnownListener],
) -> Result<ListenerState, ListenError> {
    for candidate in candidate_ports(port) {
        let here =
            |known: &&KnownListener| known.port == candidate && known.ledger_id == config.ledger_id;
        let mut open = listeners.iter().filter(here).filter_map(|known| known.listener.upgrade());
        if let Some(station) = open.next() {
            return Ok(ListenerState::InProcess(station));
        }
        // Twice: its owner may be ending just now.
        for _ in 0..2 {
            if let Some(bound_port) = take_port(candidate)? {
                return Ok(ListenerState::Free(bound_port));
            }
            match find_owner(candidate, &config.ledger_id) {
                PortOwner::SameLedger(public_url) => {
                    return Ok(ListenerState::Shared(candidate, public_url));
                }
                PortOwner::OtherProgram => break,
                PortOwner::Nobody => {}
            }
        }
    }
    Err(all_taken(port))
}

fn candidate_ports(port: u16) -> std::ops::RangeInclusive<u16> {
    if port == 0 { 0..=0 } else { port..=port.saturating_add(MAX_PORT_OFFSET) }
}

fn all_taken(port: u16) -> ListenError {
    ListenError::AllTaken { from: port, to: *candidate_ports(port).end() }
}

fn take_port(port: u16) -> Result<Option<BoundPort>, ListenError> {
    BoundPort::bind(port).map_err(|why| ListenError::Refused { port, why })
}

/// One port of this process and the thread that serves it, or waits to.
#[derive(Debug)]
struct SharedListener {
    port: u16,
    base: String,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl SharedListener {
    fn start(
        config: &ServerConfig,
        port: u16,
        bound_port: Option<BoundPort>,
    ) -> Result<Arc<Self>, ListenError> {
        let (stop, stopped) = watch::channel(false);
        let base = config.public_url.as_ref().map_or_else(|| base_url(port), ToString::to_string);
        let state = Arc::new(AppState::new(config.clone(), port, stopped.clone())?);
        let runtime = build_runtime()?;
        let work = move || {
            runtime.block_on(serve_port(state, bound_port, stopped));
            runtime.shutdown_timeout(SHUTDOWN_GRACE);
        };
        let thread = std::thread::Builder::new().name("gambrel-listen".into()).spawn(work)?;
        Ok(Arc::new(Self { port, base, stop, thread: Some(thread) }))
    }
}

impl Drop for SharedListener {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

async fn serve_port(
    state: Arc<AppState>,
    bound_port: Option<BoundPort>,
    mut stopped: watch::Receiver<bool>,
) {
    let bound_port = match bound_port {
        Some(bound_port) => bound_port,
        None => tokio::select! {
            bound_port = wait_for_port(state.port) => bound_port,
            _ = stopped.wait_for(|stop| *stop) => return,
        },
    };
    // If the runtime cannot take the sockets, the links stay answerable by command.
    connections::serve_connections(bound_port, state, stopped).await.ok();
}

async fn wait_for_port(port: u16) -> BoundPort {
    loop {
        tokio::time::sleep(PORT_CHECK_INTERVAL).await;
        if let Ok(Some(bound_port)) = BoundPort::bind(port) {
            return bound_port;
        }
    }
}
