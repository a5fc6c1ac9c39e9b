//! The board of the project for a caller: its session, the run of that session, and its hooks.

use std::path::{Path, PathBuf};
#[cfg(feature = "mcp")]
use std::{sync::Arc, time::Duration};

use gambrel_engine::now_ms;
use gambrel_runner::Board;
#[cfg(feature = "mcp")]
use gambrel_runner::mcp::{BoardSource, McpError, serve_board};
use serde_json::Value;

use crate::app::Gambrel;

/// How long a call that is running may take after the client has gone away.
#[cfg(feature = "mcp")]
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(600);

impl Gambrel {
    /// Works on the project's board. `session` is the caller's session, else `GAMBREL_SESSION`; `by`
    /// names the caller in the history of tasks.
    pub fn with_board<T>(
        &self,
        session: Option<&str>,
        by: &str,
        work: impl FnOnce(&Board<'_>) -> T,
    ) -> T {
        let project = self.project_folder();
        let own = self.setup().env.get("GAMBREL_SESSION").map(String::as_str);
        let session = session.or(own).unwrap_or_default().to_owned();
        let run_dir = self.find_run_dir(&project, &session);
        let board = Board {
            ledger: self.ledger(),
            name: project.display().to_string(),
            iteration: run_dir.as_deref().and_then(read_iteration),
            project,
            session,
            run_dir,
            by: by.to_owned(),
            fire: &|event| self.fire_run_event(&event, &[], Vec::new()),
            now_ms: now_ms(),
        };
        work(&board)
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
        self.gambrel.with_board(self.session.as_deref(), "gambrel mcp", work);
    }
}
