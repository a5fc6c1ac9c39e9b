//! Messages to a server over HTTP (MCP's streamable HTTP): one request a message, answered by one
//! message or by a stream of events. The address was looked at by the same guard as every webhook.

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

use super::talk::{Fault, LONGEST};
use crate::web::{Net, NoClient, Target, reason};

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
/// How long good-bye may take.
const GOODBYE: Duration = Duration::from_millis(200);

/// A connection to one server.
pub(super) struct Line {
    sender: Arc<Poster>,
    incoming: UnboundedReceiver<Option<ServerJsonRpcMessage>>,
}

struct Poster {
    client: Client,
    target: Target,
    given: HeaderMap,
    /// What the server wants to see in every later message.
    agreed: Mutex<HeaderMap>,
    /// A message, or nothing when there will be none.
    delivered: UnboundedSender<Option<ServerJsonRpcMessage>>,
    deadline: Instant,
}

impl Line {
    /// Looks at the address; nothing is sent yet.
    pub async fn open(
        net: &Net,
        target: Target,
        given: HeaderMap,
        deadline: Instant,
    ) -> Result<Self, Fault> {
        let client = net.client(&target).await.map_err(|none| match none {
            NoClient::Refused(why) | NoClient::Failed(why) => Fault(why),
        })?;
        let (delivered, incoming) = unbounded_channel();
        let agreed = Mutex::default();
        let sender = Poster { client, target, given, agreed, delivered, deadline };
        Ok(Self { sender: Arc::new(sender), incoming })
    }
}

impl Transport<RoleClient> for Line {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        Arc::clone(&self.sender).post(item)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.incoming.recv().await.flatten()
    }

    async fn close(&mut self) -> io::Result<()> {
        let headers = self.sender.headers();
        if headers.contains_key(SESSION) {
            let end = self.sender.client.delete(self.sender.target.url.clone()).headers(headers);
            // A server that does not hear it forgets the session by itself.
            let _ = tokio::time::timeout(GOODBYE, end.send()).await;
        }
        Ok(())
    }
}

impl Poster {
    async fn post(self: Arc<Self>, message: ClientJsonRpcMessage) -> io::Result<()> {
        let body = serde_json::to_vec(&message)?;
        let request = self.client.post(self.target.url.clone()).headers(self.headers());
        let response = request
            .header(ACCEPT, "application/json, text/event-stream")
            .header(CONTENT_TYPE, "application/json")
            .body(body)
            .send()
            .await
            .map_err(|error| io::Error::other(reason(&self.target.authority(), &error)))?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(());
        }
        if !status.is_success() {
            return self.take_refusal(response).await;
        }
        self.agree(SESSION, response.headers().get(SESSION));
        if !matches!(message, JsonRpcMessage::Request(_)) {
            return Ok(());
        }
        // It may talk back before it answers: the answer is read beside us.
        tokio::spawn(async move {
            let read = timeout_at(self.deadline.into(), self.read(response)).await;
            if !matches!(read, Ok(Some(()))) {
                let _ = self.delivered.send(None);
            }
        });
        Ok(())
    }

    /// A refusal may be an answer in the protocol's own words.
    async fn take_refusal(&self, response: Response) -> io::Result<()> {
        let status = response.status();
        let body = gather(response).await.unwrap_or_default();
        match serde_json::from_slice(&body) {
            Ok(message @ JsonRpcMessage::Error(_)) => {
                let _ = self.delivered.send(Some(message));
                Ok(())
            }
            _ if status.is_redirection() => {
                Err(io::Error::other(format!("HTTP {status}: redirects are not followed")))
            }
            _ => Err(io::Error::other(format!("HTTP {status}"))),
        }
    }

    /// Something once the answer has been delivered.
    async fn read(&self, response: Response) -> Option<()> {
        let kind = response.headers().get(CONTENT_TYPE)?.to_str().ok()?.to_owned();
        if !kind.starts_with("text/event-stream") {
            return self.deliver(&gather(response).await?).filter(|last| *last).map(drop);
        }
        let mut response = response;
        let (mut kept, mut taken) = (Vec::new(), 0);
        while let Some(chunk) = response.chunk().await.ok()? {
            taken += chunk.len();
            kept.extend_from_slice(&chunk);
            while let Some((event, length)) = first_event(&kept) {
                kept.drain(..length);
                if !event.is_empty() && self.deliver(&event)? {
                    return Some(());
                }
            }
            if taken > LONGEST {
                return None;
            }
        }
        None
    }

    /// Whether it was the answer; nothing if it was no message.
    fn deliver(&self, body: &[u8]) -> Option<bool> {
        let message: ServerJsonRpcMessage = serde_json::from_slice(body).ok()?;
        if let JsonRpcMessage::Response(response) = &message
            && let ServerResult::InitializeResult(result) = &response.result
        {
            let version = HeaderValue::from_str(result.protocol_version.as_str()).ok();
            self.agree(VERSION, version.as_ref());
        }
        let last = matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        self.delivered.send(Some(message)).ok()?;
        Some(last)
    }

    fn agree(&self, name: &'static str, value: Option<&HeaderValue>) {
        if let Some(value) = value {
            let mut agreed = self.agreed.lock().unwrap_or_else(PoisonError::into_inner);
            agreed.insert(name, value.clone());
        }
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = self.given.clone();
        let agreed = self.agreed.lock().unwrap_or_else(PoisonError::into_inner);
        headers.extend(agreed.clone());
        headers
    }
}

async fn gather(mut response: Response) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        body.extend_from_slice(&chunk);
        if body.len() > LONGEST {
            return None;
        }
    }
    Some(body)
}

/// What the first whole event says, and how long it is.
fn first_event(kept: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut said: Vec<u8> = Vec::new();
    let mut length = 0;
    for line in kept.split_inclusive(|byte| *byte == b'\n') {
        length += line.len();
        let line = line.strip_suffix(b"\n")?;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return Some((said, length));
        }
        if let Some(text) = line.strip_prefix(b"data:") {
            if !said.is_empty() {
                said.push(b'\n');
            }
            said.extend_from_slice(text.strip_prefix(b" ").unwrap_or(text));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::first_event;

    #[test]
    fn an_event_is_taken_when_it_is_whole() {
        assert_eq!(first_event(b"data: {}\n"), None);
        assert_eq!(
            first_event(b"id: 1\r\ndata: {\r\ndata: }\r\n\r\nx"),
            Some((b"{\n}".to_vec(), 27))
        );
        assert_eq!(first_event(b": ping\n\ndata: 1\n\n"), Some((Vec::new(), 8)));
    }
}
