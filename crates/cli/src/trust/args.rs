//! What `gambrel trust` and `gambrel untrust` take on the command line.

use clap::Args;

/// `trust`.
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// Hooks to trust: by number of the listing, by id, or by the path of a file.
    #[arg(value_name = "HOOK")]
    pub ids: Vec<String>,
    /// Every hook of this project.
    #[arg(long)]
    pub all: bool,
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
    /// Leave out hooks that run files which gambrel cannot see.
    #[arg(long)]
    pub no_opaque: bool,
    /// Trust what you trusted, byte for byte, in another worktree of this repository.
    #[arg(long)]
    pub reuse: bool,
    /// List trust status of project hooks.
    #[arg(long)]
    pub list: bool,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

/// `untrust`.
#[derive(Debug, Args)]
pub struct UntrustArgs {
    /// Hooks to forget: by number of the listing, by id, or by the path of a file.
    pub ids: Vec<String>,
    /// Every hook of this project.
    #[arg(long)]
    pub all: bool,
    /// Refuse them for good instead of forgetting them.
    #[arg(long)]
    pub deny: bool,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}
