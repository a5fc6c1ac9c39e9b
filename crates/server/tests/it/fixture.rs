//! The fixture of most tests: a ledger with questions in a directory with a space in its name, and
//! a listener on its own port.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant, SystemTime};

use gambrel_model::PublicUrl;
use gambrel_model::ticket::{Answer, OpenedTicket, Ticket};
use gambrel_server::{Listener, ServerConfig, listen};
use tempfile::TempDir;

use crate::http_client::TestRequest;

pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);
pub(crate) const KEY: &str = "the key of the list";
const HOUR: u64 = 3_600_000;
/// Below the ports that Linux gives to a listener that names none (32768 and above).
const FIRST_RESERVED_PORT: u16 = 20_000;

pub(crate) struct ServerFixture {
    _root: TempDir,
    pub(crate) dir: PathBuf,
    pub(crate) config: ServerConfig,
    pub(crate) listening: Listener,
    pub(crate) port: u16,
}

impl ServerFixture {
    /// A server with callback links only.
    pub(crate) fn new() -> Self {
        Self::with_key(None)
    }

    /// A server with callback links and the list.
    pub(crate) fn with_list() -> Self {
        Self::with_key(Some(KEY.to_owned()))
    }

    /// A server with callback links, the list, and a public address.
    pub(crate) fn with_public_url(url: &str) -> Self {
        let mut fixture = Self::unstarted(Some(KEY.to_owned()));
        fixture.config.public_url = Some(PublicUrl::parse(url).unwrap());
        fixture.start(0)
    }

    /// A server on a port that the system gives to no other test, so that the port stays free after
    /// the listener has closed.
    pub(crate) fn on_reserved_port() -> Self {
        Self::unstarted(None).start(free_port())
    }

    fn with_key(key: Option<String>) -> Self {
        Self::unstarted(key).start(0)
    }

    fn unstarted(key: Option<String>) -> UnstartedServer {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("state of things");
        let config = ServerConfig { key, ..server_config(&dir) };
        UnstartedServer { root, dir, config }
    }

    pub(crate) fn open_ticket(&self, key: &str) -> OpenedTicket {
        open_ticket(&self.config, key)
    }

    pub(crate) fn open_ticket_with(&self, ticket: Ticket) -> OpenedTicket {
        self.config.ledger.open_ticket(&ticket).unwrap()
    }

    pub(crate) fn answer_of(&self, opened: &OpenedTicket) -> Option<Answer> {
        self.config.ledger.find_ticket(&opened.ticket.id).unwrap().unwrap().answer
    }

    pub(crate) fn get(&self, path: &str) -> TestRequest {
        TestRequest::get(self.port, path)
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> TestRequest {
        TestRequest::post(self.port, path, body)
    }

    /// The cookie of a browser that has shown the key.
    pub(crate) fn cookie(&self) -> String {
        let shown = self.get(&format!("/?key={}", KEY.replace(' ', "%20"))).send();
        let cookie = shown.header("set-cookie").unwrap();
        format!("Cookie: {}", cookie.split(';').next().unwrap())
    }
}

/// A server that does not listen yet.
struct UnstartedServer {
    root: TempDir,
    dir: PathBuf,
    config: ServerConfig,
}

impl UnstartedServer {
    fn start(self, port: u16) -> ServerFixture {
        let Self { root, dir, config } = self;
        let listening = listen(&config, port).unwrap();
        let port = listening.port();
        ServerFixture { _root: root, dir, config, listening, port }
    }
}

/// A port that the system gives to no other test, and that no other call returns.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let offset = u16::try_from(std::process::id() % 10_000).unwrap();
    loop {
        let port = FIRST_RESERVED_PORT + offset + NEXT.fetch_add(60, Ordering::Relaxed) % 2_000;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}

pub(crate) fn server_config(dir: &Path) -> ServerConfig {
    let ledger = gambrel_ledger::open_state_dir(dir.to_owned());
    ServerConfig { ledger, key: None, ledger_id: dir.display().to_string(), public_url: None }
}

pub(crate) fn open_ticket(config: &ServerConfig, key: &str) -> OpenedTicket {
    config.ledger.open_ticket(&new_ticket(key)).unwrap()
}

/// A question that expires after an hour.
pub(crate) fn new_ticket(key: &str) -> Ticket {
    Ticket {
        key: key.to_owned(),
        at: now_ms(),
        expires: now_ms() + HOUR,
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

pub(crate) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    u64::try_from(now.as_millis()).unwrap()
}

/// Polls until `poll` returns a value.
pub(crate) fn wait_until<T>(what: &str, mut poll: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + TEST_TIMEOUT;
    loop {
        if let Some(found) = poll() {
            return found;
        }
        assert!(Instant::now() < end, "not within {TEST_TIMEOUT:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
