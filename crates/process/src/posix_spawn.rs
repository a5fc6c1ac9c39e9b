//! The file with `unsafe` code. It starts a program in its own session, and makes process and
//! signal calls that std and rustix do not offer. Until it executes its program, a child shares
//! this process's memory, as with `posix_spawn`, so the cost does not grow with that memory.

#![expect(unsafe_code, reason = "clone, signals and the parent's death signal are in libc only")]

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use libc::{c_char, c_int, c_void, sigset_t};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, WaitIdStatus, pidfd_open};

use crate::isolation::{IdMaps, KernelRefusal, KernelRefusalError};
use crate::private_view::PrivateView;

/// The program to start and its streams, at least three; `None` is `/dev/null`.
#[derive(Default)]
pub(crate) struct SpawnRequest<'a> {
    pub path: &'a CStr,
    pub argv: &'a [CString],
    pub env: &'a [CString],
    pub cwd: Option<&'a CStr>,
    pub streams: &'a [Option<BorrowedFd<'a>>],
    /// Has the kernel kill it when the starting thread ends. Only applies on the main thread, which
    /// ends with the process.
    pub kill_with_parent: bool,
    /// Starts it as the first process of a PID namespace, or not at all. The kernel kills all
    /// processes in the namespace with it.
    pub isolate: bool,
    /// Starts it in a mount namespace with these files, or not at all.
    pub view: Option<&'a PrivateView>,
}

/// The namespaces that a child is started in.
struct Namespace {
    /// This process as a pidfd, to check whether it has ended: inside a PID namespace, every parent
    /// has the id 0.
    parent: Option<OwnedFd>,
    /// The id maps of the user namespace, if one is needed.
    ids: Option<IdMaps>,
}

/// Why a child was not started.
struct SpawnFailure {
    error: io::Error,
    /// The feature that the kernel refused, if that is the reason.
    refused: Option<KernelRefusal>,
}

/// Everything the child needs before it executes its program. It lives in the parent's memory,
/// which both share.
struct ChildSetup {
    path: *const c_char,
    argv: *const *mut c_char,
    env: *const *mut c_char,
    /// Null keeps the parent's directory.
    cwd: *const c_char,
    /// Negative is `/dev/null`.
    streams: *const RawFd,
    stream_count: c_int,
    /// The process that must still be the parent, if the child may not outlive it; else 0.
    parent: libc::pid_t,
    /// The same as a descriptor, for a child in a PID namespace; else negative.
    parent_fd: RawFd,
    /// The id maps that the child writes; null without a user namespace.
    ids: *const IdMaps,
    /// The private view that it enters; null without one.
    view: *const PrivateView,
    /// Why it could not be executed; 0 while nothing failed.
    error: c_int,
    /// The feature that the kernel refused, if that is the reason.
    refused: Option<KernelRefusal>,
    /// The refusal to report if it gets no namespace.
    namespace: KernelRefusal,
}

/// Stack for the few frames of [`prepare_and_execute`].
const STACK_BYTES: usize = 16 * 1024;

#[repr(align(16))]
struct ChildStack(MaybeUninit<[u8; STACK_BYTES]>);

/// Starts a program without a terminal, inherited descriptors or changed signals. The first three
/// descriptors must be 3 or higher (see `process::move_above_stdio`), further ones above the last
/// stream: placing the streams overwrites lower numbers.
pub(crate) fn spawn_process(request: &SpawnRequest<'_>) -> io::Result<Pid> {
    if !request.isolate && request.view.is_none() {
        return clone_child(request, None).map_err(|failure| failure.error);
    }
    let refused =
        |what: KernelRefusal, error: io::Error| io::Error::other(KernelRefusalError(what, error));
    let own = || pidfd_open(rustix::process::getpid(), PidfdFlags::empty());
    let parent = request.isolate.then(own).transpose();
    let parent = parent.map_err(|error| refused(KernelRefusal::Isolation, error.into()))?;

    let mut namespace = Namespace { parent, ids: None };
    // Only root may make namespaces without a user namespace, and not in every container.
    let not_permitted = || io::Error::from_raw_os_error(libc::EPERM);
    let result = match rustix::process::geteuid().is_root() {
        true => clone_child(request, Some(&namespace)),
        false => {
            Err(SpawnFailure { error: not_permitted(), refused: Some(KernelRefusal::Isolation) })
        }
    };
    let done = match result {
        Err(SpawnFailure { error, refused: Some(_) })
            if error.raw_os_error() == Some(libc::EPERM) =>
        {
            namespace.ids = Some(IdMaps::from_process());
            clone_child(request, Some(&namespace))
        }
        done => done,
    };
    done.map_err(|failure| match failure.refused {
        Some(what) => refused(what, failure.error),
        None => failure.error,
    })
}

