//! Arguments of `gambrel trust` and `gambrel untrust`.

use clap::Args;

/// Arguments of `trust`.
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// Trust these hooks, by number, id or file path.
    #[arg(value_name = "HOOK")]
    pub ids: Vec<String>,
    /// Trust every hook of this project.
    #[arg(long)]
    pub all: bool,
    /// Skip the confirmation.
    #[arg(long)]
    pub yes: bool,
    /// Skip hooks that run files gambrel cannot see.
    #[arg(long)]
    pub no_opaque: bool,
    /// Trust hooks identical to those you trusted in another worktree.
    #[arg(long)]
    pub reuse: bool,
    /// List trust status of project hooks.
    #[arg(long)]
    pub list: bool,
    /// Print the hooks as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `untrust`.
#[derive(Debug, Args)]
pub struct UntrustArgs {
    /// Revoke trust of these hooks, by number, id or file path.
    pub ids: Vec<String>,
    /// Revoke trust of every hook of this project.
    #[arg(long)]
    pub all: bool,
    /// Deny these hooks permanently instead of forgetting them.
    #[arg(long)]
    pub deny: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}
