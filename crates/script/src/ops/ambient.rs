//! Natives about the process and the call's surroundings: environment, folder, ids, signals.

use std::collections::BTreeMap;
use std::io;

use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use super::{OpError, descriptors};
use crate::desk::{Desk, Surround};
use crate::sidecar;

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
    Ok(json!({
        "pid": std::process::id(),
        "ppid": rustix::process::getppid().map_or(0, |p| p.as_raw_nonzero().get()),
        "uid": rustix::process::getuid().as_raw(),
        "platform": platform,
        "arch": arch,
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

/// The program that a module may start as its own kind: a full host if there is one, else us.
pub fn exec_path(desk: &Desk, _: Value) -> Result<Value, OpError> {
    let host = sidecar::program(&desk.settings.full_host);
    let program = host.or_else(|| std::env::current_exe().ok()).unwrap_or_default();
    Ok(json!(program.display().to_string()))
}

/// Changes the folder of the call; this process stays where it is.
pub fn chdir(desk: &Desk, args: Value) -> Result<Value, OpError> {
    let wanted = args["path"].as_str().unwrap_or_default();
    let failed = |error: io::Error| OpError::io(&error, "chdir", wanted);
    let cwd = descriptors::place(desk, &args, "path").canonicalize().map_err(failed)?;
    // Also asks whether it may be entered.
    std::fs::metadata(cwd.join(".")).map_err(failed)?;
    desk.place(Surround { cwd, ..desk.surround() });
    Ok(Value::Null)
}

/// Sends a signal, or asks whether somebody is there (signal 0). A number below zero means a group.
pub fn kill(_: &Desk, args: Value) -> Result<Value, OpError> {
    let number = |name: &str| args[name].as_i64().and_then(|n| i32::try_from(n).ok());
    let wanted = number("pid").ok_or(Errno::SRCH).map_err(unsent)?;
    let signal = number("signal");
    let sent = match (signal, signal.and_then(Signal::from_named_raw)) {
        (Some(0), _) => look(wanted),
        (_, None) => Err(Errno::INVAL),
        _ if is_ours(wanted) => {
            return Err(OpError::new("a hook may not end its host").code("EPERM"));
        }
        (_, Some(signal)) => send(wanted, signal),
    };
    sent.map(|()| json!(true)).map_err(unsent)
}

/// Whether a signal would reach this process: alone, with its group, or with everybody.
fn is_ours(wanted: i32) -> bool {
    let group = rustix::process::getpgrp().as_raw_pid();
    matches!(wanted, 0 | -1)
        || wanted.unsigned_abs() == std::process::id()
        || wanted.checked_neg() == Some(group)
}

fn look(wanted: i32) -> Result<(), Errno> {
    match (one(wanted), group(wanted)) {
        (Some(pid), _) => rustix::process::test_kill_process(pid),
        (_, Some(pid)) => rustix::process::test_kill_process_group(pid),
        _ if wanted == 0 => rustix::process::test_kill_current_process_group(),
        _ => Err(Errno::SRCH),
    }
}

fn send(wanted: i32, signal: Signal) -> Result<(), Errno> {
    match (one(wanted), group(wanted)) {
        (Some(pid), _) => rustix::process::kill_process(pid, signal),
        (_, Some(pid)) => rustix::process::kill_process_group(pid, signal),
        _ => Err(Errno::SRCH),
    }
}

/// The process that a number means. What is not above zero is never made into one.
fn one(wanted: i32) -> Option<Pid> {
    Some(wanted).filter(|number| *number > 0).and_then(Pid::from_raw)
}

/// The group that a number means.
fn group(wanted: i32) -> Option<Pid> {
    wanted.checked_neg().and_then(one)
}

fn unsent(errno: Errno) -> OpError {
    OpError::bare(&io::Error::from_raw_os_error(errno.raw_os_error()), "kill")
}

/// A warning for the person who reads the trail.
pub fn warn(desk: &Desk, args: Value) -> Result<Value, OpError> {
    desk.warn(args["message"].as_str().unwrap_or_default());
    Ok(Value::Null)
}
