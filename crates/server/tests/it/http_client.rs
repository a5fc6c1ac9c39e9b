//! An HTTP client over a plain socket that sends exactly the given text.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::time::Duration;

use serde_json::Value;

const SOCKET_TIMEOUT: Duration = Duration::from_secs(30);

/// A response.
#[derive(Debug)]
pub(crate) struct TestResponse {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl TestResponse {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A request under construction.
pub(crate) struct TestRequest {
    address: IpAddr,
    port: u16,
    start: String,
    host: String,
    headers: Vec<String>,
    body: String,
}

impl TestRequest {
    pub(crate) fn new(port: u16, method: &str, path: &str) -> Self {
        let start = format!("{method} {path} HTTP/1.1");
        let host = format!("Host: localhost:{port}");
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        Self { address, port, start, host, headers: Vec::new(), body: String::new() }
    }

    pub(crate) fn get(port: u16, path: &str) -> Self {
        Self::new(port, "GET", path)
    }

    pub(crate) fn post(port: u16, path: &str, body: &str) -> Self {
        Self { body: body.to_owned(), ..Self::new(port, "POST", path) }
    }

    pub(crate) fn with_header(mut self, header: &str) -> Self {
        self.headers.push(header.to_owned());
        self
    }

    /// Replaces the right host.
    pub(crate) fn with_host(self, line: &str) -> Self {
        Self { host: line.to_owned(), ..self }
    }

    /// Connects to another address than loopback.
    pub(crate) fn at_address(self, address: IpAddr) -> Self {
        Self { address, ..self }
    }

    pub(crate) fn send(self) -> TestResponse {
        self.try_send().unwrap()
    }

    pub(crate) fn try_send(self) -> std::io::Result<TestResponse> {
        let mut stream = self.open_stream()?;

        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status: {answer:?}"));
        Ok(TestResponse { status, head: head.to_owned(), body: body.to_owned() })
    }

    /// Sends the request and leaves the response to be read.
    pub(crate) fn open_stream(self) -> std::io::Result<TcpStream> {
        let mut stream = TcpStream::connect((self.address, self.port))?;
        stream.set_read_timeout(Some(SOCKET_TIMEOUT))?;
        stream.set_write_timeout(Some(SOCKET_TIMEOUT))?;

        let mut lines = vec![self.start, self.host, "Connection: close".to_owned()];
        lines.retain(|line| !line.is_empty());
        lines.push(format!("Content-Length: {}", self.body.len()));
        lines.extend(self.headers);
        let head = lines.join("\r\n");
        stream.write_all(format!("{head}\r\n\r\n{}", self.body).as_bytes())?;
        Ok(stream)
    }
}
