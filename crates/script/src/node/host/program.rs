//! The command of a module's program: its file, arguments, folder and environment.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use gambrel_process::command::{ExecMode, ProcessCommand};
use gambrel_process::environ::{Environ, EnvironRequest};
use gambrel_process::error::StartError;
use gambrel_process::group::ProcessGroup;
use gambrel_process::owner::{ParentEnds, StreamEnd};
use gambrel_process::process::ProcessEnd;

use serde_json::Value;

use super::signals;
use crate::runtime::HostState;

/// A program to start.
pub struct ProgramRequest<'a> {
    /// The file: a path, or a name on the PATH.
    pub file: &'a str,
    /// The name that it sees as its own.
    pub argv0: &'a str,
    /// Its arguments.
    pub args: Vec<&'a str>,
    /// Its folder; empty keeps that of this process.
    pub cwd: &'a Path,
    /// Its environment.
    pub environ: EnvironRequest<'a>,
}

/// How a program ended: its code, or the name of the signal.
#[derive(Debug, Clone, Default)]
pub struct ProgramExit {
    /// The exit code.
    pub code: Option<i32>,
    /// The name of the signal.
    pub signal: Option<String>,
}

impl From<Option<ProcessEnd>> for ProgramExit {
    fn from(end: Option<ProcessEnd>) -> Self {
        match end {
            Some(ProcessEnd::Exited(code)) => Self { code: Some(code), signal: None },
            Some(ProcessEnd::Signalled(number)) => {
                Self { code: None, signal: Some(signals::signal_name(number)) }
            }
            _ => Self::default(),
        }
    }
}

/// The time limit in `timeout`, in milliseconds.
pub fn read_limit(args: &Value) -> Option<Duration> {
    let limit = args["timeout"].as_f64().filter(|ms| *ms > 0.0)?;
    Duration::try_from_secs_f64(limit / 1000.0).ok()
}

/// Starts a program in a group of its own. `name` is what is reported if it is left running.
pub fn start_program(
    state: &HostState,
    request: &ProgramRequest<'_>,
    streams: [StreamEnd; 3],
    name: Option<&str>,
) -> Result<(ProcessGroup, ParentEnds), StartError> {
    let environ = Environ::build(&request.environ)?;
    let words = std::iter::once(request.argv0).chain(request.args.iter().copied());
    let argv = words.map(|word| word.as_bytes().to_vec()).collect();
    let mode = ExecMode::find(request.file, argv, &environ, request.cwd)?;
    let command = ProcessCommand::new(environ, request.cwd, vec![mode]);
    state.programs.start(command, streams, name)
}

/// A pipe as a file, for reading and writing with std.
pub fn pipe_file(pipe: Option<OwnedFd>) -> Option<std::fs::File> {
    pipe.map(Into::into)
}
