//! Natives: what a shim may ask of Rust. They know JSON and the desk, no JavaScript value and no
//! event.
//!
//! A shim (a CommonJS body in `shims/`, with `module, exports, need, __op, __start, __open,
//! __bytes` in scope) calls them by name:
//!
//! * `__op(name, args) -> value`: at once. A row of [`CALLS`]. A failure is thrown as an `Error`
//!   with `.code`, `.errno`, `.syscall`, `.path` where [`OpError`] has them.
//! * `__start(name, args) -> Promise`: a row of [`STARTS`] that ends its [`Sink`] once.
//! * `__open(name, args, onEvent) -> { id, send(value), close() }`: the same row, but every
//!   `sink.event(value)` calls `onEvent({ok: value}, false)`, and the end calls
//!   `onEvent({ok: value} | {err: {...}}, true)`. `send` reaches the handle that the row kept with
//!   `desk.keep(sink.id(), …)`; `close` and the end of the engine drop that handle, so whatever it
//!   owns (a child) must end with it.
//!
//! Arguments and values cross as JSON. Bytes cross as text with one character for each
//! byte (`bytes::packed`); what may be large goes past JSON: `__bytes.of(text, encoding)` gives an
//! `ArrayBuffer`, `__bytes.recode(text, from, to)` a text.
//! A row of CALLS blocks the module's thread and is not interrupted by the deadline: whatever may
//! take long needs a limit of its own there. A row of STARTS returns at once and does its work in
//! `sink.run(…)` or on threads of its own.

mod address;
mod ambient;
pub mod bytes;
mod child;
mod descriptors;
mod exec;
mod failures;
pub mod fetch;
mod files;
mod folders;
mod hashes;
mod machine;
mod pipe;
mod run;
mod signals;
mod sleep;
mod spawn;
mod stat;

use std::io;
use std::sync::mpsc::{SyncSender, TrySendError};

use serde_json::{Map, Value, json};

use crate::desk::{Desk, Post};

/// A native that answers at once.
pub type CallOp = fn(&Desk, Value) -> Result<Value, OpError>;
/// A native that reports later.
pub type StartOp = fn(&Desk, Value, Sink);

const CALLS: &[(&str, CallOp)] = &[
    ("ambient", ambient::ambient),
    ("chdir", ambient::chdir),
    ("crypto.digest", hashes::digest),
    ("crypto.random", hashes::random),
    ("cwd", ambient::cwd),
    ("env", ambient::env),
    ("execPath", ambient::exec_path),
    ("fd.act", descriptors::act),
    ("fd.close", descriptors::close),
    ("fd.open", descriptors::open),
    ("fs.change", files::change),
    ("fs.list", folders::list),
    ("fs.make", folders::make),
    ("fs.makeTemporary", folders::make_temporary),
    ("fs.readText", files::read_text),
    ("fs.remove", folders::remove),
    ("fs.stat", stat::stat),
    ("fs.write", files::write),
    ("kill", ambient::kill),
    ("machine", machine::machine),
    ("memory", machine::held),
    ("run", run::run),
    ("sleep", sleep::sleep),
    ("url.parse", address::parse),
    ("url.set", address::set),
    ("warn", ambient::warn),
];

const STARTS: &[(&str, StartOp)] =
    &[("exec", exec::exec), ("fetch", fetch::fetch), ("spawn", spawn::spawn)];

/// Carries out a native that answers at once.
pub fn call(desk: &Desk, name: &str, args: Value) -> Result<Value, OpError> {
    match CALLS.iter().find(|(known, _)| *known == name) {
        Some((_, op)) => op(desk, args),
        None => Err(OpError::new(format!("no native named {name}"))),
    }
}

/// Begins a native that reports later, and tells its number.
pub fn start(desk: &Desk, name: &str, args: Value) -> u32 {
    let sink = desk.open();
    let id = sink.id();
    match STARTS.iter().find(|(known, _)| *known == name) {
        Some(_) if desk.crowded() => {
            sink.end(Err(OpError::new("too much work is under way").code("EAGAIN")));
        }
        Some((_, op)) => op(desk, args, sink),
        None => sink.end(Err(OpError::new(format!("no native named {name}")))),
    }
    id
}

/// Why a native failed, with the fields that Node's errors have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpError {
    message: String,
    code: Option<String>,
    errno: Option<i32>,
    syscall: Option<String>,
    path: Option<String>,
}

impl OpError {
    /// A failure with nothing but its message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// A failure of the system, worded as Node does: `ENOENT: no such file or directory, open 'x'`.
    pub fn io(error: &io::Error, syscall: &str, path: &str) -> Self {
        let (code, words) = name_of(error);
        Self {
            message: format!("{code}: {words}, {syscall} '{path}'"),
            code: Some(code.into()),
            errno: error.raw_os_error().map(|n| -n),
            syscall: Some(syscall.into()),
            path: Some(path.into()),
        }
    }

