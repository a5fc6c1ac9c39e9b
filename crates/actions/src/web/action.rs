//! The action `webhook`: sends a batch of requests at once; some of them ask a question.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gambrel_model::action::{Action, Job};
use gambrel_model::call::{Call, Limits};
use gambrel_model::outcome::Outcome;
use gambrel_model::request::{WebhookRequest, from_body, to_body};

use super::ask;
use super::async_action::AsyncAction;
use super::client::HttpClients;
use super::error::RequestError;
use super::prepared_request::{PreparedRequest, fill_callback};
use super::retry::{self, RetryBudget};
use super::settings::{ApprovalChannel, WebSettings};
use super::signature::new_message_id;
use gambrel_process::deadlines::add_duration;
use gambrel_process::settings::Settings;

/// Sends requests over HTTP.
pub struct WebhookAction {
    sender: Arc<WebhookPost>,
}

impl WebhookAction {
    /// Creates the action. Opens nothing before the first run.
    pub fn new(settings: WebSettings) -> Self {
        let net = HttpClients::new(&settings);
        let WebSettings { settings, approvals, .. } = settings;
        Self { sender: Arc::new(WebhookPost { net, settings, approvals }) }
    }
}

impl Action for WebhookAction {
    fn name(&self) -> &'static str {
        WebhookPost::NAME
    }

    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
        AsyncAction::run_jobs(&self.sender, jobs)
    }
}

/// Sends webhook requests.
pub(super) struct WebhookPost {
    pub net: HttpClients,
    pub approvals: Option<ApprovalChannel>,
    settings: Settings,
}

impl AsyncAction for WebhookPost {
    const NAME: &'static str = "webhook";

    fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A detached call cannot use an answer, so it asks no question.
    fn detached_call(&self, call: &Call) -> Call {
        let mut call = call.clone();
        if let Ok(request) = from_body::<WebhookRequest>(&call.body) {
            call.body = to_body(&WebhookRequest { ask: None, ..request });
        }
        call
    }

    /// Reports a request that cannot be sent at once, before it goes to a supervisor.
    fn check_call(&self, call: &Call) -> Result<(), RequestError> {
        let Ok(request) = from_body::<WebhookRequest>(&call.body) else { return Ok(()) };
        let mut request = check_refused(request)?;
        fill_callback(&mut request, "");
        PreparedRequest::from_webhook(&request, "").map(drop)
    }

    async fn execute(self: Arc<Self>, call: Call) -> Outcome {
        let started_at = Instant::now();
        let request = from_body::<WebhookRequest>(&call.body).map_err(RequestError::Call);
        let mut request = match request.and_then(check_refused) {
            Ok(request) => request,
            Err(why) => return Outcome::not_attempted(why),
        };

        let deadline = budget_end(&call.limits, started_at);
        let outcome = match request.ask.take() {
            Some(question) => {
                ask::ask_question(&self, request, &question, &call.limits, deadline).await
            }
            None => self.deliver_request(request, None, &call.limits, deadline).await,
        };
        Outcome { elapsed: started_at.elapsed(), ..outcome }
    }
}

impl WebhookPost {
    /// Sends a request. A question has a callback link and a message id.
    pub async fn deliver_request(
        &self,
        mut request: WebhookRequest,
        question: Option<(String, String)>,
        limits: &Limits,
        deadline: Option<Instant>,
    ) -> Outcome {
        let (link, id) = question.unzip();
        fill_callback(&mut request, link.as_deref().unwrap_or_default());
        let prepared = id
            .map_or_else(new_message_id, Ok)
            .and_then(|id| PreparedRequest::from_webhook(&request, &id));

        let exchange =
            (request.exchange_ms > 0).then(|| Duration::from_millis(request.exchange_ms));
        let budget = RetryBudget { limits, exchange, deadline };

        match prepared {
            Ok(prepared) => retry::send_with_retries(&self.net, &prepared, &budget).await,
            Err(why) => Outcome::not_attempted(why),
        }
    }
}

/// Returns the request, unless its author's dialect refused it.
fn check_refused(mut request: WebhookRequest) -> Result<WebhookRequest, RequestError> {
    request.refused.take().map_or(Ok(request), |why| Err(RequestError::Refused(why)))
}

/// The deadline for an answer, a little before the end of the budget.
pub(crate) fn budget_end(limits: &Limits, started_at: Instant) -> Option<Instant> {
    let reserve = |budget: Duration| (budget / 10).min(Duration::from_millis(50));
    limits.budget.map(|budget| add_duration(started_at, budget.saturating_sub(reserve(budget))))
}
