//! What the program that composes the rooms decides about the network: where answers are listened
//! for, and in tests who resolves names and whom to trust. No configuration file can change it.

use std::any::Any;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use gambrel_model::ledger::Ledger;

use crate::settings::Settings;

/// Resolves a host name; it may block.
pub type Lookup = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;
/// Begins to listen on a port of this machine; the error is for a person.
pub type Listen = Arc<dyn Fn(u16) -> Result<Listening, String> + Send + Sync>;

/// How requests are made here.
#[derive(Clone, Default)]
pub struct WebSettings {
    /// For what is not waited for, and for processes.
    pub settings: Settings,
    /// Where questions are kept and answered; without it none can be asked.
    pub desk: Option<Desk>,
    /// Who resolves names; `None` is the machine's own resolver.
    pub lookup: Option<Lookup>,
    /// Certificates (DER) that are trusted beside those of the machine.
    pub roots: Vec<Vec<u8>>,
}

/// Where questions are kept, and where their answers come in.
#[derive(Clone)]
pub struct Desk {
    /// Keeps the tickets.
    pub ledger: Arc<dyn Ledger + Send + Sync>,
    /// Has answers listened for.
    pub listen: Listen,
}

/// Somebody listens as long as this is kept.
pub struct Listening {
    /// What links begin with: `http://localhost:8765`.
    pub base: String,
    /// Dropping it ends the listening.
    pub keep: Box<dyn Any + Send>,
}
