//! The entry point that the C runtime calls. Rust's own entry reads and parses the memory map of the
//! process and sets up a handler that explains a stack overflow. That costs 24 system calls and
//! 110,000 instructions before every `fire`. This one does the rest of it: the words of the command
//! line, open standard streams, an ignored SIGPIPE and an exit code after a panic.

#![expect(unsafe_code, reason = "the C runtime finds the entry by its name")]

use std::ffi::{CStr, OsString, c_char, c_int};
use std::fs::OpenOptions;
use std::os::fd::IntoRawFd;
use std::os::unix::ffi::OsStringExt;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::stdio::{stderr, stdin, stdout};

use crate::arena;

/// The exit code after a panic, as with Rust's own entry.
const PANIC_EXIT_CODE: c_int = 101;

static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

// SAFETY: nothing else in this program has this name, because `no_main` leaves out Rust's own.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[cfg_attr(test, expect(dead_code, reason = "tests have an entry of their own"))]
extern "C" fn main(count: c_int, words: *const *const c_char) -> c_int {
    open_missing_streams();
    // A panic must not unwind into the C runtime. Without one, this process ends in there.
    let _panic = catch_unwind(|| -> () {
        // SAFETY: the C runtime passes `count` texts, each with a null byte at its end.
        let word = |at: c_int| unsafe { CStr::from_ptr(*words.offset(at as isize)) };
        // Before the first allocation of a `fire`. Everything else lives longer.
        if count > 1 && word(1) == c"fire" {
            arena::enable();
        }
        let words = (1..count).map(|at| OsString::from_vec(word(at).to_bytes().to_vec()));
        let code = super::run(words.collect());
        // SAFETY: nothing runs after it. The printer has flushed every text, and no part of this
        // program registers work for the end of the process.
        unsafe { libc::_exit(code.into()) }
    });
    PANIC_EXIT_CODE
}

/// Whether this process started without a standard output.
pub fn stdout_was_closed() -> bool {
    STDOUT_WAS_CLOSED.load(Ordering::Relaxed)
}

/// Opens `/dev/null` for standard streams that the parent closed. Otherwise a file of gambrel would
/// get their number, and messages would be written into it.
fn open_missing_streams() {
    let streams = [stdin(), stdout(), stderr()];
    let mut polled = streams.each_ref().map(|stream| PollFd::new(stream, PollFlags::empty()));
    let _any = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    let is_closed = polled.map(|stream| stream.revents().contains(PollFlags::NVAL));
    STDOUT_WAS_CLOSED.store(is_closed[1], Ordering::Relaxed);
    // In ascending order: the kernel gives the lowest free number.
    for _ in is_closed.into_iter().filter(|is_closed| *is_closed) {
        match OpenOptions::new().read(true).write(true).open("/dev/null") {
            Ok(file) => drop(file.into_raw_fd()),
            Err(_) => std::process::abort(),
        }
    }
}
