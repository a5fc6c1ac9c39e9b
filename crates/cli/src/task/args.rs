//! Arguments of the commands about tasks.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use gambrel_model::ledger::TaskStatus;
use gambrel_runner::MAX_PRIORITY;

/// Arguments of `task`.
#[derive(Debug, Args)]
#[command(
    after_help = "The board belongs to the project. Hooks may refuse a new or a completed task.

Examples:
  gambrel task add 'Write the parser' --priority 1
  gambrel task claim 1 --owner ada
  gambrel task done 1
  gambrel task list --status pending

Exit codes: 0 ok, 1 refused by a rule or a hook, 64 wrong usage."
)]
pub struct TaskArgs {
    /// The command about tasks.
    #[command(subcommand)]
    pub command: TaskCommand,
}

/// The commands about tasks.
#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    /// Add a task.
    Add(AddTaskArgs),
    /// List the tasks.
    List(ListTasksArgs),
    /// Show one task with its history.
    Show(NamedTaskArgs),
    /// Take a pending task; only one caller succeeds.
    Claim(ClaimTaskArgs),
    /// Complete a task, unless a hook refuses.
    Done(NamedTaskArgs),
    /// Give a task back: it is pending again and has no owner.
    Fail(FailTaskArgs),
    /// Change a task.
    Update(UpdateTaskArgs),
    /// Print each change of the board until interrupted.
    Watch(WatchTasksArgs),
}

/// Options of every command about tasks.
#[derive(Debug, Args)]
pub struct BoardArgs {
    /// Work in this session: hooks reach its agent [env: GAMBREL_SESSION].
    #[arg(long, value_name = "NAME")]
    pub session: Option<String>,
    /// Work on the folder of a pi-teams team instead of the project's board.
    #[arg(long, value_name = "DIR")]
    pub team: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `task add`.
#[derive(Debug, Args)]
pub struct AddTaskArgs {
    /// What to do, in one line.
    pub text: String,
    /// Say more about it.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub description: String,
    /// Set the priority; 0 is the most urgent [default: 2].
    #[arg(long, value_name = "0-4", value_parser = priority_range())]
    pub priority: Option<u8>,
    /// Name who shall do it.
    #[arg(long, value_name = "NAME")]
    pub owner: Option<String>,
    /// Wait for this task.
    #[arg(long, value_name = "ID")]
    pub blocked_by: Vec<String>,
    #[command(flatten)]
    pub board: BoardArgs,
}

/// Arguments of `task list`.
#[derive(Debug, Args)]
pub struct ListTasksArgs {
    /// List only tasks with this status.
    #[arg(long)]
    pub status: Option<StatusArg>,
    #[command(flatten)]
    pub board: BoardArgs,
}

/// Arguments of commands about one task.
#[derive(Debug, Args)]
pub struct NamedTaskArgs {
    /// The id of the task.
    pub id: String,
    #[command(flatten)]
    pub board: BoardArgs,
}

/// Arguments of `task claim`.
#[derive(Debug, Args)]
pub struct ClaimTaskArgs {
    /// The id of the task.
    pub id: String,
    /// Name who takes it [default: the session, else the user].
    #[arg(long, value_name = "NAME")]
    pub owner: Option<String>,
    #[command(flatten)]
    pub board: BoardArgs,
}

/// Arguments of `task fail`.
#[derive(Debug, Args)]
pub struct FailTaskArgs {
    /// The id of the task.
    pub id: String,
    /// Say why, for the task's history.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub reason: String,
    #[command(flatten)]
    pub board: BoardArgs,
}

/// Arguments of `task update`.
#[derive(Debug, Args)]
pub struct UpdateTaskArgs {
    /// The id of the task.
    pub id: String,
    /// Change what to do.
    #[arg(long, value_name = "TEXT")]
    pub subject: Option<String>,
    /// Change what it says about it.
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Change the priority; 0 is the most urgent.
    #[arg(long, value_name = "0-4", value_parser = priority_range())]
    pub priority: Option<u8>,
    /// Change the owner; an empty name removes it.
    #[arg(long, value_name = "NAME")]
    pub owner: Option<String>,
    /// Change the status; `completed` asks the hooks.
    #[arg(long)]
    pub status: Option<StatusArg>,
    /// Wait for these tasks instead of those before; an empty id waits for none.
    #[arg(long, value_name = "ID")]
    pub blocked_by: Option<Vec<String>>,
    #[command(flatten)]
    pub board: BoardArgs,
}

/// Arguments of `task watch`.
#[derive(Debug, Args)]
pub struct WatchTasksArgs {
    /// Watch the folder of a pi-teams team instead of the project's board.
    #[arg(long, value_name = "DIR")]
    pub team: Option<PathBuf>,
    /// Print one JSON object per change.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `mcp`.
#[derive(Debug, Args)]
#[command(after_help = "An agent starts this program. In the settings of an MCP host:
  {\"mcpServers\": {\"gambrel\": {\"command\": \"gambrel\", \"args\": [\"mcp\"]}}}
For Claude Code, `gambrel install claude --mcp` writes that to .mcp.json.

Tools: task-add, task-update, task-list, task-next, note-add, note-list,
iteration-summary, session-complete.")]
pub struct McpArgs {
    /// Work in this session [env: GAMBREL_SESSION].
    #[arg(long, value_name = "NAME")]
    pub session: Option<String>,
}

/// A status on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum StatusArg {
    /// Nobody works on it.
    Pending,
    /// Its owner works on it.
    InProgress,
    /// It is done.
    Completed,
    /// It cannot be done now.
    Blocked,
    /// It will not be done.
    Cancelled,
}

impl StatusArg {
    /// The status of a task.
    pub fn to_status(self) -> TaskStatus {
        match self {
            Self::Pending => TaskStatus::Pending,
            Self::InProgress => TaskStatus::InProgress,
            Self::Completed => TaskStatus::Completed,
            Self::Blocked => TaskStatus::Blocked,
            Self::Cancelled => TaskStatus::Cancelled,
        }
    }
}

fn priority_range() -> clap::builder::RangedI64ValueParser<u8> {
    clap::value_parser!(u8).range(0..=i64::from(MAX_PRIORITY))
}
