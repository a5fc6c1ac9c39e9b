//! The board of the project for a caller: its session, the run of that session, and its hooks.

use std::path::{Path, PathBuf};

use gambrel_engine::now_ms;
use gambrel_runner::Board;
use serde_json::Value;

use crate::app::Gambrel;

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
