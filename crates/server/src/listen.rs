//! The listener of a run that waits for an answer. Runs of one ledger share a port: the first one
//! serves it for all, and when it goes, one that still waits takes its place.

use std::io;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::watch;

use crate::connections;
use crate::place::Place;
use crate::probe::{Met, probe};
use crate::room::{Desk, Room};

/// How many ports after the wished one are tried.
const NEIGHBOURS: u16 = 50;
/// How often one who shares a port looks whether it has become free.
const LOOK: Duration = Duration::from_millis(300);
/// How long work on the ledger that is under way at the end may still take.
const GRACE: Duration = Duration::from_secs(1);

/// The listeners of this process.
static STATIONS: Mutex<Vec<Weak<Station>>> = Mutex::new(Vec::new());

/// Why nobody listens.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The system refused the port.
    #[error("port {port} cannot be used: {why}")]
    Refused {
        /// The port.
        port: u16,
        /// What the system said.
        why: io::Error,
    },
    /// Every port that was tried has somebody else on it.
    #[error("ports {from} to {to} are all taken; name another one with --port")]
    AllTaken {
        /// The first that was tried.
        from: u16,
        /// The last.
        to: u16,
    },
    /// The listener itself could not be started.
    #[error("the listener cannot start: {0}")]
    Start(#[from] io::Error),
}

/// A listener that is there as long as this is kept.
#[derive(Debug, Clone)]
pub struct Listening {
    station: Arc<Station>,
}

impl Listening {
    /// What links begin with: `http://localhost:8765`.
    pub fn base(&self) -> &str {
        &self.station.base
    }
}

/// Listens for answers on `port`, or on one of the next fifty if strangers have it.
pub fn listen(desk: &Desk, port: u16) -> Result<Listening, ListenError> {
    let mut stations = STATIONS.lock().unwrap_or_else(PoisonError::into_inner);
    stations.retain(|station| station.strong_count() > 0);
    let known: Vec<_> = stations.iter().filter_map(Weak::upgrade).collect();
    let station = match find(desk, port, &known)? {
        Found::Here(station) => station,
        Found::Free(place) => Station::start(desk, place.port, Some(place))?,
        Found::Shared(port) => Station::start(desk, port, None)?,
    };
    stations.push(Arc::downgrade(&station));
    // `known` may hold a station that its last user has just left: ending it takes a moment.
    drop(stations);
    Ok(Listening { station })
}

/// A port for one who does not share.
pub(crate) fn own_place(port: u16) -> Result<Place, ListenError> {
    for candidate in candidates(port) {
        if let Some(place) = take(candidate)? {
            return Ok(place);
        }
    }
    Err(all_taken(port))
}

/// What `localhost` is called in a link.
pub(crate) fn base_of(port: u16) -> String {
    format!("http://localhost:{port}")
}

/// A quiet runtime for one thread.
pub(crate) fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(16).build()
}

enum Found {
    Here(Arc<Station>),
    Free(Place),
    Shared(u16),
}

fn find(desk: &Desk, port: u16, known: &[Arc<Station>]) -> Result<Found, ListenError> {
    for candidate in candidates(port) {
        let here = |station: &&Arc<Station>| station.port == candidate && station.mark == desk.mark;
        if let Some(station) = known.iter().find(here) {
            return Ok(Found::Here(Arc::clone(station)));
        }
        // Twice: whoever had it may be leaving just now.
        for _ in 0..2 {
            if let Some(place) = take(candidate)? {
                return Ok(Found::Free(place));
            }
            match probe(candidate, &desk.mark) {
                Met::Kin => return Ok(Found::Shared(candidate)),
                Met::Stranger => break,
                Met::Nobody => {}
            }
        }
    }
    Err(all_taken(port))
}

fn candidates(port: u16) -> std::ops::RangeInclusive<u16> {
    if port == 0 { 0..=0 } else { port..=port.saturating_add(NEIGHBOURS) }
}

fn all_taken(port: u16) -> ListenError {
    ListenError::AllTaken { from: port, to: *candidates(port).end() }
}

fn take(port: u16) -> Result<Option<Place>, ListenError> {
    Place::take(port).map_err(|why| ListenError::Refused { port, why })
}

/// One port of this process and the thread that serves it, or waits to.
#[derive(Debug)]
struct Station {
    port: u16,
    base: String,
    mark: String,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Station {
    fn start(desk: &Desk, port: u16, place: Option<Place>) -> Result<Arc<Self>, ListenError> {
        let (stop, stopped) = watch::channel(false);
        let room = Arc::new(Room::new(desk.clone(), port, stopped.clone())?);
        let runtime = runtime()?;
        let work = move || {
            runtime.block_on(keep(room, place, stopped));
            runtime.shutdown_timeout(GRACE);
        };
        let thread = std::thread::Builder::new().name("gambrel-listen".into()).spawn(work)?;
        let (base, mark) = (base_of(port), desk.mark.clone());
        Ok(Arc::new(Self { port, base, mark, stop, thread: Some(thread) }))
    }
}

impl Drop for Station {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

async fn keep(room: Arc<Room>, place: Option<Place>, mut stopped: watch::Receiver<bool>) {
    let place = match place {
        Some(place) => place,
        None => tokio::select! {
            place = freed(room.port) => place,
            _ = stopped.wait_for(|stop| *stop) => return,
        },
    };
    // Sockets that the runtime cannot take are sockets that nobody can serve: the links stay
    // answerable by command.
    connections::accept(place, room, stopped).await.ok();
}

async fn freed(port: u16) -> Place {
    loop {
        tokio::time::sleep(LOOK).await;
        if let Ok(Some(place)) = Place::take(port) {
            return place;
        }
    }
}
