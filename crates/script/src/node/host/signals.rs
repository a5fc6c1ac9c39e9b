//! Node's names of signals.

use rustix::process::Signal;

const SIGNALS: &[(&str, Signal)] = &[
    ("SIGHUP", Signal::HUP),
    ("SIGINT", Signal::INT),
    ("SIGQUIT", Signal::QUIT),
    ("SIGILL", Signal::ILL),
    ("SIGTRAP", Signal::TRAP),
    ("SIGABRT", Signal::ABORT),
    ("SIGBUS", Signal::BUS),
    ("SIGFPE", Signal::FPE),
    ("SIGKILL", Signal::KILL),
    ("SIGUSR1", Signal::USR1),
    ("SIGSEGV", Signal::SEGV),
    ("SIGUSR2", Signal::USR2),
    ("SIGPIPE", Signal::PIPE),
    ("SIGALRM", Signal::ALARM),
    ("SIGTERM", Signal::TERM),
    ("SIGCHLD", Signal::CHILD),
    ("SIGCONT", Signal::CONT),
    ("SIGSTOP", Signal::STOP),
    ("SIGTSTP", Signal::TSTP),
    ("SIGWINCH", Signal::WINCH),
    ("SIGSYS", Signal::SYS),
];

/// The signal with this name.
pub fn signal_by_name(name: &str) -> Option<Signal> {
    SIGNALS.iter().find(|(known, _)| *known == name).map(|(_, signal)| *signal)
}

/// The name of a signal number.
pub fn signal_name(number: i32) -> String {
    let known = SIGNALS.iter().find(|(_, signal)| signal.as_raw() == number);
    known.map_or_else(|| format!("SIG{number}"), |(name, _)| (*name).to_owned())
}

/// Every name with its number on this system.
pub fn signal_numbers() -> impl Iterator<Item = (&'static str, i32)> {
    SIGNALS.iter().map(|(name, signal)| (*name, signal.as_raw()))
}
