//! Somebody on this machine who is written to over HTTP, keeps every letter as it came, and answers
//! when a test lets him; and the few words of HTTP that a test says itself.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::ground::{text, until};

/// Longer than anything here takes; a test that hangs ends all the same.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Letter {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
}

impl Letter {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}", text(&self.body)))
    }

    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub fn header(&self, name: &str) -> Option<&[u8]> {
        let own = self.headers.iter().find(|(known, _)| known == name);
        own.map(|(_, value)| value.as_slice())
    }

    /// The link that answers its question, without what the author hung on it.
    pub fn link(&self) -> String {
        let body = text(&self.body);
        let at = body.find("http://localhost:").unwrap_or_else(|| panic!("no link in {body}"));
        body[at..].chars().take_while(|c| !"\"?\\ ".contains(*c)).collect()
    }
}

/// Listens until the test process ends.
pub struct Mailbox {
    pub port: u16,
    letters: Arc<Mutex<Vec<Letter>>>,
}

impl Mailbox {
    /// Answers everything with 200 at once.
    pub fn open() -> Self {
        Self::answering(|_| Some(200))
    }

    /// Answers with a status when `answer` gives one, and hangs up when it gives none. A letter is
    /// kept before that.
    pub fn answering(answer: impl Fn(&Letter) -> Option<u16> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (letters, answer) = (Arc::new(Mutex::new(Vec::new())), Arc::new(answer));
        let kept = Arc::clone(&letters);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                std::thread::spawn(move || drop(take(stream, &kept, &*answer)));
            }
        });
        Self { port, letters }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub fn letters(&self) -> Vec<Letter> {
        self.letters.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.letters.lock().unwrap().len()
    }

    /// The newest letter, once there are so many.
    pub fn wait_for(&self, count: usize) -> Letter {
        until(&format!("letter {count}"), || self.count() >= count);
        self.letters()[count - 1].clone()
    }
}

fn take(
    mut stream: TcpStream,
    kept: &Mutex<Vec<Letter>>,
    answer: &dyn Fn(&Letter) -> Option<u16>,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let headers = headers(&mut reader)?;
    let mut letter = Letter { method, target, headers, body: Vec::new() };
    let length = letter.header("content-length").and_then(|value| text(value).parse().ok());
    letter.body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut letter.body)?;
    kept.lock().unwrap().push(letter.clone());
    let Some(status) = answer(&letter) else { return Ok(()) };
    write!(stream, "HTTP/1.1 {status} Said\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

fn headers(reader: &mut impl BufRead) -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut headers = Vec::new();
    loop {
        let mut line = Vec::new();
        reader.read_until(b'\n', &mut line)?;
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Some(at) = line.iter().position(|byte| *byte == b':') else { return Ok(headers) };
        let value = line[at + 1..].strip_prefix(b" ").unwrap_or(&line[at + 1..]);
        headers.push((text(&line[..at]).to_lowercase(), value.to_vec()));
    }
}

/// What came back: status, head and body.
pub struct Said {
    pub status: u16,
    pub head: String,
    pub body: String,
}

/// One request to a link, or nothing when nobody listens there.
pub fn try_say(method: &str, link: &str, headers: &[&str], body: &str) -> Option<Said> {
    let rest = link.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(host).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let more: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    let length = body.len();
    let head = format!("{method} /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\n");
    write!(stream, "{head}{more}connection: close\r\n\r\n{body}").ok()?;
    let mut told = Vec::new();
    stream.read_to_end(&mut told).ok()?;
    let told = text(&told);
    let status = told.split(' ').nth(1)?.parse().ok()?;
    let (head, body) = told.split_once("\r\n\r\n")?;
    Some(Said { status, head: head.to_owned(), body: body.to_owned() })
}

pub fn say(method: &str, link: &str, headers: &[&str], body: &str) -> Said {
    try_say(method, link, headers, body).unwrap_or_else(|| panic!("nobody answers {link}"))
}

/// An answer to a question, as a program posts it.
pub fn post(link: &str, action: &str, message: &str) -> Said {
    let body = serde_json::json!({"action": action, "message": message}).to_string();
    say("POST", link, &["content-type: application/json"], &body)
}

/// The port of a link.
pub fn port_of(link: &str) -> u16 {
    let rest = link.strip_prefix("http://localhost:").unwrap();
    rest.split('/').next().unwrap().parse().unwrap()
}

/// A port that nobody has, with quiet neighbours: below those that the system hands out.
pub fn quiet_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = u16::try_from(std::process::id() % 150).unwrap();
    loop {
        let place = (start + NEXT.fetch_add(1, Ordering::Relaxed)) % 180;
        let port = 20_000 + place * 60;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
