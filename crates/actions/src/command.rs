//! From a call to what the kernel is asked to execute. It chooses the shell or leaves it out; it
//! starts nothing itself but asks `spawn`, and explains why a start failed.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gambrel_model::call::{Call, Program, Shell};
use rustix::process::Pid;

use crate::direct;
use crate::environ::{Environ, LONGEST};
use crate::isolation;
use crate::lookup;
use crate::private_view::PrivateView;
use crate::spawn::{Start, spawn};

/// A call made ready: its environment, and the ways to start it in order of preference.
pub(crate) struct Command<'a> {
    environ: Environ,
    cwd: &'a Path,
    ways: Vec<Way>,
    /// Has the kernel kill it when we are killed, see [`Start::kill_with_parent`].
    pub kill_with_parent: bool,
    /// Starts it in a PID namespace or not at all, see [`Start::isolate`].
    pub isolate: bool,
    /// What it is to see in place of the files that it was trusted with.
    view: Option<PrivateView>,
}

/// How long a program may be open for writing before it counts as one that cannot be executed.
const BUSY: Duration = Duration::from_millis(100);
/// Between two tries to execute it.
const BUSY_PAUSE: Duration = Duration::from_millis(2);

/// A program and its arguments.
struct Way {
    path: PathBuf,
    argv: Vec<Vec<u8>>,
}

/// A started child.
pub(crate) struct Started {
    pub pid: Pid,
    pub command: Vec<String>,
    pub mark: String,
}

impl<'a> Command<'a> {
    /// Makes a call ready, or says why it cannot be started.
    pub fn of(call: &'a Call, allow_direct: bool) -> Result<Self, String> {
        let environ = Environ::of(call)?;
        let cwd = call.cwd.as_path();
        let ways = match &call.program {
            Program::None => return Err("the call names nothing to start".to_owned()),
            Program::Exec(argv) => vec![exec(argv, &environ, cwd)?],
            Program::Shell { shell, text } => {
                let direct = (allow_direct && *shell != Shell::PowerShell)
                    .then(|| direct::read(text, &environ, cwd))
                    .flatten()
                    .map(|found| Way { path: found.path, argv: found.argv });
                let mut ways: Vec<Way> = direct.into_iter().collect();
                match through(*shell, text, &environ, cwd) {
                    Ok(way) => ways.push(way),
                    Err(reason) if ways.is_empty() || *shell == Shell::Bash => return Err(reason),
                    Err(_) => {}
                }
                ways
            }
        };
        let copies = call.watched.as_ref().and_then(|watched| watched.copies.as_ref());
        let view = copies.map(PrivateView::plan).transpose()?;
        Ok(Self { environ, cwd, ways, kill_with_parent: false, isolate: false, view })
    }

    /// The mark that it will carry.
    pub fn mark(&self) -> &str {
        &self.environ.mark
    }

