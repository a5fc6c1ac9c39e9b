//! Chooses how a server is reached, and keeps one deadline over start, handshake, tool and end.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gambrel_model::action::{Action, Job};
use gambrel_model::call::Call;
use gambrel_model::outcome::{Captured, End, Outcome};
use gambrel_model::request::{ToolRequest, from_body};
use tokio::time::timeout_at;

use super::line::Line;
use super::server::Server;
use super::talk::{self, Fault};
use crate::environ::mark_prefix;
use crate::guard::Guard;
use crate::limits::{Deadlines, later};
use crate::running::Running;
use crate::settings::{Settings, WATCH_AFTER};
use crate::sidefile;
use crate::web::{KEPT, Net, Target, Turn, WebSettings, checked};

/// Calls tools of servers that speak MCP.
pub struct McpAction {
    switchboard: Arc<Switchboard>,
}

impl McpAction {
    /// Under these settings; the desk is not used. Nothing is started before the first run.
    pub fn new(settings: WebSettings) -> Self {
        let net = Net::new(&settings);
        let guard = Guard::default();
        Self { switchboard: Arc::new(Switchboard { net, guard, settings: settings.settings }) }
    }
}

impl Action for McpAction {
    fn name(&self) -> &'static str {
        Switchboard::NAME
    }

    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
        Turn::run(&self.switchboard, jobs)
    }
}

struct Switchboard {
    net: Net,
    guard: Guard,
    settings: Settings,
}

impl Turn for Switchboard {
    const NAME: &'static str = "mcp_tool";

    fn settings(&self) -> &Settings {
        &self.settings
    }

    async fn carry_out(self: Arc<Self>, call: Call) -> Outcome {
        let begun = Instant::now();
        let budget = call.limits.budget.map(|budget| later(begun, budget));
        let limits = Deadlines::of(&call.limits, begun, budget);
        let outcome = match from_body::<ToolRequest>(&call.body) {
            Ok(request) => match &request.url {
                Some(url) => self.by_http(url, &request, limits).await,
                None => self.by_process(&call, &request, limits).await,
            },
            Err(why) => unstarted(why),
        };
        let took = begun.elapsed();
        let cut = (outcome.end == End::TimedOut).then(|| limits.cut(took)).flatten();
        Outcome { elapsed: took, cut_short_by: cut, ..outcome }
    }
}

impl Switchboard {
    async fn by_http(&self, url: &str, request: &ToolRequest, limits: Deadlines) -> Outcome {
        let ready = Target::read(url, &request.allow)
            .and_then(|target| Ok((target, checked(&request.headers)?)));
        let (target, headers) = match ready {
            Ok(ready) => ready,
            Err(why) => return unstarted(why),
        };
        let command = vec![target.shown(), request.tool.clone()];
        let talked = timeout_at(limits.deadline.into(), async {
            let line = Line::open(&self.net, target, headers, limits.deadline).await?;
            talk::call(line, request).await
        });
        let outcome = match talked.await {
            Ok(talked) => outcome_of(talked, request, ""),
            Err(_) => Outcome::from_end(End::TimedOut),
        };
        Outcome { command, ..outcome }
    }

    async fn by_process(&self, call: &Call, request: &ToolRequest, limits: Deadlines) -> Outcome {
        if let Err(why) = sidefile::write(&call.files) {
            return unstarted(why);
        }
        let _running = Running::enter(&self.settings, mark_prefix());
        let started = Server::start(call, self.settings.isolate);
        let outcome = match started {
            Ok((server, streams)) => {
                let command = server.command.clone();
                let transport = talk::transport(streams);
                let (talked, watched) =
                    self.listen(&server, talk::call(transport, request), limits).await;
                let (stderr, remarks) = server.end(limits, talked.is_none()).await;
                if let Some((program, mark)) = watched {
                    self.guard.done(program, &mark);
                }
                let outcome = match talked {
                    Some(talked) => outcome_of(talked, request, &stderr.text()),
                    None => Outcome::from_end(End::TimedOut),
                };
                Outcome { command, stderr, remarks, ..outcome }
            }
            Err(why) => unstarted(why),
        };
        sidefile::remove_temporary(&call.files);
        outcome
    }

    /// The talk, or nothing when it takes too long. A server that lives for a while is watched, so
    /// that it ends with us whatever ends us; who is to be told when it has ended comes second.
    async fn listen<'s, T>(
        &'s self,
        server: &Server,
        talk: impl Future<Output = T>,
        limits: Deadlines,
    ) -> (Option<T>, Option<(&'s Path, String)>) {
        let mut talk = std::pin::pin!(talk);
        let soon = later(Instant::now(), WATCH_AFTER).min(limits.deadline);
        if let Ok(talked) = timeout_at(soon.into(), &mut talk).await {
            return (Some(talked), None);
        }
        let watched = server.watch(&self.guard, self.settings.supervisor.as_deref());
        (timeout_at(limits.deadline.into(), &mut talk).await.ok(), watched)
    }
}

fn unstarted(why: String) -> Outcome {
    Outcome { attempts: 0, ..Outcome::from_end(End::FailedToStart(why)) }
}

fn outcome_of(talked: Result<talk::Told, Fault>, request: &ToolRequest, stderr: &str) -> Outcome {
    let said = |why: &str| {
        let last = stderr.trim_end();
        let tail = if last.is_empty() { String::new() } else { format!("; it wrote: {last}") };
        format!("the server {}: {why}{tail}", request.server)
    };
    match talked {
        Ok(told) => Outcome {
            stdout: kept(told.text),
            answer: Some(told.answer),
            failure: told.fault,
            ..Outcome::from_end(End::Answered)
        },
        Err(Fault(why)) => Outcome::from_end(End::FailedToStart(said(&why))),
    }
}

/// As much of a text as of every other output.
fn kept(text: String) -> Captured {
    let total = text.len() as u64;
    let mut bytes = text.into_bytes();
    bytes.truncate(KEPT);
    Captured { bytes, total, ..Captured::default() }
}

/// How long a server may take to end by itself once nobody talks to it.
pub(super) const FAREWELL: Duration = Duration::from_millis(50);
