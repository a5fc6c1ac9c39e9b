//! The one file with `unsafe`: starting a program in a session of its own, and the calls on our own
//! process and its signals that neither std nor rustix offer safely. It knows nothing of hooks. A
//! child shares our memory until it executes its program, as with `posix_spawn`, so the cost does
//! not grow with our memory.

#![expect(unsafe_code, reason = "clone, signals and the parent's death signal are in libc only")]

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

use libc::{c_char, c_int, c_void, sigset_t};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open};

use crate::isolation::{IdMaps, Refusal, Refused};
use crate::private_view::PrivateView;

/// What is started, and what it gets as its streams, three at least; `None` is `/dev/null`.
pub(crate) struct Start<'a> {
    pub path: &'a CStr,
    pub argv: &'a [CString],
    pub env: &'a [CString],
    pub cwd: Option<&'a CStr>,
    pub streams: &'a [Option<BorrowedFd<'a>>],
    /// Has the kernel kill it when the thread that starts it ends. Only counts on the main thread,
    /// which ends with the process.
    pub kill_with_parent: bool,
    /// Starts it as the first process of a PID namespace: the kernel ends everything in there with
    /// it. It is not started without one.
    pub isolate: bool,
    /// Starts it in a mount namespace with these files, or not at all.
    pub view: Option<&'a PrivateView>,
}

/// The namespaces that a child is started in.
struct Namespace {
    /// Us, to be asked whether we have ended: seen from inside a PID namespace, every parent has
    /// the number 0.
    parent: Option<OwnedFd>,
    /// What to write for the user namespace that comes with it, where we need one.
    ids: Option<IdMaps>,
}

/// Why a child was not started.
struct Failure {
    error: io::Error,
    /// What the kernel refused, if that is why.
    refused: Option<Refusal>,
}

/// Everything that the child needs before it executes its program. It lives in the starter's
/// memory, which both share.
struct Birth {
    path: *const c_char,
    argv: *const *mut c_char,
    env: *const *mut c_char,
    /// Null is the starter's own.
    cwd: *const c_char,
    /// Negative is `/dev/null`.
    streams: *const RawFd,
    stream_count: c_int,
    /// The process that must still be the parent, if the child may not outlive it; else 0.
    parent: libc::pid_t,
    /// The same as a descriptor, for a child in a PID namespace; else negative.
    parent_fd: RawFd,
    /// What the child writes about its user namespace; null without one.
    ids: *const IdMaps,
    /// The files that it is to see; null without any.
    view: *const PrivateView,
    /// Why it could not be executed; 0 while nothing failed.
    error: c_int,
    /// What the kernel refused, if that is why.
    refused: Option<Refusal>,
    /// What it means if it gets no namespace.
    namespace: Refusal,
}

/// Room for the few frames of [`prepare_and_execute`].
const STACK: usize = 16 * 1024;

#[repr(align(16))]
struct Stack(MaybeUninit<[u8; STACK]>);

/// Starts a program that has no terminal, no inherited descriptor and no changed signal. The
/// descriptors of the first three must be 3 or higher (see `process::lift`), those of further ones
/// beyond the last stream: a number is overwritten while the streams are put in place.
pub(crate) fn spawn(start: &Start<'_>) -> io::Result<Pid> {
    if !start.isolate && start.view.is_none() {
        return clone_child(start, None).map_err(|failure| failure.error);
    }
    let refused = |what: Refusal, error: io::Error| io::Error::other(Refused(what, error));
    let own = || pidfd_open(rustix::process::getpid(), PidfdFlags::empty());
    let parent = start.isolate.then(own).transpose();
    let parent = parent.map_err(|error| refused(Refusal::Isolation, error.into()))?;
    let mut namespace = Namespace { parent, ids: None };
    // Only root may make other namespaces than a user's alone, and not in every container.
    let unasked = || io::Error::from_raw_os_error(libc::EPERM);
    let done = match rustix::process::geteuid().is_root() {
        true => clone_child(start, Some(&namespace)),
        false => Err(Failure { error: unasked(), refused: Some(Refusal::Isolation) }),
    };
    let done = match done {
        Err(Failure { error, refused: Some(_) }) if error.raw_os_error() == Some(libc::EPERM) => {
            namespace.ids = Some(IdMaps::of_process());
            clone_child(start, Some(&namespace))
        }
        done => done,
    };
    done.map_err(|failure| match failure.refused {
        Some(what) => refused(what, failure.error),
        None => failure.error,
    })
}

