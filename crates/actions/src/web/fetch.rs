//! Requests of a hook's own code: one try each, by the same way out and under the same looks at
//! addresses as every other request. It knows no script and no hook.

use gambrel_model::request::{FetchRequest, FetchResponse};
use tokio::runtime::Builder;

use super::client::Net;
use super::exchange::{KEPT, Reply, Trouble, exchange};
use super::letter::Letter;
use super::settings::WebSettings;

/// Fetches for others.
pub struct Fetcher {
    net: Net,
}

impl Fetcher {
    /// Under these settings; nothing is opened before the first request.
    pub fn new(settings: &WebSettings) -> Self {
        Self { net: Net::new(settings) }
    }

    /// Sends a request and waits for all of its answer; the error is for whoever wrote the code.
    pub fn fetch(&self, wanted: &FetchRequest) -> Result<FetchResponse, String> {
        let letter = Letter::plain(wanted)?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("no runtime for it: {error}"))?;
        let told = runtime.block_on(exchange(&self.net, &letter, wanted.limit));
        // A name that is still being resolved must not hold up the answer.
        runtime.shutdown_background();
        match told {
            Ok(reply) if reply.body.is_truncated() => {
                Err(format!("the answer is longer than {} MiB", KEPT >> 20))
            }
            Ok(reply) => Ok(fetched(reply)),
            Err(Trouble::Refused(why) | Trouble::Failed(why)) => Err(why),
            Err(Trouble::Late) => Err(format!("no answer within {:?}", wanted.limit)),
        }
    }
}

fn fetched(reply: Reply) -> FetchResponse {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let headers = reply.headers.iter();
    FetchResponse {
        status: reply.status.as_u16(),
        words: reply.status.canonical_reason().unwrap_or_default().to_owned(),
        headers: headers.map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect(),
        body: reply.body.bytes,
    }
}
