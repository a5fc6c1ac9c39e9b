//! Why a call cannot start.

use std::io;
use std::path::PathBuf;

use gambrel_process::error::StartError;

/// What an action prepares, or why it cannot.
pub(crate) type ActionResult<T = ()> = Result<T, ActionError>;

/// Why a call cannot start. Its text is the reason in the outcome.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ActionError {
    #[error("the call has nothing to start")]
    NothingToStart,
    #[error("the call has no program")]
    NoProgram,
    #[error("the hook needs `{0}`, which was not found on the PATH")]
    NoShell(&'static str),
    #[error("could not write `{}`: {source}", path.display())]
    SideFile { path: PathBuf, source: io::Error },
    #[error("the supervisor received no request: {0}")]
    NoRequest(io::Error),
    #[error("no time was left to start it")]
    NoTime,
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("the process ended before it could be handed over")]
    EndedBeforeHandoff,
}
