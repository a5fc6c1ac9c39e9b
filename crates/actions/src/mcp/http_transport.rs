//! Messages to a server over HTTP (MCP's streamable HTTP): one request per message, answered by one
//! message or by a stream of events. Addresses are checked like those of webhooks.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Response, StatusCode};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage, ServerResult};
use rmcp::transport::Transport;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout_at;

use super::session::MAX_MESSAGE_BYTES;
use crate::web::{ExchangeError, HttpClients, Target};

const SESSION_HEADER: &str = "mcp-session-id";
const VERSION_HEADER: &str = "mcp-protocol-version";
/// How long ending the session may take.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(200);

/// A connection to one server.
pub(super) struct HttpTransport {
    poster: Arc<MessagePoster>,
    incoming: UnboundedReceiver<Option<ServerJsonRpcMessage>>,
}

struct MessagePoster {
    client: Client,
    target: Target,
    given: HeaderMap,
    /// Headers that the server expects in every later message.
    session_headers: Mutex<HeaderMap>,
    /// A received message, or `None` when there will be no more.
    incoming: UnboundedSender<Option<ServerJsonRpcMessage>>,
    deadline: Instant,
}

impl HttpTransport {
    /// Checks the address; sends nothing yet.
    pub async fn open(
        clients: &HttpClients,
        target: Target,
        given: HeaderMap,
        deadline: Instant,
    ) -> Result<Self, ExchangeError> {
        let client = clients.client_for(&target).await?;
        let (delivered, incoming) = unbounded_channel();
        let agreed = Mutex::default();
        let sender = MessagePoster {
            client,
            target,
            given,
            session_headers: agreed,
            incoming: delivered,
            deadline,
        };
        Ok(Self { poster: Arc::new(sender), incoming })
    }
}

impl Transport<RoleClient> for HttpTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        Arc::clone(&self.poster).post_message(item)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.incoming.recv().await.flatten()
    }

    async fn close(&mut self) -> io::Result<()> {
        let headers = self.poster.request_headers();
        if headers.contains_key(SESSION_HEADER) {
            let end = self.poster.client.delete(self.poster.target.url.clone()).headers(headers);
            // A server that misses this drops the session by itself.
            let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, end.send()).await;
        }
        Ok(())
    }
}

impl MessagePoster {
    async fn post_message(self: Arc<Self>, message: ClientJsonRpcMessage) -> io::Result<()> {
        let body = serde_json::to_vec(&message)?;
        let request = self.client.post(self.target.url.clone()).headers(self.request_headers());
        let response = request
            .header(ACCEPT, "application/json, text/event-stream")
            .header(CONTENT_TYPE, "application/json")
            .body(body)
            .send()
            .await
            .map_err(|error| ExchangeError::no_response(self.target.authority(), error))
            .map_err(io::Error::other)?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(());
        }
        if !status.is_success() {
            return self.read_refusal(response).await;
        }

        self.keep_header(SESSION_HEADER, response.headers().get(SESSION_HEADER));
        if !matches!(message, JsonRpcMessage::Request(_)) {
            return Ok(());
        }
        // The server may send requests before it answers, so another task reads the answer.
        tokio::spawn(async move {
            let read = timeout_at(self.deadline.into(), self.read_answer(response)).await;
            if !matches!(read, Ok(Some(()))) {
                let _ = self.incoming.send(None);
            }
        });
        Ok(())
    }

    /// Reads a refusal, which may be a JSON-RPC error.
    async fn read_refusal(&self, response: Response) -> io::Result<()> {
        let status = response.status();
        let body = read_body(response).await.unwrap_or_default();
        match serde_json::from_slice(&body) {
            Ok(message @ JsonRpcMessage::Error(_)) => {
                let _ = self.incoming.send(Some(message));
                Ok(())
            }
            _ if status.is_redirection() => {
                Err(io::Error::other(format!("HTTP {status}: redirects are not followed")))
            }
            _ => Err(io::Error::other(format!("HTTP {status}"))),
        }
    }

    /// Reads the answer; `Some` once it has been delivered.
    async fn read_answer(&self, response: Response) -> Option<()> {
        let kind = response.headers().get(CONTENT_TYPE)?.to_str().ok()?.to_owned();
        if !kind.starts_with("text/event-stream") {
            return self
                .deliver_message(&read_body(response).await?)
                .filter(|last| *last)
                .map(drop);
        }

        let mut response = response;
        let (mut buffer, mut received) = (Vec::new(), 0);
        while let Some(chunk) = response.chunk().await.ok()? {
            received += chunk.len();
            buffer.extend_from_slice(&chunk);
            while let Some((event, length)) = parse_first_event(&buffer) {
                buffer.drain(..length);
                if !event.is_empty() && self.deliver_message(&event)? {
                    return Some(());
                }
            }
            if received > MAX_MESSAGE_BYTES {
                return None;
            }
        }
        None
    }

    /// Delivers a message. Returns whether it was the answer; `None` if it was no message.
    fn deliver_message(&self, body: &[u8]) -> Option<bool> {
        let message: ServerJsonRpcMessage = serde_json::from_slice(body).ok()?;
        if let JsonRpcMessage::Response(response) = &message
            && let ServerResult::InitializeResult(result) = &response.result
        {
            let version = HeaderValue::from_str(result.protocol_version.as_str()).ok();
            self.keep_header(VERSION_HEADER, version.as_ref());
        }

        let last = matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        self.incoming.send(Some(message)).ok()?;
        Some(last)
    }

    fn keep_header(&self, name: &'static str, value: Option<&HeaderValue>) {
        if let Some(value) = value {
            let mut agreed = self.session_headers.lock().unwrap_or_else(PoisonError::into_inner);
            agreed.insert(name, value.clone());
        }
    }

    fn request_headers(&self) -> HeaderMap {
        let mut headers = self.given.clone();
        let agreed = self.session_headers.lock().unwrap_or_else(PoisonError::into_inner);
        headers.extend(agreed.clone());
        headers
    }
}

async fn read_body(mut response: Response) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_MESSAGE_BYTES {
            return None;
        }
    }
    Some(body)
}

/// The data of the first complete event, and the event's length.
fn parse_first_event(buffer: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut data: Vec<u8> = Vec::new();
    let mut length = 0;
    for line in buffer.split_inclusive(|byte| *byte == b'\n') {
        length += line.len();
        let line = line.strip_suffix(b"\n")?;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return Some((data, length));
        }
        if let Some(text) = line.strip_prefix(b"data:") {
            if !data.is_empty() {
                data.push(b'\n');
            }
            data.extend_from_slice(text.strip_prefix(b" ").unwrap_or(text));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::parse_first_event;

    #[test]
    fn parses_complete_events_only() {
        assert_eq!(parse_first_event(b"data: {}\n"), None);
        assert_eq!(
            parse_first_event(b"id: 1\r\ndata: {\r\ndata: }\r\n\r\nx"),
            Some((b"{\n}".to_vec(), 27))
        );
        assert_eq!(parse_first_event(b": ping\n\ndata: 1\n\n"), Some((Vec::new(), 8)));
    }
}
