//! Open files. The host state stores each under its id, and closes it with the engine. Files are
//! opened without blocking and polled with a timeout, so nothing here waits forever.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use serde_json::{Value, json};

use super::{OpError, bytes, stat};
use crate::runtime::HostState;

const READY_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_CHUNK_BYTES: u64 = 1 << 20;

/// A path of the call. A relative one starts at the call's working directory; an empty one stays
/// empty.
pub fn resolve_path(state: &HostState, args: &Value, field: &str) -> PathBuf {
    match args[field].as_str().unwrap_or_default() {
        "" => PathBuf::new(),
        path => state.call_env().cwd.join(path),
    }
}

/// Opens `args.path` with the flags in `args.how`, and returns its id.
pub fn open_file(state: &HostState, args: Value) -> Result<Value, OpError> {
    let shown = args["path"].as_str().unwrap_or_default();
    if state.is_full() {
        let full = io::Error::from_raw_os_error(rustix::io::Errno::MFILE.raw_os_error());
        return Err(OpError::io_error(&full, "open", shown));
    }
    let file = open_nonblocking(state, &args).map_err(|e| OpError::io_error(&e, "open", shown))?;
    let file = Arc::new(file);

    let sink = state.open_operation();
    let id = sink.id();
    state.store_file(id, Arc::clone(&file));
    state.set_handle(
        id,
        Box::new(move |message| {
            // Keep the sink as long as the file, so that the operation stays open.
            let _held = sink.id();
            handle_message(&file, &message)
        }),
    );
    Ok(json!(id))
}

/// Opens a file without waiting for the other end of a pipe.
pub fn open_nonblocking(state: &HostState, args: &Value) -> io::Result<File> {
    let how = |name: &str| args["how"][name] == true;
    let mut options = OpenOptions::new();
    options.read(how("read")).write(how("write")).append(how("append"));
    options.truncate(how("truncate")).create(how("create"));
    if how("exclusive") {
        options.create_new(true);
    }

    let mode = args["mode"].as_u64().and_then(|m| u32::try_from(m).ok()).unwrap_or(0o666);
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    options.mode(mode).custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
    options.open(resolve_path(state, args, "path"))
}

/// An open file for a program: a second descriptor of the same open file.
pub fn inherit_file(state: &HostState, fd: &Value) -> io::Result<File> {
    let id = fd.as_u64().and_then(|n| u32::try_from(n).ok());
    let file = id.and_then(|id| state.file(id)).ok_or(rustix::io::Errno::BADF)?;
    // A program expects a blocking pipe, but gambrel opens pipes non-blocking.
    match file.metadata()?.file_type().is_fifo() {
        true => Ok(reopen_blocking(&file).unwrap_or(file.try_clone()?)),
        false => file.try_clone(),
    }
}

/// Opens a pipe again in blocking mode.
fn reopen_blocking(file: &File) -> io::Result<File> {
    let flags = rustix::fs::fcntl_getfl(file)?;
    let path = format!("/dev/fd/{}", file.as_raw_fd());
    let again = rustix::fs::open(path, flags | OFlags::CLOEXEC, rustix::fs::Mode::empty())?;
    rustix::fs::fcntl_setfl(&again, flags - OFlags::NONBLOCK)?;
    Ok(again.into())
}

/// Runs an operation on an open file.
pub fn run_file_operation(state: &HostState, args: Value) -> Result<Value, OpError> {
    let syscall = args["do"].as_str().unwrap_or_default().to_owned();
    let id = args["fd"].as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or_default();
    state.send_message(id, args).map_err(|error| match error.code.as_deref() {
        Some("ERR_CLOSED") => {
            let bad = io::Error::from_raw_os_error(rustix::io::Errno::BADF.raw_os_error());
            OpError::call_error(&bad, &syscall)
        }
        _ => error,
    })
}

/// Closes an open file.
pub fn close_file(state: &HostState, args: Value) -> Result<Value, OpError> {
    run_file_operation(state, json!({"fd": args["fd"], "do": "close"}))?;
    let id = args["fd"].as_u64().and_then(|n| u32::try_from(n).ok());
    id.into_iter().for_each(|id| state.close_operation(id));
    Ok(Value::Null)
}

fn handle_message(file: &File, message: &Value) -> Result<Value, OpError> {
    let what = message["do"].as_str().unwrap_or_default();
    let done = match what {
        "read" => read_chunk(file, message),
        "write" => write_chunk(file, message),
        "fstat" => file.metadata().map(|meta| stat::metadata_json(&meta)),
        "ftruncate" => {
            file.set_len(message["length"].as_u64().unwrap_or_default()).map(|()| Value::Null)
        }
        "fsync" => file.sync_all().map(|()| Value::Null),
        _ => Ok(Value::Null),
    };
    done.map_err(|error| OpError::call_error(&error, what))
}

fn read_chunk(mut file: &File, message: &Value) -> io::Result<Value> {
    let length = message["length"].as_u64().unwrap_or_default().min(MAX_CHUNK_BYTES);
    let mut chunk = vec![0; usize::try_from(length).unwrap_or_default()];
    let got = match message["position"].as_u64() {
        Some(position) => file.read_at(&mut chunk, position)?,
        None => retry_when_ready(file, PollFlags::IN, || file.read(&mut chunk))?,
    };
    Ok(json!(bytes::pack_bytes(chunk.get(..got).unwrap_or_default())))
}

fn write_chunk(mut file: &File, message: &Value) -> io::Result<Value> {
    let data = bytes::bytes_field(message, "data");
    let took = match message["position"].as_u64() {
        Some(position) => file.write_at(&data, position)?,
        None => retry_when_ready(file, PollFlags::OUT, || file.write(&data))?,
    };
    Ok(json!(took))
}

/// The content of a file. Fails beyond `max_bytes`.
pub fn read_fully(mut file: &File, max_bytes: usize) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    let mut chunk = vec![0; 64 << 10];
    loop {
        match retry_when_ready(file, PollFlags::IN, || file.read(&mut chunk))? {
            0 => return Ok(kept),
            got => kept.extend_from_slice(chunk.get(..got).unwrap_or_default()),
        }
        if kept.len() > max_bytes {
            return Err(io::Error::from_raw_os_error(rustix::io::Errno::FBIG.raw_os_error()));
        }
    }
}

/// Writes all of `data` to a file.
pub fn write_fully(mut file: &File, mut data: &[u8]) -> io::Result<()> {
    while !data.is_empty() {
        let took = retry_when_ready(file, PollFlags::OUT, || file.write(data))?;
        if took == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        data = data.get(took..).unwrap_or_default();
    }
    Ok(())
}

/// Tries once. If that would block, waits until the file is ready and tries again.
fn retry_when_ready<T>(
    file: &File,
    ready: PollFlags,
    mut attempt: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    match attempt() {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
        done => return done,
    }

    let limit = Timespec { tv_sec: READY_TIMEOUT.as_secs().cast_signed(), tv_nsec: 0 };
    let mut watched = [PollFd::new(file, ready)];
    rustix::event::poll(&mut watched, Some(&limit))?;
    attempt()
}
