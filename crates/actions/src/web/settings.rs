//! Settings for the network: the approval channel, and for tests a resolver and root certificates.
//! The program that builds the actions sets them; no configuration file can change them.

use std::any::Any;
use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use gambrel_model::ledger::Ledger;
use gambrel_model::{FileChange, Ticket};

use gambrel_process::settings::Settings;

/// Resolves a host name; it may block.
pub type ResolveFn = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;
/// Starts to listen on a port of this machine; the error's text is for the user.
pub type ListenFn =
    Arc<dyn Fn(u16) -> Result<ListenerHandle, Box<dyn Error + Send + Sync>> + Send + Sync>;

/// How an action sends requests.
#[derive(Clone, Default)]
pub struct WebSettings {
    /// Settings for detached calls and for processes.
    pub settings: Settings,
    /// Stores questions and receives their answers; without it no question can be asked.
    pub approvals: Option<ApprovalChannel>,
    /// Resolves host names; `None` uses the machine's resolver.
    pub resolve: Option<ResolveFn>,
    /// Root certificates (DER) that are trusted in addition to the machine's.
    pub roots: Vec<Vec<u8>>,
}

/// Adds to a question what only the machine knows, such as the difference that a change makes.
pub type AddFactsFn = Arc<dyn Fn(&mut Ticket, Option<&FileChange>) + Send + Sync>;

/// Stores questions and receives their answers.
#[derive(Clone)]
pub struct ApprovalChannel {
    /// Stores the tickets.
    pub ledger: Arc<dyn Ledger>,
    /// Starts a listener for answers.
    pub listen: ListenFn,
    /// Adds facts to a question.
    pub add_facts: AddFactsFn,
    /// Told when a question waits for its answer.
    pub on_wait: Arc<dyn Fn(&Ticket) + Send + Sync>,
    /// Whether links work after this process has ended.
    pub is_served: Arc<dyn Fn() -> bool + Send + Sync>,
}

/// Keeps a listener open.
pub struct ListenerHandle {
    /// The beginning of links: `http://localhost:8765`.
    pub base: String,
    /// Dropping it closes the listener.
    pub guard: Box<dyn Any + Send>,
}
