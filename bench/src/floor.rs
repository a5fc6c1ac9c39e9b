//! The floor: starts a program with only `posix_spawn`, pipes and a wait. Also reads CPU time. This
//! is the only unsafe code of the benchmarks.

#![expect(unsafe_code, reason = "the floor is the system call itself")]

use std::ffi::CString;
use std::io::{self, PipeReader, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use libc::{c_char, c_int};

/// A program with its prepared arguments and environment.
pub struct BareProgram {
    argv: Vec<CString>,
    env: Vec<CString>,
}

/// The result of a program.
pub struct BareResult {
    /// The exit code; -1 for a signal.
    pub code: i32,
    /// The bytes that it wrote to stdout.
    pub stdout: Vec<u8>,
}

impl BareProgram {
    /// Prepares a program with the current environment and the variables in `set`.
    pub fn new<S: AsRef<str>>(argv: &[S], set: &[(&str, &str)]) -> io::Result<Self> {
        let argv = argv.iter().map(|word| CString::new(word.as_ref()));
        let own = std::env::vars_os().filter(|(name, _)| set.iter().all(|(n, _)| name != n));
        let own = own.map(|(name, value)| [name.into_vec(), value.into_vec()].join(&b'='));
        let set = set.iter().map(|(name, value)| format!("{name}={value}").into_bytes());
        let env = own.chain(set).map(CString::new);
        Ok(Self { argv: argv.collect::<Result<_, _>>()?, env: env.collect::<Result<_, _>>()? })
    }

    /// Starts the program in its own process group, writes its stdin, reads its output and waits.
    pub fn run(&self, stdin: &[u8]) -> io::Result<BareResult> {
        let (their_in, mut ours_in) = io::pipe()?;
        let (ours_out, their_out) = io::pipe()?;
        let (ours_err, their_err) = io::pipe()?;
        let theirs = [their_in.as_raw_fd(), their_out.as_raw_fd(), their_err.as_raw_fd()];

        let pid = self.spawn_program(theirs)?;
        drop((their_in, their_out, their_err));
        match ours_in.write_all(stdin) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error),
            _ => drop(ours_in),
        }

        let stdout = drain_pipe(ours_out)?;
        drain_pipe(ours_err)?;
        Ok(BareResult { code: wait_for_exit(pid)?, stdout })
    }

    fn spawn_program(&self, theirs: [RawFd; 3]) -> io::Result<c_int> {
        let argv = to_pointers(&self.argv);
        let env = to_pointers(&self.env);

        let mut files = MaybeUninit::uninit();
        let mut terms = MaybeUninit::uninit();
        let mut pid = 0;
        // SAFETY: both structures are initialised before use and destroyed after it; argv and env
        // end with a null pointer and outlive the call.
        let result = unsafe {
            libc::posix_spawn_file_actions_init(files.as_mut_ptr());
            libc::posix_spawnattr_init(terms.as_mut_ptr());
            libc::posix_spawnattr_setflags(
                terms.as_mut_ptr(),
                libc::POSIX_SPAWN_SETPGROUP as libc::c_short,
            );
            for (number, fd) in (0..).zip(theirs) {
                libc::posix_spawn_file_actions_adddup2(files.as_mut_ptr(), fd, number);
            }
            let (files, terms) = (files.as_mut_ptr(), terms.as_mut_ptr());
            let result =
                libc::posix_spawn(&raw mut pid, argv[0], files, terms, argv.as_ptr(), env.as_ptr());
            libc::posix_spawn_file_actions_destroy(files);
            libc::posix_spawnattr_destroy(terms);
            result
        };

        if result == 0 { Ok(pid) } else { Err(io::Error::from_raw_os_error(result)) }
    }
}

/// CPU time of this process and of all children that it has waited for.
pub fn cpu_time() -> Duration {
    [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN].into_iter().map(usage_of).sum()
}

fn usage_of(whom: c_int) -> Duration {
    // SAFETY: all zeroes is a valid rusage, and the call only writes into it.
    let used = unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        libc::getrusage(whom, &raw mut used);
        used
    };
    let time = |t: libc::timeval| {
        Duration::from_secs(t.tv_sec.unsigned_abs())
            + Duration::from_micros(t.tv_usec.unsigned_abs())
    };
    time(used.ru_utime) + time(used.ru_stime)
}

fn to_pointers(texts: &[CString]) -> Vec<*mut c_char> {
    let texts = texts.iter().map(|text| text.as_ptr().cast_mut());
    texts.chain(std::iter::once(std::ptr::null_mut())).collect()
}

fn drain_pipe(mut pipe: PipeReader) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn wait_for_exit(pid: c_int) -> io::Result<i32> {
    let mut status = 0;
    // SAFETY: the pid is a child of this process, and no other code waits for it.
    if unsafe { libc::waitpid(pid, &raw mut status, 0) } != pid {
        return Err(io::Error::last_os_error());
    }
    Ok(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -1 })
}
