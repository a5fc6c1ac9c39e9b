//! What everybody who answers a request shares: the desk, the port, and what is remembered from
//! one request to the next.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gambrel_model::ledger::{Ledger, LedgerError};
use gambrel_model::ticket::Ticket;
use tokio::sync::{Semaphore, watch};

use crate::guesses::Guesses;
use crate::reply::Reply;

/// A list of tickets this young need not be read again.
const FRESH: Duration = Duration::from_millis(250);
/// How many pages may be kept up to date at once.
const FOLLOWERS: usize = 32;

/// Whose tickets are served, and who may see all of them.
#[derive(Clone)]
pub struct Desk {
    /// Where the tickets are.
    pub ledger: Arc<dyn Ledger + Send + Sync>,
    /// Opens the page of open approvals; without one there is no such page.
    pub key: Option<String>,
    /// Names the ledger: who has the same mark serves the same tickets.
    pub mark: String,
}

/// One running listener.
pub(crate) struct Room {
    pub(crate) desk: Desk,
    pub(crate) port: u16,
    /// What a browser keeps after it has shown the key. Other servers on `localhost` are sent it
    /// too, whatever their port: so it is not the key, and dies with this listener.
    pub(crate) pass: String,
    pub(crate) stopped: watch::Receiver<bool>,
    pub(crate) followers: Arc<Semaphore>,
    guesses: Mutex<Guesses>,
    last: tokio::sync::Mutex<Option<(Instant, Arc<Vec<Ticket>>)>>,
}

impl Room {
    pub(crate) fn new(desk: Desk, port: u16, stopped: watch::Receiver<bool>) -> io::Result<Self> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(io::Error::other)?;
        Ok(Self {
            desk,
            port,
            pass: URL_SAFE_NO_PAD.encode(secret),
            stopped,
            followers: Arc::new(Semaphore::new(FOLLOWERS)),
            guesses: Mutex::default(),
            last: tokio::sync::Mutex::default(),
        })
    }

    /// Asks the ledger, which may wait for a disk or for another process.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn Ledger) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, Reply> {
        let ledger = Arc::clone(&self.desk.ledger);
        let answer = tokio::task::spawn_blocking(move || question(ledger.as_ref())).await;
        answer.ok().and_then(Result::ok).ok_or_else(Reply::ledger_trouble)
    }

    /// Every ticket, read anew unless somebody just did.
    pub(crate) async fn tickets(&self) -> Result<Arc<Vec<Ticket>>, Reply> {
        let mut last = self.last.lock().await;
        if let Some((_, tickets)) = last.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
            return Ok(Arc::clone(tickets));
        }
        let tickets = Arc::new(self.ask(|ledger| ledger.tickets()).await?);
        *last = Some((Instant::now(), Arc::clone(&tickets)));
        Ok(tickets)
    }

    /// What one who has guessed wrong is told.
    pub(crate) fn wrong(&self) -> Reply {
        let mut guesses = self.guesses.lock().unwrap_or_else(PoisonError::into_inner);
        if guesses.one_more(Instant::now()) { Reply::unknown() } else { Reply::too_many() }
    }

    /// Forgets what it has read: an answer came.
    pub(crate) async fn changed(&self) {
        *self.last.lock().await = None;
    }
}

/// Milliseconds since the epoch.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
