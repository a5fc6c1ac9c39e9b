//! Turns a call into the program and arguments to execute, with or without a shell. `posix_spawn`
//! starts it; this file explains a failed start.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gambrel_model::call::{Call, Program, Shell};
use rustix::process::Pid;

use crate::environ::{Environ, MAX_ENTRY_BYTES};
use crate::isolation;
use crate::path_lookup;
use crate::posix_spawn::{SpawnRequest, spawn_process};
use crate::private_view::PrivateView;
use crate::shell_bypass;

/// A call ready to start: its environment, and the ways to execute it in order of preference.
pub(crate) struct PreparedCommand<'a> {
    environ: Environ,
    cwd: &'a Path,
    modes: Vec<ExecMode>,
    /// Has the kernel kill it when this process is killed, see [`SpawnRequest::kill_with_parent`].
    pub kill_with_parent: bool,
    /// Starts it in a PID namespace or not at all, see [`SpawnRequest::isolate`].
    pub isolate: bool,
    /// The view in which hashed copies replace the trusted files.
    view: Option<PrivateView>,
}

/// How long a start is retried while another process has the program open for writing.
const BUSY_FILE_TIMEOUT: Duration = Duration::from_millis(100);
/// Between two tries to start such a program.
const BUSY_RETRY_DELAY: Duration = Duration::from_millis(2);

/// A program and its arguments.
struct ExecMode {
    path: PathBuf,
    argv: Vec<Vec<u8>>,
}

/// A started process.
pub(crate) struct StartedProcess {
    pub pid: Pid,
    pub command: Vec<String>,
    pub tag: String,
}

impl<'a> PreparedCommand<'a> {
    /// Prepares a call, or returns why it cannot start.
    pub fn from_call(call: &'a Call, allow_direct: bool) -> Result<Self, String> {
        let environ = Environ::from_call(call)?;
        let cwd = call.cwd.as_path();
        let modes = match &call.program {
            Program::None => return Err("the call has nothing to start".to_owned()),
            Program::Exec(argv) => vec![exec_mode(argv, &environ, cwd)?],
            Program::Shell { shell, text } => {
                let direct = (allow_direct && *shell != Shell::PowerShell)
                    .then(|| shell_bypass::bypass_shell(text, &environ, cwd))
                    .flatten()
                    .map(|found| ExecMode { path: found.path, argv: found.argv });
                let mut modes: Vec<ExecMode> = direct.into_iter().collect();
                match shell_mode(*shell, text, &environ, cwd) {
                    Ok(mode) => modes.push(mode),
                    Err(reason) if modes.is_empty() || *shell == Shell::Bash => return Err(reason),
                    Err(_) => {}
                }
                modes
            }
        };

        let copies = call.watched.as_ref().and_then(|watched| watched.copies.as_ref());
        let view = copies.map(PrivateView::plan).transpose()?;
        Ok(Self { environ, cwd, modes, kill_with_parent: false, isolate: false, view })
    }

    /// The tag in its environment.
    pub fn tag(&self) -> &str {
        &self.environ.tag
    }

    /// Starts it with these streams; the error is a message for the user.
    pub fn start(
        mut self,
        streams: [Option<std::os::fd::BorrowedFd<'_>>; 3],
    ) -> Result<StartedProcess, String> {
        let mut reason = String::new();
        let mut tries = self.modes.drain(..).collect::<std::collections::VecDeque<_>>();
        while let Some(mode) = tries.pop_front() {
            match self.start_mode(&mode, streams) {
                Ok(pid) => return Ok(mode.into_started(pid, self.environ.tag)),
                Err(error) => {
                    reason = self.explain_failure(&mode, &error);
                    let unknown_format = error.raw_os_error() == Some(libc::ENOEXEC);
                    if unknown_format && tries.is_empty() && mode.path != Path::new("/bin/sh") {
                        tries.push_back(mode.through_sh());
                    }
                }
            }
        }
        Err(reason)
    }

    fn start_mode(
        &self,
        mode: &ExecMode,
        streams: [Option<std::os::fd::BorrowedFd<'_>>; 3],
    ) -> io::Result<Pid> {
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

    fn explain_failure(&self, mode: &ExecMode, error: &io::Error) -> String {
        if let Some(refusal) = isolation::refusal_message(error) {
            return refusal;
        }
        let program = mode.path.display();
        let cwd = self.cwd.display();
        if !self.cwd.as_os_str().is_empty() && !self.cwd.is_dir() {
            return format!("the working directory `{cwd}` does not exist or is not a directory");
        }

        match error.raw_os_error() {
            Some(libc::E2BIG) => self.explain_size(mode),
            Some(libc::ENOENT) if self.cwd.join(&mode.path).exists() => {
                format!("could not start `{program}`: its interpreter was not found")
            }
            Some(libc::EACCES) if self.cwd.join(&mode.path).is_dir() => {
                format!("could not start `{program}`: it is a directory")
            }
            _ => format!("could not start `{program}` in `{cwd}`: {error}"),
        }
    }

    fn explain_size(&self, mode: &ExecMode) -> String {
        if let Some(index) = mode.argv.iter().position(|word| word.len() >= MAX_ENTRY_BYTES) {
            return format!("argument {index} of `{}` is too long", mode.path.display());
        }
        let (name, length) = self.environ.longest_entry();
        format!(
            "environment and arguments together are too long for the kernel; the longest variable is `{name}` with {length} bytes"
        )
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

fn exec_mode(argv: &[String], environ: &Environ, cwd: &Path) -> Result<ExecMode, String> {
    let name = argv.first().filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| "the call has no program".to_owned())?;
    let path = if name.contains('/') {
        PathBuf::from(name)
    } else {
        path_lookup::find_on_path(name.as_bytes(), environ.value_of(b"PATH"), cwd)
            .ok_or_else(|| format!("the program `{name}` was not found on the PATH"))?
    };
    Ok(ExecMode { path, argv: argv.iter().map(|word| word.clone().into_bytes()).collect() })
}

fn shell_mode(shell: Shell, text: &str, environ: &Environ, cwd: &Path) -> Result<ExecMode, String> {
    let find_program =
        |name: &str| path_lookup::find_on_path(name.as_bytes(), environ.value_of(b"PATH"), cwd);
    let sh = || PathBuf::from("/bin/sh");
    let missing = |name: &str| format!("the hook needs `{name}`, which was not found on the PATH");
    let (path, options) = match shell {
        Shell::Sh => (sh(), vec!["-c"]),
        Shell::Bash => (find_program("bash").ok_or_else(|| missing("bash"))?, vec!["-c"]),
        Shell::BashOrSh => (find_program("bash").unwrap_or_else(sh), vec!["-c"]),
        Shell::PowerShell => {
            (find_program("pwsh").ok_or_else(|| missing("pwsh"))?, vec!["-NoProfile", "-Command"])
        }
    };

    let mut argv = vec![path.as_os_str().as_bytes().to_vec()];
    argv.extend(options.into_iter().map(|option| option.as_bytes().to_vec()));
    // The shell would read text that begins like an option as one.
    let space = if text.starts_with(['-', '+']) { " " } else { "" };
    argv.push(format!("{space}{text}").into_bytes());
    Ok(ExecMode { path, argv })
}
