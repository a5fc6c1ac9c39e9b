//! What most tests begin with: a ledger in a folder with a space in its name, questions in it, and
//! a listener on a port of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use gambrel_ledger::{LocalLedger, Redactor};
use gambrel_model::ticket::{Answer, OpenedTicket, Ticket};
use gambrel_server::{Desk, Listening, listen};
use tempfile::TempDir;

use crate::caller::Ask;

pub(crate) const DEADLINE: Duration = Duration::from_secs(60);
pub(crate) const KEY: &str = "the key of the list";
const HOUR: u64 = 3_600_000;

pub(crate) struct Scene {
    _root: TempDir,
    pub(crate) dir: PathBuf,
    pub(crate) desk: Desk,
    pub(crate) listening: Listening,
    pub(crate) port: u16,
}

impl Scene {
    /// With links only.
    pub(crate) fn new() -> Self {
        Self::with(None)
    }

    /// With the list too.
    pub(crate) fn with_list() -> Self {
        Self::with(Some(KEY.to_owned()))
    }

    fn with(key: Option<String>) -> Self {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("state of things");
        let desk = Desk { key, ..desk(&dir) };
        let listening = listen(&desk, 0).unwrap();
        let port = port_of(listening.base());
        Self { _root: root, dir, desk, listening, port }
    }

    pub(crate) fn open(&self, key: &str) -> OpenedTicket {
        open(&self.desk, key)
    }

    pub(crate) fn open_with(&self, asked: Ticket) -> OpenedTicket {
        self.desk.ledger.open_ticket(&asked).unwrap()
    }

    pub(crate) fn answer(&self, opened: &OpenedTicket) -> Option<Answer> {
        self.desk.ledger.ticket(&opened.ticket.id).unwrap().unwrap().answer
    }

    pub(crate) fn get(&self, path: &str) -> Ask {
        Ask::get(self.port, path)
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Ask {
        Ask::post(self.port, path, body)
    }

    /// The cookie of one who has shown the key.
    pub(crate) fn cookie(&self) -> String {
        let shown = self.get(&format!("/?key={}", KEY.replace(' ', "%20"))).send();
        let cookie = shown.header("set-cookie").unwrap();
        format!("Cookie: {}", cookie.split(';').next().unwrap())
    }
}

pub(crate) fn desk(dir: &Path) -> Desk {
    let ledger = LocalLedger::open(dir.to_owned(), Redactor::default());
    Desk { ledger: Arc::new(ledger), key: None, mark: dir.display().to_string() }
}

pub(crate) fn open(desk: &Desk, key: &str) -> OpenedTicket {
    desk.ledger.open_ticket(&asked(key)).unwrap()
}

/// A question that counts for an hour.
pub(crate) fn asked(key: &str) -> Ticket {
    Ticket {
        key: key.to_owned(),
        at: now(),
        expires: now() + HOUR,
        session: "s-1".to_owned(),
        project: "/home/ada/my project".to_owned(),
        hook: "ask-before-push".to_owned(),
        title: format!("Run git push for {key}?"),
        shown: vec![("Command".to_owned(), "git push origin main".to_owned())],
        ..Ticket::default()
    }
}

pub(crate) fn path_of(opened: &OpenedTicket) -> String {
    format!("/callback/{}", opened.token)
}

pub(crate) fn port_of(base: &str) -> u16 {
    base.strip_prefix("http://localhost:").unwrap().parse().unwrap()
}

pub(crate) fn now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    u64::try_from(now.as_millis()).unwrap()
}

/// Asks again and again until something is so.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "not within {DEADLINE:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