    /// Starts it with these streams; the error is for a person.
    pub fn start(
        mut self,
        streams: [Option<std::os::fd::BorrowedFd<'_>>; 3],
    ) -> Result<Started, String> {
        let mut reason = String::new();
        let mut tries = self.ways.drain(..).collect::<std::collections::VecDeque<_>>();
        while let Some(way) = tries.pop_front() {
            match self.start_way(&way, streams) {
                Ok(pid) => return Ok(way.started(pid, self.environ.mark)),
                Err(error) => {
                    reason = self.explain(&way, &error);
                    let unknown_format = error.raw_os_error() == Some(libc::ENOEXEC);
                    if unknown_format && tries.is_empty() && way.path != Path::new("/bin/sh") {
                        tries.push_back(way.by_sh());
                    }
                }
            }
        }
        Err(reason)
    }

    fn start_way(
        &self,
        way: &Way,
        streams: [Option<std::os::fd::BorrowedFd<'_>>; 3],
    ) -> io::Result<Pid> {
        let path = CString::new(way.path.as_os_str().as_bytes())?;
        let argv = way.argv.iter().map(|word| CString::new(word.as_slice()));
        let argv = argv.collect::<Result<Vec<_>, _>>()?;
        let cwd = CString::new(self.cwd.as_os_str().as_bytes())?;
        let cwd = (!cwd.is_empty()).then_some(cwd);
        let start = Start {
            path: &path,
            argv: &argv,
            env: &self.environ.entries,
            cwd: cwd.as_deref(),
            streams: &streams,
            kill_with_parent: self.kill_with_parent,
            isolate: self.isolate,
            view: self.view.as_ref(),
        };
        retry_while_busy(|| spawn(&start))
    }

    fn explain(&self, way: &Way, error: &io::Error) -> String {
        if let Some(refusal) = isolation::refusal(error) {
            return refusal;
        }
        let program = way.path.display();
        let cwd = self.cwd.display();
        if !self.cwd.as_os_str().is_empty() && !self.cwd.is_dir() {
            return format!("the folder {cwd} to run in does not exist or is no folder");
        }
        match error.raw_os_error() {
            Some(libc::E2BIG) => self.explain_size(way),
            Some(libc::ENOENT) if self.cwd.join(&way.path).exists() => {
                format!("could not start {program}: its interpreter was not found")
            }
            Some(libc::EACCES) if self.cwd.join(&way.path).is_dir() => {
                format!("could not start {program}: it is a folder")
            }
            _ => format!("could not start {program} in {cwd}: {error}"),
        }
    }

    fn explain_size(&self, way: &Way) -> String {
        if let Some(index) = way.argv.iter().position(|word| word.len() >= LONGEST) {
            return format!("argument {index} of {} is too long", way.path.display());
        }
        let (name, length) = self.environ.longest();
        format!(
            "environment and arguments together are too long for the kernel; the longest variable is {name} with {length} bytes"
        )
    }
}

/// Whoever writes a program and closes it at once may still be about to.
fn retry_while_busy<T>(mut start: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let begun = Instant::now();
    loop {
        match start() {
            Err(error)
                if error.kind() == io::ErrorKind::ExecutableFileBusy && begun.elapsed() < BUSY =>
            {
                std::thread::sleep(BUSY_PAUSE);
            }
            done => return done,
        }
    }
}

impl Way {
    fn started(self, pid: Pid, mark: String) -> Started {
        let program = std::iter::once(self.path.to_string_lossy().into_owned());
        let rest = self.argv.iter().skip(1).map(|word| String::from_utf8_lossy(word).into_owned());
        Started { pid, command: program.chain(rest).collect(), mark }
    }

    /// A script without a first line that names its interpreter: what every shell does with it.
    fn by_sh(self) -> Self {
        let script = self.path.as_os_str().as_bytes().to_vec();
        let mut argv = vec![b"/bin/sh".to_vec(), script];
        argv.extend(self.argv.into_iter().skip(1));
        Self { path: PathBuf::from("/bin/sh"), argv }
    }
}

fn exec(argv: &[String], environ: &Environ, cwd: &Path) -> Result<Way, String> {
    let name = argv.first().filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| "the call names no program".to_owned())?;
    let path = if name.contains('/') {
        PathBuf::from(name)
    } else {
        lookup::on_path(name.as_bytes(), environ.value(b"PATH"), cwd)
            .ok_or_else(|| format!("the program {name} was not found on the PATH"))?
    };
    Ok(Way { path, argv: argv.iter().map(|word| word.clone().into_bytes()).collect() })
}

fn through(shell: Shell, text: &str, environ: &Environ, cwd: &Path) -> Result<Way, String> {
    let named = |name: &str| lookup::on_path(name.as_bytes(), environ.value(b"PATH"), cwd);
    let sh = || PathBuf::from("/bin/sh");
    let missing = |name: &str| format!("the hook asks for {name}, which was not found on the PATH");
    let (path, options) = match shell {
        Shell::Sh => (sh(), vec!["-c"]),
        Shell::Bash => (named("bash").ok_or_else(|| missing("bash"))?, vec!["-c"]),
        Shell::BashOrSh => (named("bash").unwrap_or_else(sh), vec!["-c"]),
        Shell::PowerShell => {
            (named("pwsh").ok_or_else(|| missing("pwsh"))?, vec!["-NoProfile", "-Command"])
        }
    };
    let mut argv = vec![path.as_os_str().as_bytes().to_vec()];
    argv.extend(options.into_iter().map(|option| option.as_bytes().to_vec()));
    // Text that begins like an option would be read as one.
    let space = if text.starts_with(['-', '+']) { " " } else { "" };
    argv.push(format!("{space}{text}").into_bytes());
    Ok(Way { path, argv })
}
