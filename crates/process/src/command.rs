//! A command that is ready to start: its environment, directory and the programs to try. Explains a
//! failed start.

use std::collections::VecDeque;
use std::ffi::CString;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::environ::{Environ, MAX_ENTRY_BYTES};
use crate::error::StartError;
use crate::isolation::KernelRefusalError;
use crate::path_lookup;
use crate::posix_spawn::{SpawnRequest, spawn_process};
use crate::private_view::PrivateView;

/// A command ready to start.
pub struct ProcessCommand<'a> {
    /// Its environment.
    pub environ: Environ,
    /// Its working directory; empty keeps that of this process.
    pub cwd: &'a Path,
    /// The ways to execute it, in order of preference.
    pub modes: Vec<ExecMode>,
    /// Whether a script without a `#!` line runs with `/bin/sh`, as in shells.
    pub scripts_through_sh: bool,
    /// Has the kernel kill it when this process is killed, see [`SpawnRequest::kill_with_parent`].
    pub kill_with_parent: bool,
    /// Starts it in a PID namespace or not at all, see [`SpawnRequest::isolate`].
    pub isolate: bool,
    /// The view in which private copies replace files.
    pub view: Option<PrivateView>,
}

/// How long a start is retried while another process has the program open for writing.
const BUSY_FILE_TIMEOUT: Duration = Duration::from_millis(100);
/// Between two tries to start such a program.
const BUSY_RETRY_DELAY: Duration = Duration::from_millis(2);

/// A program and its arguments.
pub struct ExecMode {
    /// The program.
    pub path: PathBuf,
    /// The arguments, with the program's name as the first.
    pub argv: Vec<Vec<u8>>,
}

/// A started process.
pub struct StartedProcess {
    /// Its process id.
    pub pid: Pid,
    /// The executed command.
    pub command: Vec<String>,
    /// The tag in its environment.
    pub tag: String,
}

impl<'a> ProcessCommand<'a> {
    /// A command that is neither isolated nor bound to this process.
    pub fn new(environ: Environ, cwd: &'a Path, modes: Vec<ExecMode>) -> Self {
        Self {
            environ,
            cwd,
            modes,
            scripts_through_sh: false,
            kill_with_parent: false,
            isolate: false,
            view: None,
        }
    }

    /// The tag in its environment.
    pub fn tag(&self) -> &str {
        &self.environ.tag
    }

    /// Starts it with these streams, which must have numbers above 2.
    pub fn start(
        mut self,
        streams: [Option<BorrowedFd<'_>>; 3],
    ) -> Result<StartedProcess, StartError> {
        let mut reason = StartError::NoProgram;
        let mut tries = self.modes.drain(..).collect::<VecDeque<_>>();
        while let Some(mode) = tries.pop_front() {
            match self.start_mode(&mode, streams) {
                Ok(pid) => return Ok(mode.into_started(pid, self.environ.tag)),
                Err(error) => {
                    let unknown_format = error.raw_os_error() == Some(libc::ENOEXEC);
                    reason = self.explain_failure(&mode, error);
                    let is_last = tries.is_empty() && mode.path != Path::new("/bin/sh");
                    if unknown_format && is_last && self.scripts_through_sh {
                        tries.push_back(mode.through_sh());
                    }
                }
            }
        }
        Err(reason)
    }

    fn start_mode(&self, mode: &ExecMode, streams: [Option<BorrowedFd<'_>>; 3]) -> io::Result<Pid> {
        let path = CString::new(mode.path.as_os_str().as_bytes())?;
        let argv = mode.argv.iter().map(|word| CString::new(word.as_slice()));
        let argv = argv.collect::<Result<Vec<_>, _>>()?;
        let cwd = CString::new(self.cwd.as_os_str().as_bytes())?;
        let cwd = (!cwd.is_empty()).then_some(cwd);

        let request = SpawnRequest {
            path: &path,
            argv: &argv,
            env: &self.environ.entries,
            cwd: cwd.as_deref(),
            streams: &streams,
            kill_with_parent: self.kill_with_parent,
            isolate: self.isolate,
            view: self.view.as_ref(),
        };
        retry_while_busy(|| spawn_process(&request))
    }

    fn explain_failure(&self, mode: &ExecMode, error: io::Error) -> StartError {
        let error = match error.downcast::<KernelRefusalError>() {
            Ok(refusal) => return refusal.into(),
            Err(error) => error,
        };
        if !self.cwd.as_os_str().is_empty() && !self.cwd.is_dir() {
            return StartError::NoFolder(self.cwd.to_owned(), error);
        }

        let program = mode.path.clone();
        let file = self.cwd.join(&program);
        match error.raw_os_error() {
            Some(libc::E2BIG) => self.explain_size(mode),
            Some(libc::ENOENT) if file.exists() => StartError::NoInterpreter(program, error),
            Some(libc::EACCES) if file.is_dir() => StartError::IsDirectory(program, error),
            _ => StartError::NotExecuted { program, cwd: self.cwd.to_owned(), source: error },
        }
    }

    fn explain_size(&self, mode: &ExecMode) -> StartError {
        if let Some(index) = mode.argv.iter().position(|word| word.len() >= MAX_ENTRY_BYTES) {
            return StartError::LongArgument { program: mode.path.clone(), index };
        }
        let (name, length) = self.environ.longest_entry();
        StartError::LongEnvironment { name, length }
    }
}

/// Retries a start for a moment: a process that has just written the program may still have it
/// open.
fn retry_while_busy<T>(mut start: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let begun = Instant::now();
    loop {
        match start() {
            Err(error)
                if error.kind() == io::ErrorKind::ExecutableFileBusy
                    && begun.elapsed() < BUSY_FILE_TIMEOUT =>
            {
                std::thread::sleep(BUSY_RETRY_DELAY);
            }
            done => return done,
        }
    }
}

impl ExecMode {
    /// The program with this name: a path as written, else found on the PATH of `environ`.
    pub fn find(
        name: &str,
        argv: Vec<Vec<u8>>,
        environ: &Environ,
        cwd: &Path,
    ) -> Result<Self, StartError> {
        let path = if name.contains('/') {
            PathBuf::from(name)
        } else {
            path_lookup::find_on_path(name.as_bytes(), environ.value_of(b"PATH"), cwd)
                .ok_or_else(|| StartError::NotOnPath(name.to_owned()))?
        };
        Ok(Self { path, argv })
    }

    fn into_started(self, pid: Pid, tag: String) -> StartedProcess {
        let program = std::iter::once(self.path.to_string_lossy().into_owned());
        let rest = self.argv.iter().skip(1).map(|word| String::from_utf8_lossy(word).into_owned());
        StartedProcess { pid, command: program.chain(rest).collect(), tag }
    }

    /// A script without a `#!` line: runs it with `/bin/sh`, as shells do.
    fn through_sh(self) -> Self {
        let script = self.path.as_os_str().as_bytes().to_vec();
        let mut argv = vec![b"/bin/sh".to_vec(), script];
        argv.extend(self.argv.into_iter().skip(1));
        Self { path: PathBuf::from("/bin/sh"), argv }
    }
}
