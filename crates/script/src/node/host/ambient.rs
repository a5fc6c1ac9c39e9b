//! Host functions about the process and the call: environment, working directory, ids, signals.

use std::collections::BTreeMap;
use std::io;

use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use super::{OpError, descriptors};
use crate::runtime::{CallEnv, HostState};
use crate::sidecar;

/// Facts that do not change while the process runs.
pub fn process_facts(_: &HostState, _: Value) -> Result<Value, OpError> {
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

/// The working directory of the call.
pub fn call_cwd(state: &HostState, _: Value) -> Result<Value, OpError> {
    Ok(json!(state.call_env().cwd.display().to_string()))
}

/// The environment of the call.
pub fn call_environment(state: &HostState, _: Value) -> Result<Value, OpError> {
    let call_env = state.call_env();
    let mut env: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
        .collect();

    for name in &call_env.unset {
        env.remove(name);
    }
    env.extend(call_env.env);
    Ok(json!(env))
}

/// The value of `process.execPath`: the full host if there is one, else gambrel.
pub fn exec_path(state: &HostState, _: Value) -> Result<Value, OpError> {
    let host = sidecar::find_program(&state.settings.full_host);
    let program = host.or_else(|| std::env::current_exe().ok()).unwrap_or_default();
    Ok(json!(program.display().to_string()))
}

/// Changes the working directory of the call, not of this process.
pub fn change_dir(state: &HostState, args: Value) -> Result<Value, OpError> {
    let wanted = args["path"].as_str().unwrap_or_default();
    let failed = |error: io::Error| OpError::io_error(&error, "chdir", wanted);
    let cwd = descriptors::resolve_path(state, &args, "path").canonicalize().map_err(failed)?;
    // Also checks the permission to enter it.
    std::fs::metadata(cwd.join(".")).map_err(failed)?;
    state.set_call_env(CallEnv { cwd, ..state.call_env() });
    Ok(Value::Null)
}

/// Sends a signal, or with signal 0 tests whether the process exists. A negative number is a group.
pub fn send_signal(_: &HostState, args: Value) -> Result<Value, OpError> {
    let number = |name: &str| args[name].as_i64().and_then(|n| i32::try_from(n).ok());
    let wanted = number("pid").ok_or(Errno::SRCH).map_err(kill_error)?;

    let signal = number("signal");
    let sent = match (signal, signal.and_then(Signal::from_named_raw)) {
        (Some(0), _) => test_target(wanted),
        (_, None) => Err(Errno::INVAL),
        _ if reaches_host(wanted) => {
            return Err(OpError::new("a hook may not end its host").with_code("EPERM"));
        }
        (_, Some(signal)) => signal_target(wanted, signal),
    };
    sent.map(|()| json!(true)).map_err(kill_error)
}

/// Whether a signal would reach this process: alone, in its group, or with all processes.
fn reaches_host(wanted: i32) -> bool {
    let group = rustix::process::getpgrp().as_raw_pid();
    matches!(wanted, 0 | -1)
        || wanted.unsigned_abs() == std::process::id()
        || wanted.checked_neg() == Some(group)
}

fn test_target(wanted: i32) -> Result<(), Errno> {
    match (process_id(wanted), group_id(wanted)) {
        (Some(pid), _) => rustix::process::test_kill_process(pid),
        (_, Some(pid)) => rustix::process::test_kill_process_group(pid),
        _ if wanted == 0 => rustix::process::test_kill_current_process_group(),
        _ => Err(Errno::SRCH),
    }
}

fn signal_target(wanted: i32, signal: Signal) -> Result<(), Errno> {
    match (process_id(wanted), group_id(wanted)) {
        (Some(pid), _) => rustix::process::kill_process(pid, signal),
        (_, Some(pid)) => rustix::process::kill_process_group(pid, signal),
        _ => Err(Errno::SRCH),
    }
}

/// The process with this number; `None` unless the number is positive.
fn process_id(wanted: i32) -> Option<Pid> {
    Some(wanted).filter(|number| *number > 0).and_then(Pid::from_raw)
}

/// The group with this number; `None` unless the number is negative.
fn group_id(wanted: i32) -> Option<Pid> {
    wanted.checked_neg().and_then(process_id)
}

fn kill_error(errno: Errno) -> OpError {
    OpError::bare_error(&io::Error::from_raw_os_error(errno.raw_os_error()), "kill")
}

/// A warning for the trail.
pub fn add_warning(state: &HostState, args: Value) -> Result<Value, OpError> {
    state.add_warning(args["message"].as_str().unwrap_or_default());
    Ok(Value::Null)
}
