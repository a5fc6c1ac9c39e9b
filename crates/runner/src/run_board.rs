//! The task board as a run uses it: the prompt of a spec, its end, and tools of a scripted agent.

use std::time::{Duration, Instant};

use gambrel_model::ledger::{BoardNote, NoteKind};
use gambrel_model::tool::strip_mcp_server;
use gambrel_model::{Complaint, SourceSpan};
use serde_json::Value;

use crate::board::{Board, BoardError};
use crate::board_notify::LeftHooks;
use crate::board_tools::{self, BOARD_SERVER, BoardToolResult};
use crate::context::{FiringRequest, RunError, RunUpdate};
use crate::cursor::Cursor;
use crate::drive::Driver;
use crate::spec::{SpecFacts, build_spec_prompt};

/// How long a resumed run waits for a process of the killed run that still runs hooks of a task.
const LEFT_HOOKS_TIMEOUT: Duration = Duration::from_secs(20);
const LEFT_HOOKS_INTERVAL: Duration = Duration::from_millis(50);

impl Driver<'_> {
    /// The prompt of an iteration: of a spec, or of a stage.
    pub(crate) fn build_iteration_prompt(&self, cursor: &Cursor) -> Result<String, RunError> {
        let node = self.node();
        let Some(spec) = &node.spec else {
            return Ok(self.view().build_prompt(node, cursor));
        };
        let (tasks, notes) = self.read_board(|board| Ok((board.tasks()?, board.notes()?)))?;
        let facts = SpecFacts {
            session: &self.plan.session.name,
            iteration: cursor.iteration,
            tasks: &tasks,
            notes: &notes,
        };
        Ok(build_spec_prompt(&node.prompt, spec, &facts))
    }

    /// Whether the agent has called `session-complete` in this run.
    pub(crate) fn is_session_complete(&self) -> Result<bool, RunError> {
        let is_end = |note: &BoardNote| note.kind == NoteKind::SessionComplete;
        Ok(self.own_notes()?.iter().any(is_end))
    }

    /// The summary of the current iteration that the agent gave with `iteration-summary`.
    pub(crate) fn find_summary(&self) -> Result<String, RunError> {
        let iteration = Some(u64::from(self.state.cursor.iteration));
        let is_summary =
            |note: &&BoardNote| note.kind == NoteKind::Summary && note.iteration == iteration;
        let notes = self.own_notes()?;
        Ok(notes.iter().rev().find(is_summary).map(|note| note.text.clone()).unwrap_or_default())
    }

    /// Calls a tool of the board for a scripted agent; `None` if it is no tool of the board.
    pub(crate) fn call_board(&self, tool: &str, args: &Value) -> Option<BoardToolResult> {
        let name = strip_mcp_server(tool, BOARD_SERVER)?;
        self.with_board(|board| board_tools::call_tool(board, name, args))
    }

    /// Fires the hooks of completed tasks that a killed or cancelled run left out. Waits for a process
    /// of that run which has not ended yet.
    pub(crate) fn fire_left_hooks(&mut self) {
        let end = Instant::now() + LEFT_HOOKS_TIMEOUT;
        loop {
            let left = self.with_board(|board| board.fire_left_hooks()).unwrap_or_else(|error| {
                LeftHooks { notices: vec![error.to_string()], is_busy: false }
            });
            for text in &left.notices {
                (self.on_update)(RunUpdate::Notice(text));
            }
            if !left.is_busy || Instant::now() >= end || self.is_interrupted() {
                return;
            }
            std::thread::sleep(LEFT_HOOKS_INTERVAL);
        }
    }

    /// The notes that this run has written.
    fn own_notes(&self) -> Result<Vec<BoardNote>, RunError> {
        let mut notes = self.read_board(|board| board.notes())?;
        let (session, began) = (&self.plan.session.name, self.state.started_ms);
        notes.retain(|note| note.session == *session && note.created >= began);
        Ok(notes)
    }

    fn read_board<T>(
        &self,
        work: impl FnOnce(&Board<'_>) -> Result<T, BoardError>,
    ) -> Result<T, RunError> {
        self.with_board(work).map_err(RunError::Board)
    }

    fn with_board<T>(&self, work: impl FnOnce(&Board<'_>) -> T) -> T {
        let board = Board {
            ledger: self.context.ledger,
            name: self.context.project.display().to_string(),
            project: self.context.project.clone(),
            session: self.plan.session.name.clone(),
            run_dir: Some(self.folder.path.clone()),
            iteration: Some(u64::from(self.state.cursor.iteration)),
            by: "agent".to_owned(),
            fire: &|event| {
                let agent = &self.node().provider.spec;
                let request = FiringRequest { event, agent, stage_file: None, pipeline_file: None };
                let decision = (self.context.fire)(&request)?;
                // Hooks that a signal ended are due when the run goes on.
                match self.is_interrupted() {
                    true => Err(Complaint::error(SourceSpan::default(), "the run was cancelled")),
                    false => Ok(decision),
                }
            },
            now_ms: (self.context.now_ms)(),
        };
        work(&board)
    }
}