fn clone_child(
    request: &SpawnRequest<'_>,
    namespace: Option<&Namespace>,
) -> Result<Pid, SpawnFailure> {
    let refusal =
        if request.isolate { KernelRefusal::Isolation } else { KernelRefusal::MountNamespace };
    let argv = to_pointers(request.argv);
    let env = to_pointers(request.env);
    let number = |stream: &Option<BorrowedFd<'_>>| stream.map_or(-1, |fd| fd.as_raw_fd());
    let streams: Vec<RawFd> = request.streams.iter().map(number).collect();
    let mut setup = ChildSetup {
        path: request.path.as_ptr(),
        argv: argv.as_ptr(),
        env: env.as_ptr(),
        cwd: request.cwd.map_or(ptr::null(), CStr::as_ptr),
        streams: streams.as_ptr(),
        stream_count: streams.len() as c_int,
        parent: if request.kill_with_parent { main_thread_pid().unwrap_or(0) } else { 0 },
        parent_fd: namespace.and_then(|own| own.parent.as_ref()).map_or(-1, AsRawFd::as_raw_fd),
        ids: namespace.and_then(|own| own.ids.as_ref()).map_or(ptr::null(), ptr::from_ref),
        view: request.view.map_or(ptr::null(), ptr::from_ref),
        error: 0,
        refused: None,
        namespace: refusal,
    };

    let mut stack = ChildStack(MaybeUninit::uninit());
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let flags = flags | namespace.map_or(0, |own| namespace_flags(request, own));
    // SAFETY: this thread is suspended until the child has executed its program or ended, so all
    // pointers outlive their use. All signals are blocked meanwhile: no handler of this process
    // runs in the child while it shares the memory.
    let (pid, code, refused) = unsafe {
        let mut old = MaybeUninit::<sigset_t>::uninit();
        let mut all = MaybeUninit::<sigset_t>::uninit();
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), old.as_mut_ptr());
        let top = stack.0.as_mut_ptr().add(1).cast::<c_void>();
        let pid = libc::clone(prepare_and_execute, top, flags, (&raw mut setup).cast());
        let failed = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, old.as_ptr(), ptr::null_mut());
        let setup = ptr::read_volatile(&raw const setup);
        (Pid::from_raw(pid.max(0)).ok_or(failed), setup.error, setup.refused)
    };
    let pid = pid.map_err(|error| {
        // These errors concern any process, with a namespace or without.
        let common = matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOMEM));
        SpawnFailure { error, refused: (namespace.is_some() && !common).then_some(refusal) }
    })?;
    match code {
        0 => Ok(pid),
        code => {
            wait_for_exit(pid);
            Err(SpawnFailure { error: io::Error::from_raw_os_error(code), refused })
        }
    }
}

fn namespace_flags(request: &SpawnRequest<'_>, namespace: &Namespace) -> c_int {
    let flag = |wanted: bool, flag: c_int| if wanted { flag } else { 0 };
    flag(request.isolate, libc::CLONE_NEWPID)
        | flag(request.view.is_some(), libc::CLONE_NEWNS)
        | flag(namespace.ids.is_some(), libc::CLONE_NEWUSER)
}

/// Waits for a child that is about to end.
pub fn wait_for_exit(pid: Pid) -> Option<WaitIdStatus> {
    let wait = || rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
    rustix::io::retry_on_intr(wait).ok().flatten()
}

/// This process's id, on the main thread only.
fn main_thread_pid() -> Option<libc::pid_t> {
    // SAFETY: both calls only return a number.
    let (process, thread) = unsafe { (libc::getpid(), libc::gettid()) };
    (process == thread).then_some(process)
}

/// Runs in the child, which shares the parent's memory and has all signals blocked: system calls
/// only, no allocation.
extern "C" fn prepare_and_execute(setup: *mut c_void) -> c_int {
    let setup = setup.cast::<ChildSetup>();
    // SAFETY: the pointer is to the parent's `ChildSetup`, and the parent is suspended.
    unsafe {
        let view = (*setup).view.as_ref();
        let (refused, error) = if !(*setup).ids.is_null() && !map_ids(&*(*setup).ids) {
            (Some((*setup).namespace), *libc::__errno_location())
        } else if let Some(Err(error)) = view.map(PrivateView::enter_namespace) {
            (Some(KernelRefusal::PrivateView), error.raw_os_error())
        } else {
            if prepare_child(&*setup) {
                libc::execve((*setup).path, (*setup).argv.cast(), (*setup).env.cast());
            }
            (None, *libc::__errno_location())
        };
        ptr::write_volatile(&raw mut (*setup).refused, refused);
        ptr::write_volatile(&raw mut (*setup).error, error.max(1));
        libc::_exit(127)
    }
}

