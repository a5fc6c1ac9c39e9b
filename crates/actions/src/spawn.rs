//! The one file with `unsafe`: starting a program with `posix_spawn` in a session of its own, and
//! the calls on our own process and its signals that neither std nor rustix offer safely. It
//! knows nothing of hooks. There is no fork here, so the cost does not grow with our memory.

#![expect(unsafe_code, reason = "posix_spawn with a new session is in libc only")]

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

use libc::{c_char, c_int, posix_spawn_file_actions_t, posix_spawnattr_t, sigset_t};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::Pid;

/// What is started, and what it gets as its streams, three at least; `None` is `/dev/null`.
pub(crate) struct Start<'a> {
    pub path: &'a CStr,
    pub argv: &'a [CString],
    pub env: &'a [CString],
    pub cwd: Option<&'a CStr>,
    pub streams: &'a [Option<BorrowedFd<'a>>],
}

/// Starts a program that has no terminal, no inherited descriptor and no changed signal. The
/// descriptors of the first three must be 3 or higher (see `process::lift`), those of further ones
/// beyond the last stream: a number is overwritten while the streams are put in place.
pub(crate) fn spawn(start: &Start<'_>) -> io::Result<Pid> {
    let actions = FileActions::new(start)?;
    let attributes = Attributes::new()?;
    let argv = pointers(start.argv);
    let env = pointers(start.env);
    let mut pid: libc::pid_t = 0;
    // SAFETY: every pointer is to a live, NUL-terminated string or a null-terminated array of
    // such; `actions` and `attributes` were initialised and live until after the call.
    check(unsafe {
        libc::posix_spawn(
            &raw mut pid,
            start.path.as_ptr(),
            &raw const actions.0,
            &raw const attributes.0,
            argv.as_ptr(),
            env.as_ptr(),
        )
    })?;
    Pid::from_raw(pid).ok_or_else(|| io::Error::other("posix_spawn gave no process id"))
}

