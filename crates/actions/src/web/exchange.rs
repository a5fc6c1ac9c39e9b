//! One try: a connection, a request, an answer read up to a cap, all within one limit. It knows
//! nothing of tries before or after it.

use std::error::Error;
use std::io;
use std::time::Duration;

use gambrel_model::outcome::Captured;
use reqwest::header::HeaderMap;
use reqwest::{Response, StatusCode};

use super::client::{Net, NoClient};
use super::letter::Letter;

/// As much of an answer is kept.
pub(crate) const KEPT: usize = 1024 * 1024;

/// What was answered.
pub(crate) struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Captured,
}

/// Why there is no answer.
pub(crate) enum Trouble {
    /// Nothing was sent, and nothing will be.
    Refused(String),
    /// Another time it may work.
    Failed(String),
    /// The limit has passed.
    Late,
}

/// Sends a letter once.
pub(crate) async fn exchange(
    net: &Net,
    letter: &Letter,
    limit: Duration,
) -> Result<Reply, Trouble> {
    tokio::time::timeout(limit, converse(net, letter)).await.unwrap_or(Err(Trouble::Late))
}

async fn converse(net: &Net, letter: &Letter) -> Result<Reply, Trouble> {
    let target = &letter.target;
    let client = net.client(target).await?;
    let mut request = client.request(letter.method.clone(), target.url.clone());
    request = request.headers(letter.headers());
    if let Some(body) = &letter.body {
        request = request.body(body.clone());
    }
    let failed = |error: reqwest::Error| Trouble::Failed(reason(&target.authority(), &error));
    let response = request.send().await.map_err(failed)?;
    let (status, headers) = (response.status(), response.headers().clone());
    let body = read(response).await.map_err(|error| {
        let why = deepest(&error);
        Trouble::Failed(format!("the answer of {} broke off: {why}", target.authority()))
    })?;
    Ok(Reply { status, headers, body })
}

async fn read(mut response: Response) -> Result<Captured, reqwest::Error> {
    let announced = response.content_length();
    let mut body = Captured::default();
    while let Some(chunk) = response.chunk().await? {
        let room = KEPT - body.bytes.len();
        body.bytes.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        body.total += chunk.len() as u64;
        if chunk.len() > room {
            body.total = body.total.max(announced.unwrap_or_default());
            break;
        }
    }
    Ok(body)
}

/// Why nothing came back, without a word of the URL.
pub(crate) fn reason(authority: &str, error: &reqwest::Error) -> String {
    let mut source: Option<&(dyn Error + 'static)> = error.source();
    while let Some(inner) = source {
        match inner.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => {
                return format!("connection refused: {authority}");
            }
            Some(io::ErrorKind::ConnectionReset) => {
                return format!("connection reset: {authority}");
            }
            _ => source = inner.source(),
        }
    }
    let why = deepest(error);
    match (error.is_connect(), error.is_timeout()) {
        (_, true) => format!("no connection in time: {authority}"),
        (true, _) => format!("no connection: {authority}: {why}"),
        _ => format!("no answer: {authority}: {why}"),
    }
}

/// The words of the first cause. Those of the error itself would hold the URL.
fn deepest(error: &reqwest::Error) -> String {
    let mut words = "it broke off".to_owned();
    let mut source = error.source();
    while let Some(inner) = source {
        words = inner.to_string();
        source = inner.source();
    }
    words
}

impl From<NoClient> for Trouble {
    fn from(none: NoClient) -> Self {
        match none {
            NoClient::Refused(why) => Self::Refused(why),
            NoClient::Failed(why) => Self::Failed(why),
        }
    }
}
