//! The board of the project for a caller: its session, the run of that session, and its hooks.

use std::path::{Path, PathBuf};
#[cfg(feature = "mcp")]
use std::{sync::Arc, time::Duration};

use gambrel_dialects::teams::gate::GateEvent;
use gambrel_engine::{now_ms, queue_messages};
use gambrel_ledger::{DEFAULT_LEAD, TeamDir};
use gambrel_model::event::run_key;
use gambrel_model::ledger::{Boards, InboxMessage};
use gambrel_model::{Audience, Complaint, Decision, LedgerError, Message};
use gambrel_runner::Board;
#[cfg(feature = "mcp")]
use gambrel_runner::mcp::{BoardSource, McpError, serve_board};
use serde_json::{Value, json};

use crate::app::Gambrel;
use crate::quality_gate::{GateEffects, apply_gate};
use crate::team::{own_results, team_facts, team_source};

/// How long a call that is running may take after the client has gone away.
#[cfg(feature = "mcp")]
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(600);

/// Who works on which board.
#[derive(Debug, Clone, Copy, Default)]
pub struct BoardRequest<'r> {
    /// The caller's session, else `GAMBREL_SESSION`.
    pub session: Option<&'r str>,
    /// The caller in the history of tasks.
    pub by: &'r str,
    /// The team whose folder is the board; the project's board without one.
    pub team: Option<&'r TeamDir>,
}

// For the command line of the workspace, in inner types that may change.
#[doc(hidden)]
impl Gambrel {
    /// Works on a board.
    pub fn with_board<T>(
        &self,
        request: BoardRequest<'_>,
        work: impl FnOnce(&Board<'_>) -> T,
    ) -> T {
        let project = self.project_folder();
        let own = self.setup().env.get("GAMBREL_SESSION").map(String::as_str);
        let session = request.session.or(own).unwrap_or_default().to_owned();
        let run_dir = self.find_run_dir(&project, &session);
        let (boards, name): (&dyn Boards, String) = match request.team {
            Some(team) => (team, team.board_name()),
            None => (self.ledger(), project.display().to_string()),
        };
        let fire = |event| {
            let decision = self.fire_board_event(event, request.team)?;
            self.apply_gates((boards, &name), run_dir.as_deref(), request.team, decision)
        };
        let board = Board {
            ledger: boards,
            name: name.clone(),
            iteration: run_dir.as_deref().and_then(read_iteration),
            project,
            session,
            run_dir: run_dir.clone(),
            by: request.by.to_owned(),
            fire: &fire,
            now_ms: now_ms(),
        };
        work(&board)
    }

    /// Fires an event of a board. Hooks learn about the team that it belongs to.
    fn fire_board_event(
        &self,
        mut event: Value,
        team: Option<&TeamDir>,
    ) -> Result<(Value, Decision), Complaint> {
        if let Some(team) = team {
            event["facts"]["team"] = json!(team_facts(team));
        }
        let sources: Vec<(String, PathBuf)> = team.map(team_source).into_iter().collect();
        let decision = self.fire_run_event(&event, &sources, Vec::new())?;
        Ok((event, decision))
    }

    /// Applies the quality gates of an event to its task. If the result cannot be stored, the hooks
    /// have decided all the same.
    fn apply_gates(
        &self,
        board: (&dyn Boards, &str),
        run_dir: Option<&Path>,
        team: Option<&TeamDir>,
        (event, mut decision): (Value, Decision),
    ) -> Result<Decision, Complaint> {
        let results = own_results(&decision);
        if results.is_empty() {
            return Ok(decision);
        }
        let id = event["facts"]["task"]["id"].as_str().unwrap_or_default();
        let tasks = board.0.tasks(board.1).unwrap_or_default();
        let task = tasks.iter().find(|task| task.id == id);
        let member = task.and_then(|task| task.owner.as_deref());
        for result in results {
            let about = GateEvent {
                result: &result,
                key: &decision.id.clone(),
                at: now_ms(),
                member,
                lead: team.map_or(DEFAULT_LEAD, |team| team.lead.as_str()),
                is_before_completion: event["moment"] == "task.completed",
            };
            let applied = apply_gate(board, about, task);
            let warnings = match applied {
                Ok(GateEffects { notices, messages }) => {
                    let queued = run_dir.map(|dir| self.queue_for_run(dir, &messages)).transpose();
                    queued.err().map(|error| error.to_string()).into_iter().chain(notices).collect()
                }
                Err(error) => vec![error.to_string()],
            };
            let messages = warnings
                .into_iter()
                .map(|text: String| Message::new(Audience::User, text, &*result.hook));
            decision.for_caller.messages.extend(messages);
        }
        Ok(decision)
    }

    /// Messages to members of the project's board reach the agent of the run.
    fn queue_for_run(&self, dir: &Path, messages: &[InboxMessage]) -> Result<(), LedgerError> {
        let is_text = |message: &&InboxMessage| !message.text.starts_with('{');
        for message in messages.iter().filter(is_text) {
            let queued = Message::new(Audience::AgentNextTurn, &*message.text, &*message.from);
            queue_messages(self.ledger(), &run_key(dir), &message.id, &message.from, vec![queued])?;
        }
        Ok(())
    }

    /// The folder of a session's run: that of the run around this process, else one of the project.
    fn find_run_dir(&self, project: &Path, session: &str) -> Option<PathBuf> {
        let env = &self.setup().env;
        let is_own = env.get("GAMBREL_SESSION").is_some_and(|own| own == session);
        if let Some(folder) = env.get("GAMBREL_RUN_DIR").filter(|_| is_own) {
            return Some(PathBuf::from(folder));
        }
        let folder = project.join(".gambrel/runs").join(session);
        (!session.is_empty() && folder.is_dir()).then(|| crate::real_path(&folder))
    }
}

/// The iteration of a run, from its `state.json`.
fn read_iteration(run_dir: &Path) -> Option<u64> {
    let bytes = std::fs::read(run_dir.join("state.json")).ok()?;
    let state: Value = serde_json::from_slice(&bytes).ok()?;
    state["iteration"].as_u64().filter(|iteration| *iteration > 0)
}

/// Serves the project's board over MCP on stdin and stdout, until the client goes away.
#[cfg(feature = "mcp")]
pub fn serve_mcp(gambrel: Gambrel, session: Option<String>) -> Result<(), McpError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| McpError::Server(error.to_string()))?;
    let source = Arc::new(McpBoard { gambrel, session });
    let served = runtime.block_on(serve_board(source, tokio::io::stdin(), tokio::io::stdout()));
    // A read of stdin cannot be ended; a call that is running ends first.
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    served
}

#[cfg(feature = "mcp")]
struct McpBoard {
    gambrel: Gambrel,
    session: Option<String>,
}

#[cfg(feature = "mcp")]
impl BoardSource for McpBoard {
    fn with_board(&self, work: &mut dyn FnMut(&Board<'_>)) {
        let session = self.session.as_deref();
        let request = BoardRequest { session, by: "gambrel mcp", ..BoardRequest::default() };
        self.gambrel.with_board(request, work);
    }
}