/// Makes this process deaf to what a terminal or a host sends to end it.
pub(crate) fn ignore_polite_signals() {
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGPIPE] {
        // SAFETY: SIG_IGN is no handler, so no code of ours runs in signal context.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// The first signal that was taken; 0 is none.
static TAKEN: AtomicI32 = AtomicI32::new(0);
/// What taken signals write to; nobody while it is negative.
static WRITE_TO: AtomicI32 = AtomicI32::new(-1);

/// Has every taken signal write a byte to `fd`, which must not block and stay open for ever.
pub(crate) fn signals_write_to(fd: RawFd) {
    WRITE_TO.store(fd, Ordering::SeqCst);
}

/// Has a signal noted instead of obeyed; false if it is ignored or somebody else's already.
pub(crate) fn take_signal(number: c_int) -> bool {
    let mut old = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: zero is a valid value of every field; the call only fills the structure.
    let old = unsafe {
        libc::sigaction(number, ptr::null(), old.as_mut_ptr());
        old.assume_init()
    };
    if old.sa_sigaction != libc::SIG_DFL {
        return false;
    }
    let handler: extern "C" fn(c_int) = note;
    let new = libc::sigaction {
        sa_sigaction: handler as libc::sighandler_t,
        sa_mask: signals(1..1),
        sa_flags: libc::SA_RESTART,
        ..old
    };
    // SAFETY: `note` does only what a handler may do.
    unsafe { libc::sigaction(number, &raw const new, ptr::null_mut()) == 0 }
}

/// Lets a signal that was taken end this process again.
pub(crate) fn give_back_signal(number: c_int) {
    // SAFETY: SIG_DFL is no handler, so no code of ours runs in signal context.
    unsafe { libc::signal(number, libc::SIG_DFL) };
}

/// The first signal that was taken.
pub(crate) fn signal_taken() -> Option<c_int> {
    Some(TAKEN.load(Ordering::SeqCst)).filter(|number| *number != 0)
}

/// Runs in signal context: one atomic, one write, and errno as it was.
extern "C" fn note(number: c_int) {
    let _ = TAKEN.compare_exchange(0, number, Ordering::SeqCst, Ordering::SeqCst);
    // SAFETY: write may be called here; errno's place is this thread's and always valid.
    unsafe {
        let place = libc::__errno_location();
        let errno = *place;
        libc::write(WRITE_TO.load(Ordering::SeqCst), b"!".as_ptr().cast(), 1);
        *place = errno;
    }
}

/// Points our stdout at `target`, so that whoever read it sees the end of it.
pub(crate) fn redirect_stdout(target: BorrowedFd<'_>) {
    // SAFETY: both numbers are open descriptors; std's handle of stdout stays valid.
    unsafe { libc::dup2(target.as_raw_fd(), libc::STDOUT_FILENO) };
}

/// A descriptor that our starter gave us under this number; it goes to no child of ours.
pub(crate) fn inherited(number: RawFd) -> OwnedFd {
    // SAFETY: whoever started this process says that it is open, and nobody else takes it.
    let fd = unsafe { OwnedFd::from_raw_fd(number) };
    let _ = fcntl_setfd(&fd, FdFlags::CLOEXEC);
    fd
}

fn pointers(strings: &[CString]) -> Vec<*mut c_char> {
    let mut list: Vec<_> = strings.iter().map(|text| text.as_ptr().cast_mut()).collect();
    list.push(ptr::null_mut());
    list
}

fn check(code: c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

struct FileActions(posix_spawn_file_actions_t);

impl FileActions {
    fn new(start: &Start<'_>) -> io::Result<Self> {
        let mut raw = MaybeUninit::uninit();
        // SAFETY: init writes the whole structure, or fails and it is not used.
        let mut this = unsafe {
            check(libc::posix_spawn_file_actions_init(raw.as_mut_ptr()))?;
            Self(raw.assume_init())
        };
        let mut next = 0;
        for stream in start.streams {
            this.stream(next, *stream)?;
            next += 1;
        }
        this.close_the_rest(next)?;
        if let Some(cwd) = start.cwd {
            // SAFETY: initialised above; the string is copied by the call.
            check(unsafe {
                libc::posix_spawn_file_actions_addchdir_np(&raw mut this.0, cwd.as_ptr())
            })?;
        }
        Ok(this)
    }

    fn stream(&mut self, number: c_int, source: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let flags = if number == 0 { libc::O_RDONLY } else { libc::O_WRONLY };
        // SAFETY: initialised by `new`; the path is a literal that the call copies.
        check(unsafe {
            match source {
                Some(fd) => {
                    libc::posix_spawn_file_actions_adddup2(&raw mut self.0, fd.as_raw_fd(), number)
                }
                None => libc::posix_spawn_file_actions_addopen(
                    &raw mut self.0,
                    number,
                    c"/dev/null".as_ptr(),
                    flags,
                    0,
                ),
            }
        })
    }

    #[cfg(target_env = "gnu")]
    fn close_the_rest(&mut self, from: c_int) -> io::Result<()> {
        // SAFETY: initialised by `new`.
        check(unsafe { libc::posix_spawn_file_actions_addclosefrom_np(&raw mut self.0, from) })
    }

    /// Elsewhere there is no such action: what we were started with is marked once, and what we
    /// open ourselves is marked when it is opened.
    #[cfg(not(target_env = "gnu"))]
    fn close_the_rest(&mut self, _: c_int) -> io::Result<()> {
        static ONCE: std::sync::Once = std::sync::Once::new();
        const CLOSE_RANGE_CLOEXEC: libc::c_uint = 4;
        // SAFETY: marks descriptors, closes none.
        ONCE.call_once(|| unsafe {
            libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, CLOSE_RANGE_CLOEXEC);
        });
        Ok(())
    }
}

impl Drop for FileActions {
    fn drop(&mut self) {
        // SAFETY: initialised by `new`, destroyed once.
        unsafe { libc::posix_spawn_file_actions_destroy(&raw mut self.0) };
    }
}

struct Attributes(posix_spawnattr_t);

impl Attributes {
    fn new() -> io::Result<Self> {
        let mut raw = MaybeUninit::uninit();
        // SAFETY: init writes the whole structure, or fails and it is not used.
        let mut this = unsafe {
            check(libc::posix_spawnattr_init(raw.as_mut_ptr()))?;
            Self(raw.assume_init())
        };
        let flags = c_int::from(libc::POSIX_SPAWN_SETSID)
            | libc::POSIX_SPAWN_SETSIGDEF
            | libc::POSIX_SPAWN_SETSIGMASK;
        let none = signals(1..1);
        // Real-time signals are never ignored by anybody; leaving them out spares system calls.
        let all = signals(1..32);
        // SAFETY: initialised above; the sets are copied by the calls.
        unsafe {
            check(libc::posix_spawnattr_setflags(&raw mut this.0, flags as libc::c_short))?;
            check(libc::posix_spawnattr_setsigdefault(&raw mut this.0, &raw const all))?;
            check(libc::posix_spawnattr_setsigmask(&raw mut this.0, &raw const none))?;
        }
        Ok(this)
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: initialised by `new`, destroyed once.
        unsafe { libc::posix_spawnattr_destroy(&raw mut self.0) };
    }
}

fn signals(numbers: std::ops::Range<c_int>) -> sigset_t {
    let mut raw = MaybeUninit::uninit();
    // SAFETY: sigemptyset writes the whole set and cannot fail for a valid pointer.
    let mut set = unsafe {
        libc::sigemptyset(raw.as_mut_ptr());
        raw.assume_init()
    };
    for number in numbers {
        // SAFETY: the set is initialised and the number is a signal.
        unsafe { libc::sigaddset(&raw mut set, number) };
    }
    set
}