fn clone_child(start: &Start<'_>, namespace: Option<&Namespace>) -> Result<Pid, Failure> {
    let refusal = if start.isolate { Refusal::Isolation } else { Refusal::MountNamespace };
    let argv = pointers(start.argv);
    let env = pointers(start.env);
    let number = |stream: &Option<BorrowedFd<'_>>| stream.map_or(-1, |fd| fd.as_raw_fd());
    let streams: Vec<RawFd> = start.streams.iter().map(number).collect();
    let mut birth = Birth {
        path: start.path.as_ptr(),
        argv: argv.as_ptr(),
        env: env.as_ptr(),
        cwd: start.cwd.map_or(ptr::null(), CStr::as_ptr),
        streams: streams.as_ptr(),
        stream_count: streams.len() as c_int,
        parent: if start.kill_with_parent { main_thread().unwrap_or(0) } else { 0 },
        parent_fd: namespace.and_then(|own| own.parent.as_ref()).map_or(-1, AsRawFd::as_raw_fd),
        ids: namespace.and_then(|own| own.ids.as_ref()).map_or(ptr::null(), ptr::from_ref),
        view: start.view.map_or(ptr::null(), ptr::from_ref),
        error: 0,
        refused: None,
        namespace: refusal,
    };
    let mut stack = Stack(MaybeUninit::uninit());
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let flags = flags | namespace.map_or(0, |own| namespace_flags(start, own));
    // SAFETY: we are suspended until the child has executed its program or ended, so everything
    // that it is given outlives its use. All signals are blocked meanwhile: no handler of ours
    // runs in the child while it shares our memory.
    let (pid, code, refused) = unsafe {
        let mut old = MaybeUninit::<sigset_t>::uninit();
        let mut all = MaybeUninit::<sigset_t>::uninit();
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), old.as_mut_ptr());
        let top = stack.0.as_mut_ptr().add(1).cast::<c_void>();
        let pid = libc::clone(prepare_and_execute, top, flags, (&raw mut birth).cast());
        let failed = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, old.as_ptr(), ptr::null_mut());
        let birth = ptr::read_volatile(&raw const birth);
        (Pid::from_raw(pid.max(0)).ok_or(failed), birth.error, birth.refused)
    };
    let pid = pid.map_err(|error| {
        // These are about any process, with a namespace or without.
        let common = matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOMEM));
        Failure { error, refused: (namespace.is_some() && !common).then_some(refusal) }
    })?;
    match code {
        0 => Ok(pid),
        code => {
            reap(pid);
            Err(Failure { error: io::Error::from_raw_os_error(code), refused })
        }
    }
}

fn namespace_flags(start: &Start<'_>, namespace: &Namespace) -> c_int {
    let flag = |wanted: bool, flag: c_int| if wanted { flag } else { 0 };
    flag(start.isolate, libc::CLONE_NEWPID)
        | flag(start.view.is_some(), libc::CLONE_NEWNS)
        | flag(namespace.ids.is_some(), libc::CLONE_NEWUSER)
}

/// Waits for the end of a child that is about to end.
pub(crate) fn reap(pid: Pid) {
    let wait = || rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
    let _ = rustix::io::retry_on_intr(wait);
}

/// Our process id, on the main thread only.
fn main_thread() -> Option<libc::pid_t> {
    // SAFETY: both only tell a number.
    let (process, thread) = unsafe { (libc::getpid(), libc::gettid()) };
    (process == thread).then_some(process)
}