/// Sets session, signals, streams and directory of the child. False leaves the reason in errno.
///
/// # Safety
/// Only in a child that is about to execute a program, with valid pointers.
unsafe fn prepare_child(setup: &ChildSetup) -> bool {
    // SAFETY: as promised by the caller; the calls change only the child's own descriptors,
    // directory and signal handlers.
    unsafe {
        // Ignored signals stay ignored in a new program. Real-time signals are never ignored in
        // practice; skipping them saves system calls.
        for number in (1..32).filter(|number| ![libc::SIGKILL, libc::SIGSTOP].contains(number)) {
            libc::signal(number, libc::SIG_DFL);
        }
        if setup.parent != 0 {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // It may have ended before the call above.
            if setup.parent_fd < 0 && libc::getppid() != setup.parent {
                libc::_exit(127);
            }
        }
        if libc::setsid() < 0 {
            return false;
        }
        // After `setsid`, which waits while the parent is just ending.
        if setup.parent != 0 && setup.parent_fd >= 0 && !is_process_alive(setup.parent_fd) {
            libc::_exit(127);
        }
        let none = signal_set(1..1);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        for number in 0..setup.stream_count {
            if !place_stream(*setup.streams.add(number as usize), number) {
                return false;
            }
        }
        close_from(setup.stream_count);
        setup.cwd.is_null() || libc::chdir(setup.cwd) == 0
    }
}

/// Whether the process of this pidfd has not ended.
///
/// # Safety
/// As for [`prepare_child`].
unsafe fn is_process_alive(process: RawFd) -> bool {
    let mut polled = libc::pollfd { fd: process, events: libc::POLLIN, revents: 0 };
    // SAFETY: the structure is local, and the timeout is 0.
    unsafe { libc::poll(&raw mut polled, 1, 0) == 0 }
}

/// Keeps the user's own ids in the child's user namespace. False leaves the reason in errno.
///
/// # Safety
/// As for [`prepare_child`].
unsafe fn map_ids(ids: &IdMaps) -> bool {
    let files = [
        // Without it the kernel accepts no gid map from an ordinary user.
        (c"/proc/self/setgroups", b"deny".as_slice()),
        (c"/proc/self/uid_map", ids.uid.as_bytes()),
        (c"/proc/self/gid_map", ids.gid.as_bytes()),
    ];
    files.iter().all(|(path, text)| {
        // SAFETY: the path ends with a null byte, the length is that of the text, and the
        // descriptor is the child's own.
        unsafe {
            let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
            // Later steps place the streams and close all other descriptors.
            file >= 0 && libc::write(file, text.as_ptr().cast(), text.len()) == text.len() as isize
        }
    })
}

/// Puts one stream at its number.
///
/// # Safety
/// As for [`prepare_child`].
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
/// As for [`prepare_child`].
unsafe fn close_from(first: c_int) {
    const MAX_FD_COUNT: libc::rlim_t = 1 << 16;
    // SAFETY: closes descriptors of the child only; the structure is filled by the call.
    unsafe {
        if libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) == 0 {
            return;
        }
        let mut limit = libc::rlimit { rlim_cur: MAX_FD_COUNT, rlim_max: MAX_FD_COUNT };
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        for number in first..limit.rlim_cur.min(MAX_FD_COUNT) as c_int {
            libc::close(number);
        }
    }
}

/// Sets three signals as a program that runs hooks needs them. An ignored SIGCHLD would lose every
/// exit code. SIGPIPE and SIGXFSZ would end this process where a reader is gone or a file may not
/// grow; the latter is caught, not ignored, because programs that others start inherit ignored
/// signals. Only for a process of its own: in a library the host handles signals.
pub fn reset_signals() {
    let handler: extern "C" fn(c_int) = ignore_signal;
    // SAFETY: SIG_DFL and SIG_IGN are no handlers, and `ignore_signal` does nothing.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        libc::signal(libc::SIGXFSZ, handler as libc::sighandler_t);
    }
}

extern "C" fn ignore_signal(_: c_int) {}

