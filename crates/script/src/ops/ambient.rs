//! Natives about the process and the call's surroundings: environment, folder, ids, signals.

use std::collections::BTreeMap;
use std::io;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use super::OpError;
use crate::desk::Desk;

/// Facts that do not change while the process lives.
pub fn ambient(_: &Desk, _: Value) -> Result<Value, OpError> {
    let platform = match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    };
    let arch = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    let program = std::env::current_exe().map(|p| p.display().to_string()).unwrap_or_default();
    Ok(json!({
        "pid": std::process::id(),
        "ppid": rustix::process::getppid().map_or(0, |p| p.as_raw_nonzero().get()),
        "uid": rustix::process::getuid().as_raw(),
        "platform": platform,
        "arch": arch,
        "execPath": program,
    }))
}

/// The folder of the call.
pub fn cwd(desk: &Desk, _: Value) -> Result<Value, OpError> {
    Ok(json!(desk.surround().cwd.display().to_string()))
}

/// The environment of the call.
pub fn env(desk: &Desk, _: Value) -> Result<Value, OpError> {
    let surround = desk.surround();
    let mut env: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
        .collect();
    for name in &surround.unset {
        env.remove(name);
    }
    env.extend(surround.env);
    Ok(json!(env))
}

/// Sends a signal, or asks whether a process is there (signal 0).
pub fn kill(_: &Desk, args: Value) -> Result<Value, OpError> {
    let wrong = || OpError::new("process.kill: no such process or signal").code("ESRCH");
    let raw = args["pid"].as_i64().and_then(|p| i32::try_from(p).ok()).ok_or_else(wrong)?;
    // Zero and negative ids mean groups, our own among them: not for a hook.
    let pid = Pid::from_raw(raw).filter(|_| raw > 0).ok_or_else(wrong)?;
    let asks_only = args["signal"].as_i64() == Some(0);
    if !asks_only && raw.unsigned_abs() == std::process::id() {
        return Err(OpError::new("a hook may not end its host").code("EPERM"));
    }
    let sent = match (&args["signal"], args["signal"].as_str()) {
        _ if asks_only => rustix::process::test_kill_process(pid),
        (signal, word) => {
            let signal = signal_of(word, signal.as_i64()).ok_or_else(wrong)?;
            rustix::process::kill_process(pid, signal)
        }
    };
    match sent {
        Ok(()) => Ok(json!(true)),
        Err(errno) => {
            let error = io::Error::from_raw_os_error(errno.raw_os_error());
            Err(OpError::io(&error, "kill", &raw.to_string()))
        }
    }
}

fn signal_of(word: Option<&str>, number: Option<i64>) -> Option<Signal> {
    Some(match (word, number) {
        (Some("SIGTERM"), _) | (_, Some(15)) => Signal::TERM,
        (Some("SIGKILL"), _) | (_, Some(9)) => Signal::KILL,
        (Some("SIGINT"), _) | (_, Some(2)) => Signal::INT,
        (Some("SIGHUP"), _) | (_, Some(1)) => Signal::HUP,
        (Some("SIGUSR1"), _) | (_, Some(10)) => Signal::USR1,
        (Some("SIGUSR2"), _) | (_, Some(12)) => Signal::USR2,
        _ => return None,
    })
}

/// A warning for the person who reads the trail.
pub fn warn(desk: &Desk, args: Value) -> Result<Value, OpError> {
    desk.warn(args["message"].as_str().unwrap_or_default());
    Ok(Value::Null)
}