/// Runs in the child, which shares our memory and has all signals blocked: nothing but system
/// calls, and no allocation.
extern "C" fn prepare_and_execute(birth: *mut c_void) -> c_int {
    let birth = birth.cast::<Birth>();
    // SAFETY: the pointer is to the starter's `Birth`, which nobody else uses until we are done.
    unsafe {
        let view = (*birth).view.as_ref();
        let (refused, error) = if !(*birth).ids.is_null() && !map_ids(&*(*birth).ids) {
            (Some((*birth).namespace), *libc::__errno_location())
        } else if let Some(Err(error)) = view.map(PrivateView::enter) {
            (Some(Refusal::PrivateView), error.raw_os_error())
        } else {
            if prepare(&*birth) {
                libc::execve((*birth).path, (*birth).argv.cast(), (*birth).env.cast());
            }
            (None, *libc::__errno_location())
        };
        ptr::write_volatile(&raw mut (*birth).refused, refused);
        ptr::write_volatile(&raw mut (*birth).error, error.max(1));
        libc::_exit(127)
    }
}

/// Session, signals, streams and folder of the child. False leaves the reason in errno.
///
/// # Safety
/// Only in a child that is about to execute a program, with pointers that are valid.
unsafe fn prepare(birth: &Birth) -> bool {
    // SAFETY: as promised by the caller; the calls change only the child, whose descriptors,
    // folder and signal handlers are its own.
    unsafe {
        // Ignored signals stay ignored in a new program. Real-time signals are never ignored by
        // anybody; leaving them out spares system calls.
        for number in (1..32).filter(|number| ![libc::SIGKILL, libc::SIGSTOP].contains(number)) {
            libc::signal(number, libc::SIG_DFL);
        }
        if birth.parent != 0 {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // It may have ended before we asked for that.
            if birth.parent_fd < 0 && libc::getppid() != birth.parent {
                libc::_exit(127);
            }
        }
        if libc::setsid() < 0 {
            return false;
        }
        // After `setsid`, which waits for an end of the parent that is just under way.
        if birth.parent != 0 && birth.parent_fd >= 0 && !lives(birth.parent_fd) {
            libc::_exit(127);
        }
        let none = signals(1..1);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        for number in 0..birth.stream_count {
            if !place_stream(*birth.streams.add(number as usize), number) {
                return false;
            }
        }
        close_from(birth.stream_count);
        birth.cwd.is_null() || libc::chdir(birth.cwd) == 0
    }
}

/// Whether the process of this descriptor has not ended.
///
/// # Safety
/// As for [`prepare`].
unsafe fn lives(process: RawFd) -> bool {
    let mut asked = libc::pollfd { fd: process, events: libc::POLLIN, revents: 0 };
    // SAFETY: the structure is ours; nothing is waited for.
    unsafe { libc::poll(&raw mut asked, 1, 0) == 0 }
}

/// Keeps the user's own ids in the child's user namespace. False leaves the reason in errno.
///
/// # Safety
/// As for [`prepare`].
unsafe fn map_ids(ids: &IdMaps) -> bool {
    let files = [
        // Without it the kernel takes no groups from an ordinary user.
        (c"/proc/self/setgroups", b"deny".as_slice()),
        (c"/proc/self/uid_map", ids.uid.as_bytes()),
        (c"/proc/self/gid_map", ids.gid.as_bytes()),
    ];
    files.iter().all(|(path, text)| {
        // SAFETY: the path ends with a null byte, the text is as long as said, and the descriptor
        // is the child's own.
        unsafe {
            let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
            // The streams are put in place and everything else is closed after this.
            file >= 0 && libc::write(file, text.as_ptr().cast(), text.len()) == text.len() as isize
        }
    })
}

