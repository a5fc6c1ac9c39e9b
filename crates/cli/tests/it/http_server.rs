//! An HTTP server on this machine that keeps every request and answers as the test decides, and a
//! small HTTP client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::test_project::{text, wait_until};

/// Longer than any exchange takes, so that a hanging test ends.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// A received request.
#[derive(Debug, Clone)]
pub struct Received {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
}

impl Received {
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

    /// The callback link in the body, without its query.
    pub fn link(&self) -> String {
        let body = text(&self.body);
        let at = body.find("http://localhost:").unwrap_or_else(|| panic!("no link in {body}"));
        body[at..].chars().take_while(|c| !"\"?\\ ".contains(*c)).collect()
    }
}

/// Listens until the test process ends.
pub struct HttpServer {
    pub port: u16,
    received: Arc<Mutex<Vec<Received>>>,
}

impl HttpServer {
    /// Answers every request with 200 at once.
    pub fn start() -> Self {
        Self::with_answer(|_| Some(200))
    }

    /// Answers with the status that `answer` returns, or closes the connection on `None`. Requests
    /// are kept first.
    pub fn with_answer(answer: impl Fn(&Received) -> Option<u16> + Send + Sync + 'static) -> Self {
        Self::with_response(move |request| {
            Some(write_response(answer(request)?, "application/octet-stream", ""))
        })
    }

    /// Answers with the bytes that `answer` returns; see [`write_response`].
    pub fn with_response(
        answer: impl Fn(&Received) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (received, answer) = (Arc::new(Mutex::new(Vec::new())), Arc::new(answer));
        let kept = Arc::clone(&received);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                std::thread::spawn(move || drop(receive_request(stream, &kept, &*answer)));
            }
        });
        Self { port, received }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.received.lock().unwrap().len()
    }

    /// Waits for the `count`-th request and returns it.
    pub fn wait_for_nth(&self, count: usize) -> Received {
        wait_until(&format!("request {count}"), || self.count() >= count);
        self.received()[count - 1].clone()
    }
}

fn receive_request(
    mut stream: TcpStream,
    kept: &Mutex<Vec<Received>>,
    answer: &dyn Fn(&Received) -> Option<String>,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(READ_TIMEOUT))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let headers = read_headers(&mut reader)?;
    let mut request = Received { method, target, headers, body: Vec::new() };
    let length = request.header("content-length").and_then(|value| text(value).parse().ok());
    request.body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut request.body)?;
    kept.lock().unwrap().push(request.clone());
    let Some(response) = answer(&request) else { return Ok(()) };
    stream.write_all(response.as_bytes())
}

/// A response after which the connection ends.
pub fn write_response(status: u16, kind: &str, body: &str) -> String {
    let head = format!("HTTP/1.1 {status} Said\r\ncontent-type: {kind}\r\n");
    format!("{head}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn read_headers(reader: &mut impl BufRead) -> std::io::Result<Vec<(String, Vec<u8>)>> {
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

/// A response: status, head and body.
pub struct HttpResponse {
    pub status: u16,
    pub head: String,
    pub body: String,
}

/// Sends a request to a link. `None` if no process listens there.
pub fn try_send_request(
    method: &str,
    link: &str,
    headers: &[&str],
    body: &str,
) -> Option<HttpResponse> {
    let rest = link.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(host).ok()?;
    stream.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
    let more: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    let length = body.len();
    let head = format!("{method} /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\n");
    write!(stream, "{head}{more}connection: close\r\n\r\n{body}").ok()?;
    let mut response = Vec::new();
    stream.read_to_end(&mut response).ok()?;
    let response = text(&response);
    let status = response.split(' ').nth(1)?.parse().ok()?;
    let (head, body) = response.split_once("\r\n\r\n")?;
    Some(HttpResponse { status, head: head.to_owned(), body: body.to_owned() })
}

pub fn send_request(method: &str, link: &str, headers: &[&str], body: &str) -> HttpResponse {
    try_send_request(method, link, headers, body).unwrap_or_else(|| panic!("no answer from {link}"))
}

/// Posts an answer to a callback link.
pub fn post_answer(link: &str, action: &str, message: &str) -> HttpResponse {
    let body = serde_json::json!({"action": action, "message": message}).to_string();
    send_request("POST", link, &["content-type: application/json"], &body)
}

/// The port of a link.
pub fn link_port(link: &str) -> u16 {
    let rest = link.strip_prefix("http://localhost:").unwrap();
    rest.split('/').next().unwrap().parse().unwrap()
}

/// A free port with free neighbours, below the range of ephemeral ports.
pub fn free_port() -> u16 {
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
