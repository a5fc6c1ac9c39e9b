//! Runs plans: it drives an agent through iterations and stages, fires hooks at every point, and
//! continues after a kill. It must not know dialects, stores by name, or how text is printed.

mod acp_firing;
mod acp_permissions;
mod acp_turn;
mod agent;
mod agent_turn;
mod board;
mod board_hooks;
mod board_notify;
mod board_tools;
mod changed_files;
mod commit;
mod commit_message;
mod compile;
mod context;
mod counts;
mod cursor;
mod drive;
mod facts;
mod files;
mod firing;
mod folder;
mod follow_up;
mod inputs;
mod iteration_steps;
mod log_line;
#[cfg(feature = "mcp")]
pub mod mcp;
mod names;
mod permissions;
mod plan;
mod prompt;
mod provider;
mod recovery;
mod result;
mod run_board;
mod run_log;
mod session_steps;
mod spec;
mod start;
mod state;
mod termination;
mod timeline;
mod turn_report;
mod usage;
mod usage_format;

pub use agent::{AcpError, TaskServer, probe_agent};
pub use board::{
    Board, BoardChange, BoardError, DEFAULT_PRIORITY, FireBoardEvent, MAX_PRIORITY, NewTask,
    TaskEdit, TaskRule, find_blocker, refuse, status_word,
};
pub use board_tools::{BoardTool, BoardToolResult, call_tool, list_tools};
pub use compile::{CompiledPlan, PlanError, PlanRequest, compile_plan};
pub use context::{FireHooks, FiringRequest, RunContext, RunError, RunResult, RunUpdate};
pub use counts::{CountTotals, RunCounts, TurnCounts};
pub use cursor::{Cursor, RunStep};
pub use files::find::{PlanRoots, list_plan_files};
pub use files::kind::is_plan_text;
pub use files::schema::{pipeline_schema, stage_schema};
pub use files::termination::BEADS_COMMAND;
pub use folder::RunFolder;
pub use log_line::{LogKind, LogLine};
pub use names::is_session_name;
pub use plan::{
    InputSelect, NodeInputs, NodeProvider, PermissionDefault, PipelineInfo, Plan, PlanFile,
    PlanNode, PlanSession, PlanSource, RunKind, SpecText, Termination, TerminationKind,
};
pub use provider::{ACP_AGENTS, AcpAgent, AgentSpec};
pub use start::{read_log, read_plan, read_state, run_plan, write_plan, write_state};
pub use state::{HistoryEntry, RunFailure, RunState, RunStatus, StageState};
pub use timeline::{build_timeline, describe_stop, read_hook};
pub use usage::{AgentUsage, UsdAmount};
