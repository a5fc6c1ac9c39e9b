//! The action `webhook`: a batch of requests, all at once, and the questions that some of them
//! bring to somebody. It knows no event and no decision.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gambrel_model::action::{Action, Job};
use gambrel_model::call::{Call, Limits};
use gambrel_model::outcome::{End, Outcome};
use gambrel_model::request::{WebhookRequest, from_body, to_body};

use super::ask;
use super::client::Net;
use super::letter::{Letter, fill};
use super::retry::{self, Patience};
use super::settings::{Desk, WebSettings};
use super::signature::fresh_id;
use super::turn::Turn;
use crate::limits::later;
use crate::settings::Settings;

/// Sends requests over HTTP.
pub struct WebhookAction {
    post: Arc<Post>,
}

impl WebhookAction {
    /// Under these settings. Nothing is opened before the first run.
    pub fn new(settings: WebSettings) -> Self {
        let net = Net::new(&settings);
        let WebSettings { settings, desk, .. } = settings;
        Self { post: Arc::new(Post { net, settings, desk }) }
    }
}

impl Action for WebhookAction {
    fn name(&self) -> &'static str {
        Post::NAME
    }

    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
        Turn::run(&self.post, jobs)
    }
}

/// Where letters are sent from.
pub(super) struct Post {
    pub net: Net,
    pub desk: Option<Desk>,
    settings: Settings,
}

impl Turn for Post {
    const NAME: &'static str = "webhook";

    fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Where nobody waits there is nobody to ask for.
    fn unwaited(&self, call: &Call) -> Call {
        let mut call = call.clone();
        if let Ok(request) = from_body::<WebhookRequest>(&call.body) {
            call.body = to_body(&WebhookRequest { ask: None, ..request });
        }
        call
    }

    /// What `Letter` refuses has failed now; a supervisor could only record it later.
    fn refusal(&self, call: &Call) -> Option<String> {
        let mut request = from_body::<WebhookRequest>(&call.body).ok()?;
        if request.refused.is_some() {
            return request.refused;
        }
        fill(&mut request, "");
        Letter::of(&request, "").err()
    }

    async fn carry_out(self: Arc<Self>, call: Call) -> Outcome {
        let begun = Instant::now();
        let mut request = match from_body::<WebhookRequest>(&call.body) {
            Ok(request) => request,
            Err(why) => {
                return Outcome { attempts: 0, ..Outcome::from_end(End::FailedToStart(why)) };
            }
        };
        if let Some(why) = request.refused.take() {
            return Outcome { attempts: 0, ..Outcome::from_end(End::FailedToStart(why)) };
        }
        let until = budget_end(&call.limits, begun);
        let outcome = match request.ask.take() {
            Some(question) => ask::ask(&self, request, &question, &call.limits, until).await,
            None => self.deliver(request, "", None, &Terms { pace: &call.limits, until }).await,
        };
        Outcome { elapsed: begun.elapsed(), ..outcome }
    }
}

/// How long a request has.
pub(super) struct Terms<'a> {
    pub pace: &'a Limits,
    pub until: Option<Instant>,
}

impl Post {
    /// Sends a request with its link in it, under this name or a new one.
    pub async fn deliver(
        &self,
        mut request: WebhookRequest,
        link: &str,
        id: Option<String>,
        terms: &Terms<'_>,
    ) -> Outcome {
        fill(&mut request, link);
        let letter = id.map_or_else(fresh_id, Ok).and_then(|id| Letter::of(&request, &id));
        let exchange =
            (request.exchange_ms > 0).then(|| Duration::from_millis(request.exchange_ms));
        let patience = Patience { pace: terms.pace, exchange, until: terms.until };
        match letter {
            Ok(letter) => retry::send(&self.net, &letter, &patience).await,
            Err(why) => Outcome { attempts: 0, ..Outcome::from_end(End::FailedToStart(why)) },
        }
    }
}

/// When an answer must be given, a little before the budget is over.
pub(crate) fn budget_end(pace: &Limits, begun: Instant) -> Option<Instant> {
    let aside = |budget: Duration| (budget / 10).min(Duration::from_millis(50));
    pace.budget.map(|budget| later(begun, budget.saturating_sub(aside(budget))))
}