/// Whether the kernel discards the exit codes of this process's children, because this process or
/// its parent ignores SIGCHLD.
pub fn exit_codes_are_lost() -> bool {
    let mut now = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: zero is a valid value of every field; the call only fills the structure.
    let now = unsafe {
        libc::sigaction(libc::SIGCHLD, ptr::null(), now.as_mut_ptr());
        now.assume_init()
    };
    now.sa_sigaction == libc::SIG_IGN || now.sa_flags & libc::SA_NOCLDWAIT != 0
}

/// Ignores the signals by which a terminal or a host ends this process.
pub fn ignore_polite_signals() {
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGPIPE] {
        // SAFETY: SIG_IGN is no handler, so no code of ours runs in signal context.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Has the kernel end this process with SIGALRM after `timeout`. Replaces an earlier call. Children
/// do not inherit the timer.
pub fn end_process_after(timeout: Duration) {
    let value = libc::timeval {
        tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
        tv_usec: timeout.subsec_micros().max(1).into(),
    };
    let never = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let timer = libc::itimerval { it_interval: never, it_value: value };
    let alarm = signal_set(libc::SIGALRM..libc::SIGALRM + 1);
    // SAFETY: SIG_DFL is no handler; the set and the timer are initialised and only read.
    unsafe {
        libc::signal(libc::SIGALRM, libc::SIG_DFL);
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const alarm, ptr::null_mut());
        libc::setitimer(libc::ITIMER_REAL, &raw const timer, ptr::null_mut());
    }
}

/// The first caught signal; 0 is none.
pub(crate) static CAUGHT_SIGNAL: AtomicI32 = AtomicI32::new(0);
/// The descriptor that caught signals write to; none while negative.
static SIGNAL_PIPE_FD: AtomicI32 = AtomicI32::new(-1);

/// Has every caught signal write a byte to `fd`, which must not block and must stay open.
pub fn set_signal_pipe(fd: RawFd) {
    SIGNAL_PIPE_FD.store(fd, Ordering::SeqCst);
}

/// Catches a signal; false if it is ignored or already has a handler.
pub fn catch_signal(number: c_int) -> bool {
    let mut old = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: zero is a valid value of every field; the call only fills the structure.
    let old = unsafe {
        libc::sigaction(number, ptr::null(), old.as_mut_ptr());
        old.assume_init()
    };
    if old.sa_sigaction != libc::SIG_DFL {
        return false;
    }
    let handler: extern "C" fn(c_int) = record_signal;
    let new = libc::sigaction {
        sa_sigaction: handler as libc::sighandler_t,
        sa_mask: signal_set(1..1),
        sa_flags: libc::SA_RESTART,
        ..old
    };
    // SAFETY: `record_signal` does only what a handler may do.
    unsafe { libc::sigaction(number, &raw const new, ptr::null_mut()) == 0 }
}

/// Restores the default action of a caught signal.
pub fn restore_signal(number: c_int) {
    // SAFETY: SIG_DFL is no handler, so no code of ours runs in signal context.
    unsafe { libc::signal(number, libc::SIG_DFL) };
}

/// Runs in signal context: one atomic, one write, and errno restored.
extern "C" fn record_signal(number: c_int) {
    let _ = CAUGHT_SIGNAL.compare_exchange(0, number, Ordering::SeqCst, Ordering::SeqCst);
    // SAFETY: write is async-signal-safe; the errno location is this thread's and always valid.
    unsafe {
        let errno_location = libc::__errno_location();
        let errno = *errno_location;
        libc::write(SIGNAL_PIPE_FD.load(Ordering::SeqCst), b"!".as_ptr().cast(), 1);
        *errno_location = errno;
    }
}

/// Points stdout at `target`, so that its reader sees the end of the pipe.
pub fn redirect_stdout(target: BorrowedFd<'_>) {
    // SAFETY: both numbers are open descriptors; std's handle of stdout stays valid.
    unsafe { libc::dup2(target.as_raw_fd(), libc::STDOUT_FILENO) };
}

/// A descriptor inherited from the parent. No child inherits it.
pub fn take_inherited_fd(number: RawFd) -> OwnedFd {
    // SAFETY: the parent opened it for this process, and no other code takes it.
    let fd = unsafe { OwnedFd::from_raw_fd(number) };
    let _ = fcntl_setfd(&fd, FdFlags::CLOEXEC);
    fd
}

fn to_pointers(strings: &[CString]) -> Vec<*mut c_char> {
    let mut list: Vec<_> = strings.iter().map(|text| text.as_ptr().cast_mut()).collect();
    list.push(ptr::null_mut());
    list
}

fn signal_set(numbers: std::ops::Range<c_int>) -> sigset_t {
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
