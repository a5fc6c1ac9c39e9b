//! The entry point that the C runtime calls, and the file with `unsafe` code of this crate. Rust's
//! own entry reads and parses the memory map of the process and sets up a handler that explains a
//! stack overflow. That costs 24 system calls and 110,000 instructions before every `fire`. This
//! one does the rest of it: open standard streams, an ignored SIGPIPE, an exit code after a panic,
//! and written output.

#![expect(unsafe_code, reason = "the C runtime finds the entry by its name")]

use std::ffi::{c_char, c_int};
use std::fs::OpenOptions;
use std::os::fd::{BorrowedFd, IntoRawFd};
use std::panic::catch_unwind;

use rustix::io::{Errno, fcntl_getfd};
use rustix::stdio::{stderr, stdin, stdout};

/// The exit code after a panic, as with Rust's own entry.
const PANIC_EXIT_CODE: u8 = 101;

// SAFETY: nothing else in this program has this name, because `no_main` leaves out Rust's own.
#[unsafe(no_mangle)]
extern "C" fn main(_count: c_int, _words: *const *const c_char) -> c_int {
    open_missing_streams();
    // A panic must not unwind into the C runtime.
    let code = catch_unwind(crate::run_program).unwrap_or(PANIC_EXIT_CODE);
    // Writes what is left in the buffer of stdout.
    std::process::exit(code.into())
}

/// Opens `/dev/null` for standard streams that the parent closed. Otherwise a file of gambrel would
/// get their number, and messages would be written into it.
fn open_missing_streams() {
    let is_missing = |fd: BorrowedFd<'_>| fcntl_getfd(fd) == Err(Errno::BADF);
    // In ascending order: the kernel gives the lowest free number.
    for stream in [stdin(), stdout(), stderr()] {
        if is_missing(stream) {
            match OpenOptions::new().read(true).write(true).open("/dev/null") {
                Ok(file) => drop(file.into_raw_fd()),
                Err(_) => std::process::abort(),
            }
        }
    }
}
