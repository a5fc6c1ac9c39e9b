//! Chooses how to reach a server, and keeps one deadline over its start, the handshake, the tool
//! and the shutdown.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gambrel_model::action::{Action, Job};
use gambrel_model::call::Call;
use gambrel_model::outcome::{Captured, CutShort, End, Outcome};
use gambrel_model::request::{ToolRequest, from_body};
use tokio::time::timeout_at;

use super::http_transport::HttpTransport;
use super::server::McpServer;
use super::session::{self, McpError};
use crate::outcome::time_limits;
use crate::sidefile;
use crate::web::{AsyncAction, HttpClients, MAX_BODY_BYTES, Target, WebSettings, check_headers};
use gambrel_process::deadlines::{Deadlines, add_duration};
use gambrel_process::environ::tag_prefix;
use gambrel_process::owner::ProcessOwner;
use gambrel_process::running_file::RunningEntry;
use gambrel_process::settings::Settings;
use gambrel_process::watchdog_client::WatchdogClient;

/// Calls tools of MCP servers.
pub struct McpAction {
    caller: Arc<McpCaller>,
}

impl McpAction {
    /// Creates the action; it does not use the approval channel. Starts nothing before the first
    /// run.
    pub fn new(settings: WebSettings) -> Self {
        let clients = HttpClients::new(&settings);
        let watchdog = settings.settings.watchdog_client();
        Self { caller: Arc::new(McpCaller { clients, watchdog, settings: settings.settings }) }
    }
}

impl Action for McpAction {
    fn name(&self) -> &'static str {
        McpCaller::NAME
    }

    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
        AsyncAction::run_jobs(&self.caller, jobs)
    }
}

struct McpCaller {
    clients: HttpClients,
    watchdog: Arc<WatchdogClient>,
    settings: Settings,
}

impl AsyncAction for McpCaller {
    const NAME: &'static str = "mcp_tool";

    fn settings(&self) -> &Settings {
        &self.settings
    }

    async fn execute(self: Arc<Self>, call: Call) -> Outcome {
        let started_at = Instant::now();
        let budget = call.limits.budget.map(|budget| add_duration(started_at, budget));
        let deadlines = Deadlines::from_limits(&time_limits(&call.limits), started_at, budget);
        let outcome = match from_body::<ToolRequest>(&call.body) {
            Ok(request) => match &request.url {
                Some(url) => self.call_over_http(url, &request, deadlines).await,
                None => self.call_process(&call, &request, deadlines).await,
            },
            Err(error) => Outcome::not_attempted(error),
        };

        let elapsed = started_at.elapsed();
        let cut = outcome.end == End::TimedOut && deadlines.by_budget;
        let cut_short_by = cut.then_some(CutShort::Budget(elapsed));
        Outcome { elapsed, cut_short_by, ..outcome }
    }
}

impl McpCaller {
    async fn call_over_http(
        &self,
        url: &str,
        request: &ToolRequest,
        deadlines: Deadlines,
    ) -> Outcome {
        let ready = Target::parse(url, &request.allow)
            .and_then(|target| Ok((target, check_headers(&request.headers)?)));
        let (target, headers) = match ready {
            Ok(ready) => ready,
            Err(why) => return Outcome::not_attempted(why),
        };

        let command = vec![target.redacted_url(), request.tool.clone()];
        let result = timeout_at(deadlines.deadline.into(), async {
            let transport =
                HttpTransport::open(&self.clients, target, headers, deadlines.deadline).await?;
            session::call_tool(transport, request).await
        });

        let outcome = match result.await {
            Ok(result) => to_outcome(result, request, ""),
            Err(_) => Outcome::from_end(End::TimedOut),
        };
        Outcome { command, ..outcome }
    }

    async fn call_process(
        &self,
        call: &Call,
        request: &ToolRequest,
        deadlines: Deadlines,
    ) -> Outcome {
        if let Err(why) = sidefile::write_side_files(&call.files) {
            return Outcome::not_attempted(why);
        }

        let _running = RunningEntry::register_process(&self.settings, tag_prefix());
        let owner = ProcessOwner::new(Arc::clone(&self.watchdog), self.settings.subreaper);
        let started = McpServer::start(call, &owner, self.settings.isolate);
        let outcome = match started {
            Ok((server, streams)) => {
                let command = server.command();
                let session = session::call_tool(session::pipe_transport(streams), request);
                let result = timeout_at(deadlines.deadline.into(), session).await.ok();
                let (stderr, remarks) = server.shut_down(deadlines, result.is_none()).await;
                let outcome = match result {
                    Some(result) => to_outcome(result, request, &stderr.to_text()),
                    None => Outcome::from_end(End::TimedOut),
                };
                Outcome { command, stderr, remarks, ..outcome }
            }
            Err(why) => Outcome::not_attempted(why),
        };
        sidefile::remove_temporary(&call.files);
        outcome
    }
}

fn to_outcome(
    result: Result<session::McpToolOutcome, McpError>,
    request: &ToolRequest,
    stderr: &str,
) -> Outcome {
    let failure_message = |why: &McpError| {
        let stderr_text = stderr.trim_end();
        let tail = if stderr_text.is_empty() {
            String::new()
        } else {
            format!("; its stderr: {stderr_text}")
        };
        format!("the server `{}`: {why}{tail}", request.server)
    };
    match result {
        Ok(outcome) => Outcome {
            stdout: cap_text(outcome.text),
            answer: Some(outcome.answer),
            failure: outcome.failure,
            ..Outcome::from_end(End::Answered)
        },
        Err(why) => Outcome::failed_to_start(failure_message(&why)),
    }
}

/// Cuts a text like every other output.
fn cap_text(text: String) -> Captured {
    let total = text.len() as u64;
    let mut bytes = text.into_bytes();
    bytes.truncate(MAX_BODY_BYTES);
    Captured { bytes, total, ..Captured::default() }
}

/// How long a server may take to end by itself after its session.
pub(super) const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(50);
