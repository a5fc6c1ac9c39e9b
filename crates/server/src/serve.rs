//! `gambrel serve`: the page of open approvals. It shares its port with no other process, because a
//! waiting run that serves the same tickets may lack the page. It keeps links to other ports alive
//! after the process that sent them has ended.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use gambrel_model::PublicUrl;
use tokio::sync::watch;

use crate::connections;
use crate::link_ports::LinkPorts;
use crate::listen::{ListenError, base_url, build_runtime, take_unshared_port};
use crate::state::{AppState, ServerConfig};

/// Time to finish calls to the ledger at the end.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

/// SIGINT, sent by Ctrl-C.
const INTERRUPT: u8 = 2;
/// SIGTERM, sent by the system.
const TERMINATE: u8 = 15;

/// Where the server listens.
#[derive(Debug, Clone, Copy, Default)]
pub struct ServeAddress {
    /// The port, or the first of those that are tried.
    pub port: u16,
    /// One more address besides loopback, for other machines.
    pub bind: Option<IpAddr>,
}

/// The addresses of a server that has started.
#[derive(Debug, Clone)]
pub struct ServedAddress {
    /// The beginning of addresses on this machine.
    pub base: String,
    /// The beginning of links for other machines.
    pub public: Option<String>,
}

/// Serves until SIGINT or SIGTERM, and returns that signal. Calls `on_ready` once links work.
pub fn serve(
    config: ServerConfig,
    address: ServeAddress,
    on_ready: &mut dyn FnMut(&ServedAddress),
) -> Result<u8, ListenError> {
    let bound_port = take_unshared_port(address.port, address.bind)?;
    let public_url =
        config.public_url.clone().or_else(|| bound_url(address.bind?, bound_port.port));
    let config = ServerConfig { public_url, ..config };
    let served = ServedAddress {
        base: base_url(bound_port.port),
        public: config.public_url.as_ref().map(ToString::to_string),
    };

    let (stop, stopped) = watch::channel(false);
    let link_ports = LinkPorts::start(&config, address.port, bound_port.port)?;
    let state = Arc::new(AppState::new(config, bound_port.port, stopped.clone())?);
    let runtime = build_runtime()?;
    let done = runtime.block_on(async {
        let mut end = EndSignals::new()?;
        on_ready(&served);
        let serving = connections::serve_connections(bound_port, state, stopped);
        tokio::pin!(serving);
        let signal = tokio::select! {
            done = &mut serving => return done.map(|()| TERMINATE),
            signal = end.wait() => signal,
        };
        stop.send_replace(true);
        serving.await.map(|()| signal)
    });
    link_ports.stop();
    runtime.shutdown_timeout(SHUTDOWN_GRACE);
    done.map_err(ListenError::Start)
}

/// The address of links to an address that the user had bound; `None` for one that stands for many.
fn bound_url(address: IpAddr, port: u16) -> Option<PublicUrl> {
    let is_one = !address.is_unspecified() && !address.is_loopback();
    let socket = SocketAddr::new(address, port);
    is_one.then(|| PublicUrl::parse(&format!("http://{socket}")).ok()).flatten()
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
