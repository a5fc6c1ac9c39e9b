//! The entry point that the C runtime calls, and the file with `unsafe` code of this crate. Rust's
//! own entry reads and parses the memory map of the process and sets up a handler that explains a
//! stack overflow. That costs 24 system calls and 110,000 instructions before every `fire`. This
//! one does the rest of it: open standard streams, an ignored SIGPIPE and an exit code after a
//! panic. Only with glibc are the arguments known without Rust's own entry.

#![expect(unsafe_code, reason = "the C runtime finds the entry by its name")]

use std::ffi::{c_char, c_int};
use std::fs::OpenOptions;
use std::os::fd::IntoRawFd;
use std::panic::catch_unwind;

use rustix::io::{Errno, fcntl_getfd};
use rustix::stdio::{stderr, stdin, stdout};

/// The exit code after a panic, as with Rust's own entry.
const PANIC_EXIT_CODE: c_int = 101;

// SAFETY: nothing else in this program has this name, because `no_main` leaves out Rust's own.
#[unsafe(no_mangle)]
extern "C" fn main(_count: c_int, _words: *const *const c_char) -> c_int {
    open_missing_streams();
    // A panic must not unwind into the C runtime. Without one, this process ends in there.
    let _panic = catch_unwind(crate::main);
    PANIC_EXIT_CODE
}

/// Opens `/dev/null` for standard streams that the parent closed. Otherwise a file of gambrel would
/// get their number, and messages would be written into it.
fn open_missing_streams() {
    // In ascending order: the kernel gives the lowest free number.
    for stream in [stdin(), stdout(), stderr()] {
        if fcntl_getfd(stream) == Err(Errno::BADF) {
            match OpenOptions::new().read(true).write(true).open("/dev/null") {
                Ok(file) => drop(file.into_raw_fd()),
                Err(_) => std::process::abort(),
            }
        }
    }
}
