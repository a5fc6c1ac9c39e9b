//! The table of misbehaving hooks of the row `zoo`.

/// A special need or effect of a hook.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Special {
    None,
    /// It receives an event of 5 MB.
    LargeEvent,
    /// It kills gambrel. Its processes are counted, and must end at the next start.
    KillsGambrel,
    /// It leaves a process without session, environment and parent after it ends. This is a known
    /// limit; only counted.
    BeyondReach,
    /// It leaves such a process and continues. gambrel finds the process because it adopted it.
    /// gambrel does not adopt processes of programs that modules start, so there it is a known
    /// limit.
    NeedsAdoption,
}
use Special::{BeyondReach, KillsGambrel, LargeEvent, NeedsAdoption, None};

/// Name, script and special effect.
pub const HOOKS: &[(&str, &str, Special)] = &[
    ("never reads a 5 MB event", "sleep 300", LargeEvent),
    (
        "writes 1 MB before it reads",
        "head -c 1000000 /dev/zero; cat >/dev/null; exit 2",
        LargeEvent,
    ),
    ("closes all descriptors", "exec 0<&- 1>&- 2>&-; sleep 300", None),
    ("ignores TERM", "trap '' TERM INT HUP; while :; do sleep 1; done", None),
    ("runs in a session of its own", "setsid --wait sleep 300", None),
    ("leaves a session of its own", "setsid sleep 300; exit 0", None),
    ("forks twice", "(sleep 300 &); exit 0", None),
    ("forks twice, leaves the session", "(setsid sleep 300 &); exit 0", None),
    (
        "forks twice, leaves the session, empties its environment, and goes on",
        "(env -i setsid /bin/sleep 300 &); sleep 300",
        NeedsAdoption,
    ),
    (
        "forks twice, leaves the session, empties its environment, and ends",
        "(env -i setsid /bin/sleep 300 &); exit 0",
        BeyondReach,
    ),
    ("holds the pipe open in the background", "sleep 300 & exit 2", None),
    ("writes 1 GB", "head -c 1000000000 /dev/zero", None),
    ("writes one byte a second", "while :; do printf x; sleep 1; done", None),
    ("writes bytes that are not UTF-8", "head -c 100000 /dev/urandom; exit 2", None),
    ("starts 150 processes", "for n in $(seq 150); do sleep 300 & done; wait", None),
    ("allocates 2 GB", "tail -c 2000000000 /dev/zero", None),
    ("deletes its folder", "rm -rf \"$PWD\"; sleep 300", None),
    ("stops itself", "kill -STOP $$; exit 2", None),
    ("kills its parent", "kill -9 $PPID; sleep 300", KillsGambrel),
    ("sends TERM to its parent", "kill -TERM $PPID; sleep 300", None),
    ("kills its process group", "kill -9 0; sleep 300", None),
    ("ends by SEGV", "kill -SEGV $$; sleep 300", None),
    ("ends by ABRT", "kill -ABRT $$; sleep 300", None),
    ("ends by KILL", "kill -KILL $$; sleep 300", None),
    ("writes half a JSON", "printf '{\"hookSpecificOutput\":{\"perm'", None),
    ("writes a deep JSON", "head -c 1000000 /dev/zero | tr '\\0' '['", None),
    (
        "writes a huge JSON",
        "printf '{\"systemMessage\":\"'; head -c 15000000 /dev/zero | tr '\\0' a; printf '\"}'",
        None,
    ),
    (
        "changes its own script",
        "echo 'echo \"sleep 300\" >> own.sh; sleep 0.1' > own.sh; sh ./own.sh",
        None,
    ),
    ("fills the pipe of stderr", "head -c 100000000 /dev/zero >&2; exit 2", None),
    ("reopens the terminal", "exec </dev/tty >/dev/tty 2>&1; sleep 300", None),
    ("lowers priorities", "renice -n 19 $PPID; nice -n 19 sleep 300", None),
    ("leaves 50 sleepers", "for n in $(seq 50); do sleep 300 & done; exit 0", None),
    ("traps its exit and sleeps", "trap 'sleep 300' EXIT; exit 2", None),
    (
        "writes to descriptors 3 to 20",
        "bash -c 'for fd in $(seq 3 20); do echo x >&$fd; done; exit 2'",
        None,
    ),
    ("sleeps for ever", "while :; do sleep 300; done", None),
    ("exits 2 with a reason of 5 MB", "head -c 5000000 /dev/zero | tr '\\0' x >&2; exit 2", None),
    (
        "starts itself again as a daemon",
        "nohup setsid sh -c 'while :; do sleep 0.2; done' >/dev/null 2>&1 & exit 0",
        None,
    ),
    (
        "moves from process to process",
        "f() { [ $1 -gt 200 ] || { sleep 0.05; f $(($1 + 1)) & }; }; f 0; exit 0",
        None,
    ),
];
