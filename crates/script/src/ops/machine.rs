//! Facts about the machine and the account: what Node's `os` tells.

use std::ffi::CStr;

use serde_json::{Value, json};

use super::{OpError, signals};
use crate::desk::Desk;

/// Everything at once; the shim picks.
pub fn machine(_: &Desk, _: Value) -> Result<Value, OpError> {
    let name = rustix::system::uname();
    let text = |part: &CStr| part.to_string_lossy().into_owned();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let (total, free) = memory();
    Ok(json!({
        "hostname": text(name.nodename()),
        "type": text(name.sysname()),
        "release": text(name.release()),
        "version": text(name.version()),
        "machine": text(name.machine()),
        "processors": processors,
        "total": total,
        "free": free,
        "account": account(),
        "signals": signals::numbers().map(|(name, n)| (name.to_owned(), json!(n)))
            .collect::<serde_json::Map<_, _>>(),
    }))
}

/// What this process holds, in bytes. Our engines share it; no module's part can be told.
pub fn held(_: &Desk, _: Value) -> Result<Value, OpError> {
    let told = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let (all, own) = (amount(&told, "VmRSS"), amount(&told, "RssAnon"));
    Ok(json!({"rss": all, "heapTotal": all, "heapUsed": own}))
}

/// This user's line of the account file, where there is one.
fn account() -> Value {
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let own = accounts
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|parts| parts.get(2).is_some_and(|id| id.parse() == Ok(uid)));
    let part = |at: usize| own.as_ref().and_then(|parts| parts.get(at).copied());
    json!({"uid": uid, "gid": gid, "username": part(0), "homedir": part(5), "shell": part(6)})
}

/// Bytes in all and to be had, where the system says so in a file.
fn memory() -> (u64, u64) {
    let told = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    (amount(&told, "MemTotal"), amount(&told, "MemAvailable"))
}

/// The bytes that one line of such a file tells.
fn amount(told: &str, name: &str) -> u64 {
    let line = told.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kibi = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kibi.unwrap_or_default() * 1024
}
