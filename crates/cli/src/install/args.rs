//! Arguments of `install` and `uninstall`.

use clap::{Args, ValueEnum};

/// Arguments of `install`.
#[derive(Debug, Args)]
#[command(
    after_help = "The entries call `gambrel fire --from claude --hosted`. They are written for PreToolUse,
PostToolUse, PostToolUseFailure, UserPromptSubmit, SessionStart, Stop, SubagentStop, TaskCompleted
and SessionEnd, and for every other event that a hook uses here. Run `install` again after adding
a hook for another event. Claude Code still runs its own hooks; gambrel adds those of the other
dialects. The PreToolUse entry blocks the tool when gambrel does not answer. Comments
and order of the file are kept, and `uninstall` restores it."
)]
pub struct InstallArgs {
    /// Install into this agent.
    pub agent: InstallTarget,
    #[command(flatten)]
    pub settings_file: SettingsFileArgs,
    /// Add entries for every event, also those without hooks.
    #[arg(long)]
    pub all_events: bool,
    /// Add the task board as an MCP server to this project's .mcp.json.
    #[arg(long, conflicts_with = "user")]
    pub mcp: bool,
    /// Print the changes as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `uninstall`.
#[derive(Debug, Args)]
#[command(
    after_help = "A file that did not change since `install` is restored byte for byte. Otherwise gambrel's entries
are removed, and everything else stays. Without --user, the MCP server in .mcp.json is removed too."
)]
pub struct UninstallArgs {
    /// Uninstall from this agent.
    pub agent: InstallTarget,
    #[command(flatten)]
    pub settings_file: SettingsFileArgs,
    /// Print the changes as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Selects a settings file of Claude Code.
#[derive(Debug, Args)]
pub struct SettingsFileArgs {
    /// Use this project's shared settings file [default].
    #[arg(long, conflicts_with = "user")]
    pub project: bool,
    /// Use this project's unshared settings file (settings.local.json).
    #[arg(long, conflicts_with_all = ["user", "project"])]
    pub local: bool,
    /// Use your own settings file, for all projects.
    #[arg(long)]
    pub user: bool,
}

/// Agents that gambrel can be installed in.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum InstallTarget {
    /// Claude Code.
    Claude,
}
