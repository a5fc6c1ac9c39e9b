//! Facts about the machine and the account, for Node's `os`.

use std::ffi::CStr;

use serde_json::{Value, json};

use super::{OpError, signals};
use crate::runtime::HostState;

/// All facts at once; the shim picks from them.
pub fn machine_facts(_: &HostState, _: Value) -> Result<Value, OpError> {
    let name = rustix::system::uname();
    let text = |part: &CStr| part.to_string_lossy().into_owned();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let (total, free) = system_memory();
    Ok(json!({
        "hostname": text(name.nodename()),
        "type": text(name.sysname()),
        "release": text(name.release()),
        "version": text(name.version()),
        "machine": text(name.machine()),
        "processors": processors,
        "total": total,
        "free": free,
        "account": account_facts(),
        "signals": signals::signal_numbers().map(|(name, n)| (name.to_owned(), json!(n)))
            .collect::<serde_json::Map<_, _>>(),
    }))
}

/// The memory of this process in bytes. The engines share it, so there is no number for one module.
pub fn process_memory(_: &HostState, _: Value) -> Result<Value, OpError> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let (all, own) = (bytes_in_line(&status, "VmRSS"), bytes_in_line(&status, "RssAnon"));
    Ok(json!({"rss": all, "heapTotal": all, "heapUsed": own}))
}

/// The user's entry in the account file, if there is one.
fn account_facts() -> Value {
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let own = accounts
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|parts| parts.get(2).is_some_and(|id| id.parse() == Ok(uid)));

    let part = |at: usize| own.as_ref().and_then(|parts| parts.get(at).copied());
    json!({"uid": uid, "gid": gid, "username": part(0), "homedir": part(5), "shell": part(6)})
}

/// Total and available memory in bytes; zero if `/proc/meminfo` is missing.
fn system_memory() -> (u64, u64) {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    (bytes_in_line(&meminfo, "MemTotal"), bytes_in_line(&meminfo, "MemAvailable"))
}

/// The number of bytes in one line of such a file.
fn bytes_in_line(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kibi = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kibi.unwrap_or_default() * 1024
}