    /// The same with a `code`.
    pub fn code(mut self, code: &str) -> Self {
        self.code = Some(code.into());
        self
    }

    fn into_json(self) -> Value {
        let mut fields = Map::from_iter([("message".into(), json!(self.message))]);
        let texts = [("code", self.code), ("syscall", self.syscall), ("path", self.path)];
        for (name, text) in texts {
            fields.extend(text.map(|text| (name.to_owned(), json!(text))));
        }
        fields.extend(self.errno.map(|n| ("errno".to_owned(), json!(n))));
        Value::Object(fields)
    }
}

fn name_of(error: &io::Error) -> (&'static str, String) {
    use rustix::io::Errno;
    let names = [
        (Errno::NOENT, "ENOENT", "no such file or directory"),
        (Errno::EXIST, "EEXIST", "file already exists"),
        (Errno::ACCESS, "EACCES", "permission denied"),
        (Errno::PERM, "EPERM", "operation not permitted"),
        (Errno::NOTDIR, "ENOTDIR", "not a directory"),
        (Errno::ISDIR, "EISDIR", "illegal operation on a directory"),
        (Errno::NOTEMPTY, "ENOTEMPTY", "directory not empty"),
        (Errno::SRCH, "ESRCH", "no such process"),
        (Errno::INVAL, "EINVAL", "invalid argument"),
        (Errno::LOOP, "ELOOP", "too many symbolic links encountered"),
        (Errno::NAMETOOLONG, "ENAMETOOLONG", "name too long"),
        (Errno::MFILE, "EMFILE", "too many open files"),
        (Errno::NOSPC, "ENOSPC", "no space left on device"),
        (Errno::ROFS, "EROFS", "read-only file system"),
        (Errno::XDEV, "EXDEV", "cross-device link not permitted"),
        (Errno::BADF, "EBADF", "bad file descriptor"),
        (Errno::PIPE, "EPIPE", "broken pipe"),
        (Errno::TOOBIG, "E2BIG", "argument list too long"),
        (Errno::BUSY, "EBUSY", "resource busy or locked"),
        (Errno::AGAIN, "EAGAIN", "resource temporarily unavailable"),
        (Errno::NXIO, "ENXIO", "no such device or address"),
        (Errno::FBIG, "EFBIG", "file too large"),
        (Errno::NOEXEC, "ENOEXEC", "exec format error"),
        (Errno::TXTBSY, "ETXTBSY", "text file is busy"),
    ];
    let raw = error.raw_os_error();
    match names.iter().find(|(errno, _, _)| Some(errno.raw_os_error()) == raw) {
        Some((_, code, words)) => (code, (*words).to_owned()),
        None => ("EIO", error.to_string()),
    }
}

/// What a native says, as the JavaScript side reads it.
pub fn said(result: Result<Value, OpError>) -> Value {
    match result {
        Ok(value) => json!({ "ok": value }),
        Err(error) => json!({ "err": error.into_json() }),
    }
}

/// The line on which one piece of work reports. One that is dropped without an end reports so.
pub struct Sink {
    id: u32,
    posts: Option<SyncSender<Post>>,
}

impl Sink {
    pub(crate) fn new(id: u32, posts: SyncSender<Post>) -> Self {
        Self { id, posts: Some(posts) }
    }

    /// The number by which the JavaScript side knows it.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Reports something on the way. Waits while the module does not read; false once nobody will.
    pub fn event(&self, value: Value) -> bool {
        let post = Post { id: self.id, said: said(Ok(value)), last: false };
        self.posts.as_ref().is_some_and(|posts| posts.send(post).is_ok())
    }

    /// Reports the end.
    pub fn end(mut self, result: Result<Value, OpError>) {
        self.finish(result);
    }

    /// Does the work on a thread of its own and reports its end.
    pub fn run(self, work: impl FnOnce() -> Result<Value, OpError> + Send + 'static) {
        let named = std::thread::Builder::new().name("gambrel-native".into());
        // A thread that cannot be had drops the sink, which reports that.
        let _ = named.spawn(move || {
            let result = work();
            self.end(result);
        });
    }

    /// Reports events from a thread of its own until the work returns; then reports a failure
    /// with its last words.
    pub fn run_with(self, work: impl FnOnce(&Self) -> Option<String> + Send + 'static) {
        let named = std::thread::Builder::new().name("gambrel-native".into());
        let _ = named.spawn(move || {
            let last = work(&self).unwrap_or_default();
            self.end(Err(OpError::new(last)));
        });
    }

    fn finish(&mut self, result: Result<Value, OpError>) {
        let Some(posts) = self.posts.take() else { return };
        let post = Post { id: self.id, said: said(result), last: true };
        if let Err(TrySendError::Full(post)) = posts.try_send(post) {
            // Whoever ends may be the very thread that reads, and must not wait for itself.
            let _ = std::thread::Builder::new().spawn(move || posts.send(post));
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.finish(Err(OpError::new("the work ended without an answer")));
    }
}
