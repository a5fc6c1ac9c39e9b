//! Why a process could not be started or watched.

use std::io;
use std::path::PathBuf;

use crate::environ::EnvironError;
use crate::isolation::KernelRefusalError;

/// Why a process was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A variable cannot be passed.
    #[error(transparent)]
    Environ(#[from] EnvironError),
    /// No program with this name.
    #[error("the program `{0}` was not found on the PATH")]
    NotOnPath(String),
    /// The private view of its files is not possible.
    #[error("verified_exec: {0}")]
    View(io::Error),
    /// No pipe for its streams.
    #[error("no pipe for the process: {0}")]
    NoPipe(io::Error),
    /// The kernel refused a namespace that it needs.
    #[error(transparent)]
    Refused(#[from] KernelRefusalError),
    /// Its working directory is gone or not a directory.
    #[error("the working directory `{}` does not exist or is not a directory", .0.display())]
    NoFolder(PathBuf, #[source] io::Error),
    /// One argument is too long.
    #[error("argument {index} of `{}` is too long", program.display())]
    LongArgument {
        /// The program.
        program: PathBuf,
        /// The argument's position.
        index: usize,
    },
    /// Environment and arguments are too long.
    #[error(
        "environment and arguments together are too long for the kernel; the longest variable is `{name}` with {length} bytes"
    )]
    LongEnvironment {
        /// The longest variable.
        name: String,
        /// Its length.
        length: usize,
    },
    /// The program names an interpreter that does not exist.
    #[error("could not start `{}`: its interpreter was not found", .0.display())]
    NoInterpreter(PathBuf, #[source] io::Error),
    /// The program is a directory.
    #[error("could not start `{}`: it is a directory", .0.display())]
    IsDirectory(PathBuf, #[source] io::Error),
    /// The kernel did not execute it.
    #[error("could not start `{}` in `{}`: {source}", program.display(), cwd.display())]
    NotExecuted {
        /// The program.
        program: PathBuf,
        /// Its working directory.
        cwd: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There was no program to try.
    #[error("there is no program to start")]
    NoProgram,
}

/// Why the watchdog does not have an order.
#[derive(Debug, thiserror::Error)]
pub enum WatchdogError {
    /// This host cannot be executed again.
    #[error("no watchdog here kills them")]
    NoProgram,
    /// It could not start.
    #[error("the watchdog `{}` could not start: {source}", program.display())]
    Start {
        /// The program that is executed again.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Its pipe is full or broken.
    #[error("the watchdog does not accept orders: {0}")]
    Order(io::Error),
    /// Every new watchdog ended at once.
    #[error("the watchdog keeps ending")]
    KeepsEnding,
}

impl StartError {
    /// The error of the operating system that describes it best.
    pub fn os_error(&self) -> io::Error {
        let from_code = |error: &io::Error| match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(error.kind(), error.to_string()),
        };
        match self {
            Self::NoFolder(_, error)
            | Self::NoInterpreter(_, error)
            | Self::IsDirectory(_, error)
            | Self::NotExecuted { source: error, .. }
            | Self::View(error)
            | Self::NoPipe(error) => from_code(error),
            Self::Refused(refused) => from_code(&refused.1),
            Self::LongArgument { .. } | Self::LongEnvironment { .. } => {
                io::Error::from_raw_os_error(libc::E2BIG)
            }
            Self::Environ(EnvironError::TooLong { .. }) => {
                io::Error::from_raw_os_error(libc::E2BIG)
            }
            Self::Environ(_) => io::Error::from_raw_os_error(libc::EINVAL),
            Self::NotOnPath(_) | Self::NoProgram => io::Error::from_raw_os_error(libc::ENOENT),
        }
    }
}