/// Puts one stream under its number.
///
/// # Safety
/// As for [`prepare`].
unsafe fn place_stream(source: RawFd, number: c_int) -> bool {
    // SAFETY: both are numbers of descriptors; the path is a literal.
    unsafe {
        if source >= 0 && source != number {
            return libc::dup2(source, number) >= 0;
        }
        if source == number {
            return libc::fcntl(number, libc::F_SETFD, 0) >= 0;
        }
        let flags = if number == 0 { libc::O_RDONLY } else { libc::O_WRONLY };
        let opened = libc::open(c"/dev/null".as_ptr(), flags);
        if opened < 0 || opened == number {
            return opened >= 0;
        }
        libc::dup2(opened, number) >= 0
    }
}

/// Closes every descriptor from this number on. Kernels before 5.9 have no call for it.
///
/// # Safety
/// As for [`prepare`].
unsafe fn close_from(first: c_int) {
    const MOST: libc::rlim_t = 1 << 16;
    // SAFETY: closes descriptors of the child only; the structure is filled by the call.
    unsafe {
        if libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) == 0 {
            return;
        }
        let mut limit = libc::rlimit { rlim_cur: MOST, rlim_max: MOST };
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        for number in first..limit.rlim_cur.min(MOST) as c_int {
            libc::close(number);
        }
    }
}

/// Makes two signals what a program that runs hooks needs, whatever it was started with. An ignored
/// SIGCHLD would lose every exit code. SIGXFSZ would end us where a file may not grow any further;
/// it is caught and not ignored, because programs inherit what is ignored. Only for a program of
/// its own: elsewhere signals are the host's.
pub fn reset_signals() {
    let handler: extern "C" fn(c_int) = pass_over;
    // SAFETY: SIG_DFL is no handler, and `pass_over` does nothing.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        libc::signal(libc::SIGXFSZ, handler as libc::sighandler_t);
    }
}

extern "C" fn pass_over(_: c_int) {}

static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether this process was started without a standard output. Rust's own start opens `/dev/null`
/// in its place, where every write succeeds and nobody reads.
pub fn stdout_was_closed() -> bool {
    STDOUT_WAS_CLOSED.load(Ordering::Relaxed)
}

extern "C" fn note_closed_stdout() {
    // SAFETY: the call only reads the flags of a descriptor, open or not.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    STDOUT_WAS_CLOSED.store(flags < 0, Ordering::Relaxed);
}

// SAFETY: the C runtime calls what stands in this section once, before `main` and before Rust's own
// start. The function needs nothing that either of them prepares.
#[used]
#[unsafe(link_section = ".init_array")]
static NOTE_CLOSED_STDOUT: extern "C" fn() = note_closed_stdout;

/// Whether the kernel throws the exit codes of our children away, because somebody in this process
/// or its starter said so.
pub(crate) fn exit_codes_are_lost() -> bool {
    let mut now = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: zero is a valid value of every field; the call only fills the structure.
    let now = unsafe {
        libc::sigaction(libc::SIGCHLD, ptr::null(), now.as_mut_ptr());
        now.assume_init()
    };
    now.sa_sigaction == libc::SIG_IGN || now.sa_flags & libc::SA_NOCLDWAIT != 0
}

/// Makes this process deaf to what a terminal or a host sends to end it.
pub(crate) fn ignore_polite_signals() {
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGPIPE] {
        // SAFETY: SIG_IGN is no handler, so no code of ours runs in signal context.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Has the kernel end this process with SIGALRM after so long, whatever it does then. Replaces an
/// earlier call. Children do not inherit the timer.
pub fn end_process_after(timeout: Duration) {
    let value = libc::timeval {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_usec: timeout.subsec_micros().max(1).into(),
    };
    let never = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let timer = libc::itimerval { it_interval: never, it_value: value };
    let alarm = signals(libc::SIGALRM..libc::SIGALRM + 1);
    // SAFETY: SIG_DFL is no handler; the set and the timer are initialised and only read.
    unsafe {
        libc::signal(libc::SIGALRM, libc::SIG_DFL);
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const alarm, ptr::null_mut());
        libc::setitimer(libc::ITIMER_REAL, &raw const timer, ptr::null_mut());
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
