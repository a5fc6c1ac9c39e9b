//! State shared by all requests: the configuration, the port, and the cached list.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gambrel_model::PublicUrl;
use gambrel_model::ledger::{Ledger, LedgerError};
use gambrel_model::ticket::Ticket;
use tokio::sync::{Semaphore, watch};

use crate::rate_limit::FailedTokens;
use crate::response::CallbackResponse;

/// A cached list of tickets is used again within this time.
const CACHE_WINDOW: Duration = Duration::from_millis(250);
/// The most pages that may follow the list.
const MAX_FOLLOWER_COUNT: usize = 32;

/// The ledger whose tickets are served, and the key to its list.
#[derive(Clone)]
pub struct ServerConfig {
    /// Stores the tickets.
    pub ledger: Arc<dyn Ledger>,
    /// The key to the page of open approvals; without one there is no such page.
    pub key: Option<String>,
    /// Identifies the ledger: processes with the same value serve the same tickets.
    pub ledger_id: String,
    /// The address under which other machines reach the links, and nothing else.
    pub public_url: Option<PublicUrl>,
}

/// The state of one listener.
pub(crate) struct AppState {
    pub(crate) config: ServerConfig,
    pub(crate) port: u16,
    /// The cookie of a browser that has shown the key. Browsers also send it to other servers on
    /// `localhost`: so it is not the key, and it ends with this listener.
    pub(crate) cookie_value: String,
    pub(crate) stopped: watch::Receiver<bool>,
    pub(crate) followers: Arc<Semaphore>,
    failed_tokens: Mutex<FailedTokens>,
    cached_tickets: tokio::sync::Mutex<Option<(Instant, Arc<Vec<Ticket>>)>>,
}

impl AppState {
    pub(crate) fn new(
        config: ServerConfig,
        port: u16,
        stopped: watch::Receiver<bool>,
    ) -> io::Result<Self> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(io::Error::other)?;
        Ok(Self {
            config,
            port,
            cookie_value: URL_SAFE_NO_PAD.encode(secret),
            stopped,
            followers: Arc::new(Semaphore::new(MAX_FOLLOWER_COUNT)),
            failed_tokens: Mutex::default(),
            cached_tickets: tokio::sync::Mutex::default(),
        })
    }

    /// Calls the ledger, which may wait for a disk or for another process.
    pub(crate) async fn query_ledger<T: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn Ledger) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, CallbackResponse> {
        let ledger = Arc::clone(&self.config.ledger);
        let answer = tokio::task::spawn_blocking(move || question(ledger.as_ref())).await;
        answer.ok().and_then(Result::ok).ok_or_else(CallbackResponse::ledger_trouble)
    }

    /// Every ticket, cached for a moment.
    pub(crate) async fn tickets(&self) -> Result<Arc<Vec<Ticket>>, CallbackResponse> {
        let mut last = self.cached_tickets.lock().await;
        if let Some((_, tickets)) = last.as_ref().filter(|(at, _)| at.elapsed() < CACHE_WINDOW) {
            return Ok(Arc::clone(tickets));
        }
        let tickets = Arc::new(self.query_ledger(|ledger| ledger.list_tickets()).await?);
        *last = Some((Instant::now(), Arc::clone(&tickets)));
        Ok(tickets)
    }

    /// The response to a wrong link or key.
    pub(crate) fn reject_wrong_link(&self) -> CallbackResponse {
        let mut failed_tokens = self.failed_tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if failed_tokens.record(Instant::now()) {
            CallbackResponse::unknown_link()
        } else {
            CallbackResponse::too_many()
        }
    }

    /// Drops the cached list after an answer.
    pub(crate) async fn clear_cache(&self) {
        *self.cached_tickets.lock().await = None;
    }
}

/// Milliseconds since the epoch.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
