//! Arguments of the commands about teams.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Arguments of `team`.
#[derive(Debug, Args)]
#[command(
    after_help = "A team is a folder of pi-teams: config.json, tasks, mailboxes, hook-logs. Its hooks are in
_hooks beside it and run only with PI_TEAMS_HOOKS_ENABLED=1.

Examples:
  gambrel team status --team ~/.pi/agent/teams/build
  gambrel team idle --team ~/.pi/agent/teams/build --member ada --task 3
  gambrel team watch --team ~/.pi/agent/teams/build

Exit codes: 0 ok, 1 a hook failed, 64 wrong usage."
)]
pub struct TeamArgs {
    /// The command about a team.
    #[command(subcommand)]
    pub command: TeamCommand,
}

/// The commands about a team.
#[derive(Debug, Subcommand)]
pub enum TeamCommand {
    /// Run the hooks for a member that went idle, and apply the quality gates to its task.
    Idle(IdleArgs),
    /// Do this for every idle message in the leader's mailbox, until interrupted.
    Watch(WatchTeamArgs),
    /// Show members, tasks and the last quality gates.
    Status(TeamStatusArgs),
}

/// Arguments of `team idle`.
#[derive(Debug, Args)]
pub struct IdleArgs {
    /// The folder of the team.
    #[arg(long, value_name = "DIR")]
    pub team: PathBuf,
    /// The member that went idle.
    #[arg(long, value_name = "NAME")]
    pub member: String,
    /// The task that it worked on.
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// How that task ended.
    #[arg(long, default_value = "completed", requires = "task")]
    pub status: EndedStatus,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EndedStatus {
    /// It is done.
    Completed,
    /// It was given back.
    Failed,
}

/// Arguments of `team watch`.
#[derive(Debug, Args)]
pub struct WatchTeamArgs {
    /// The folder of the team.
    #[arg(long, value_name = "DIR")]
    pub team: PathBuf,
    /// Handle the messages that are there and stop.
    #[arg(long)]
    pub once: bool,
    /// Print one JSON object per message.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `team status`.
#[derive(Debug, Args)]
pub struct TeamStatusArgs {
    /// The folder of the team.
    #[arg(long, value_name = "DIR")]
    pub team: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
