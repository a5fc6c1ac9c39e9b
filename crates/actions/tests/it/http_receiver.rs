//! An HTTP receiver on this machine, written by hand so that it can break every rule, and calls to
//! it.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use gambrel_actions::{WebSettings, WebhookAction};
use gambrel_model::request::to_body;
use gambrel_model::{Action, Call, Job, Limits, Outcome, WebhookRequest};
use serde_json::{Value, json};

/// One received request.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    /// `POST /path HTTP/1.1`.
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// How many requests came before it.
    pub earlier: usize,
}

impl ReceivedRequest {
    /// All values of a header, joined.
    pub fn header(&self, name: &str) -> Option<String> {
        let all = self.headers.iter().filter(|(known, _)| known == name);
        let all: Vec<&str> = all.map(|(_, value)| value.as_str()).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

type Behaviour = dyn Fn(&ReceivedRequest, &mut TcpStream) + Send + Sync;

/// Listens until it is dropped.
pub struct Receiver {
    pub address: SocketAddr,
    got: Arc<Mutex<Vec<ReceivedRequest>>>,
    gone: Arc<AtomicBool>,
}

impl Receiver {
    /// A receiver that handles every request with `behaviour`.
    pub fn new(
        behaviour: impl Fn(&ReceivedRequest, &mut TcpStream) + Send + Sync + 'static,
    ) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").unwrap(), behaviour)
    }

    pub fn on(
        listener: TcpListener,
        behaviour: impl Fn(&ReceivedRequest, &mut TcpStream) + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().unwrap();
        let (got, gone) =
            (Arc::<Mutex<Vec<ReceivedRequest>>>::default(), Arc::<AtomicBool>::default());
        let this = Self { address, got: Arc::clone(&got), gone: Arc::clone(&gone) };
        let behaviour: Arc<Behaviour> = Arc::new(behaviour);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if gone.load(Ordering::SeqCst) {
                    return;
                }
                let (got, behaviour) = (Arc::clone(&got), Arc::clone(&behaviour));
                thread::spawn(move || serve(stream, &got, &*behaviour));
            }
        });
        this
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.address.port())
    }

    pub fn got(&self) -> Vec<ReceivedRequest> {
        self.got.lock().unwrap().clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.gone.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.address.port()));
    }
}

fn serve(mut stream: TcpStream, got: &Mutex<Vec<ReceivedRequest>>, behaviour: &Behaviour) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
    let Some(mut request) = read_request(&stream) else { return };
    let mut all = got.lock().unwrap();
    request.earlier = all.len();
    all.push(request.clone());
    drop(all);
    behaviour(&request, &mut stream);
}

/// Reads the next request of a connection.
pub fn read_request(stream: impl Read) -> Option<ReceivedRequest> {
    let mut reader = BufReader::new(stream);
    let mut next = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
        Some(line.trim_end().to_owned())
    };
    let line = next()?;
    let mut headers = Vec::new();
    loop {
        let line = next()?;
        let Some((name, value)) = line.split_once(": ") else { break };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }

    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.map_or(0, |(_, length)| length.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    Some(ReceivedRequest { line, headers, body: String::from_utf8(body).unwrap(), earlier: 0 })
}

/// Sends a response and closes the connection.
pub fn send_response(mut stream: impl Write, status: &str, headers: &str, body: &str) {
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    let _ = stream.write_all(text.as_bytes());
    let _ = stream.flush();
}

/// Holds a connection open until the client closes it. A read with a timeout also ends when another
/// test of this process catches a signal; it is then repeated.
pub fn hold_open(stream: &mut TcpStream) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(60)));
    while stream.read(&mut [0; 1]).is_err_and(|error| error.kind() == ErrorKind::Interrupted) {}
}

/// A POST request with a small body.
pub fn post_request(url: &str) -> WebhookRequest {
    WebhookRequest {
        url: url.to_owned(),
        method: "POST".to_owned(),
        body: json!({ "n": 1 }),
        ..WebhookRequest::default()
    }
}

pub fn webhook_call(request: &WebhookRequest) -> Call {
    let limits = Limits {
        timeout: Duration::from_secs(10),
        retry_delay: Duration::from_millis(1),
        ..Limits::default()
    };
    Call { body: to_body(request), limits, ..Call::default() }
}

pub fn run_call(action: &dyn Action, call: &Call) -> Outcome {
    action.run(&[Job { call, record: None }]).remove(0)
}

pub fn send_request(request: &WebhookRequest) -> Outcome {
    run_call(&WebhookAction::new(WebSettings::default()), &webhook_call(request))
}

/// Checks that the recorded parts of an outcome hold none of these texts.
pub fn assert_no_secrets(outcome: &Outcome, secrets: &[&str]) {
    let text = serde_json::to_string(&json!([
        outcome.command,
        outcome.remarks,
        outcome.failure,
        format!("{:?}", outcome.end),
        outcome.answer.clone().unwrap_or(Value::Null),
    ]))
    .unwrap();
    for secret in secrets {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
}
