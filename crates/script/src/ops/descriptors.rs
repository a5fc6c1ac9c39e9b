//! Open files. Each is kept at the desk under its number and closed with the engine. Nothing here
//! waits for ever: what is no plain file is opened without blocking and polled for a while.

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
use crate::desk::Desk;

const PATIENCE: Duration = Duration::from_secs(10);
const MAX_CHUNK: u64 = 1 << 20;

/// A path of the call: relative ones start at its folder, and the empty one is nowhere.
pub fn place(desk: &Desk, args: &Value, field: &str) -> PathBuf {
    match args[field].as_str().unwrap_or_default() {
        "" => PathBuf::new(),
        path => desk.surround().cwd.join(path),
    }
}

/// Opens `args.path` as `args.how` says, and gives its number.
pub fn open(desk: &Desk, args: Value) -> Result<Value, OpError> {
    let shown = args["path"].as_str().unwrap_or_default();
    if desk.crowded() {
        let full = io::Error::from_raw_os_error(rustix::io::Errno::MFILE.raw_os_error());
        return Err(OpError::io(&full, "open", shown));
    }
    let file = opened(desk, &args).map_err(|e| OpError::io(&e, "open", shown))?;
    let file = Arc::new(file);
    let line = desk.open();
    let id = line.id();
    desk.shelve(id, Arc::clone(&file));
    desk.keep(
        id,
        Box::new(move |said| {
            // The line is held for as long as the file: it is what keeps the number ours.
            let _held = line.id();
            serve(&file, &said)
        }),
    );
    Ok(json!(id))
}

/// Opens a file without ever waiting for its other end.
pub fn opened(desk: &Desk, args: &Value) -> io::Result<File> {
    let how = |name: &str| args["how"][name] == true;
    let mut options = OpenOptions::new();
    options.read(how("read")).write(how("write")).append(how("append"));
    options.truncate(how("truncate")).create(how("create"));
    if how("exclusive") {
        options.create_new(true);
    }
    let mode = args["mode"].as_u64().and_then(|m| u32::try_from(m).ok()).unwrap_or(0o666);
    let calm = OFlags::NONBLOCK | OFlags::NOCTTY;
    options.mode(mode).custom_flags(i32::try_from(calm.bits()).unwrap_or_default());
    options.open(place(desk, args, "path"))
}

/// An open file for a program: the same one, with the same place in it, and its own to close.
pub fn lent(desk: &Desk, fd: &Value) -> io::Result<File> {
    let id = fd.as_u64().and_then(|n| u32::try_from(n).ok());
    let file = id.and_then(|id| desk.file(id)).ok_or(rustix::io::Errno::BADF)?;
    // A program expects to wait for the other end of a pipe, which we never do.
    match file.metadata()?.file_type().is_fifo() {
        true => Ok(waiting(&file).unwrap_or(file.try_clone()?)),
        false => file.try_clone(),
    }
}

/// A pipe once more, for somebody who waits.
fn waiting(file: &File) -> io::Result<File> {
    let flags = rustix::fs::fcntl_getfl(file)?;
    let path = format!("/dev/fd/{}", file.as_raw_fd());
    let again = rustix::fs::open(path, flags | OFlags::CLOEXEC, rustix::fs::Mode::empty())?;
    rustix::fs::fcntl_setfl(&again, flags - OFlags::NONBLOCK)?;
    Ok(again.into())
}

/// Does something with an open file.
pub fn act(desk: &Desk, args: Value) -> Result<Value, OpError> {
    let syscall = args["do"].as_str().unwrap_or_default().to_owned();
    let id = args["fd"].as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or_default();
    desk.send(id, args).map_err(|error| match error.code.as_deref() {
        Some("ERR_CLOSED") => {
            let bad = io::Error::from_raw_os_error(rustix::io::Errno::BADF.raw_os_error());
            OpError::call(&bad, &syscall)
        }
        _ => error,
    })
}

/// Closes an open file.
pub fn close(desk: &Desk, args: Value) -> Result<Value, OpError> {
    act(desk, json!({"fd": args["fd"], "do": "close"}))?;
    let id = args["fd"].as_u64().and_then(|n| u32::try_from(n).ok());
    id.into_iter().for_each(|id| desk.close(id));
    Ok(Value::Null)
}

fn serve(file: &File, said: &Value) -> Result<Value, OpError> {
    let what = said["do"].as_str().unwrap_or_default();
    let done = match what {
        "read" => read(file, said),
        "write" => write(file, said),
        "fstat" => file.metadata().map(|meta| stat::fields(&meta)),
        "ftruncate" => {
            file.set_len(said["length"].as_u64().unwrap_or_default()).map(|()| Value::Null)
        }
        "fsync" => file.sync_all().map(|()| Value::Null),
        _ => Ok(Value::Null),
    };
    done.map_err(|error| OpError::call(&error, what))
}

fn read(mut file: &File, said: &Value) -> io::Result<Value> {
    let length = said["length"].as_u64().unwrap_or_default().min(MAX_CHUNK);
    let mut chunk = vec![0; usize::try_from(length).unwrap_or_default()];
    let got = match said["position"].as_u64() {
        Some(position) => file.read_at(&mut chunk, position)?,
        None => patiently(file, PollFlags::IN, || file.read(&mut chunk))?,
    };
    Ok(json!(bytes::packed(chunk.get(..got).unwrap_or_default())))
}

fn write(mut file: &File, said: &Value) -> io::Result<Value> {
    let data = bytes::field(said, "data");
    let took = match said["position"].as_u64() {
        Some(position) => file.write_at(&data, position)?,
        None => patiently(file, PollFlags::OUT, || file.write(&data))?,
    };
    Ok(json!(took))
}

/// Everything that a file holds, up to `most` bytes.
pub fn whole(mut file: &File, most: usize) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    let mut chunk = vec![0; 64 << 10];
    loop {
        match patiently(file, PollFlags::IN, || file.read(&mut chunk))? {
            0 => return Ok(kept),
            got => kept.extend_from_slice(chunk.get(..got).unwrap_or_default()),
        }
        if kept.len() > most {
            return Err(io::Error::from_raw_os_error(rustix::io::Errno::FBIG.raw_os_error()));
        }
    }
}

/// All of `data` into a file.
pub fn fill(mut file: &File, mut data: &[u8]) -> io::Result<()> {
    while !data.is_empty() {
        let took = patiently(file, PollFlags::OUT, || file.write(data))?;
        if took == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        data = data.get(took..).unwrap_or_default();
    }
    Ok(())
}

/// Tries; where that would block, waits once for the file to be ready and tries again.
fn patiently<T>(
    file: &File,
    ready: PollFlags,
    mut attempt: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    match attempt() {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
        done => return done,
    }
    let limit = Timespec { tv_sec: PATIENCE.as_secs().cast_signed(), tv_nsec: 0 };
    let mut watched = [PollFd::new(file, ready)];
    rustix::event::poll(&mut watched, Some(&limit))?;
    attempt()
}
