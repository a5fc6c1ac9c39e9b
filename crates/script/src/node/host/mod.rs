//! Host functions: the operations that a shim may request from Rust. They know JSON and the host
//! state, no JavaScript value and no event.
//!
//! A shim (a CommonJS body in `shims/`, with `module, exports, need, __op, __start, __open,
//! __bytes` in scope) calls them by name:
//!
//! * `__op(name, args) -> value`: a row of `SYNC_OPS`. A failure is thrown as an `Error` with
//!   `.code`, `.errno`, `.syscall` and `.path`, as far as `OpError` has them.
//! * `__start(name, args) -> Promise`: a row of `ASYNC_OPS` that ends its `Sink` once.
//! * `__open(name, args, onEvent) -> { id, send(value), close() }`: also a row of `ASYNC_OPS`. Each
//!   `sink.send_event(value)` calls `onEvent({ok: value}, false)`. The end calls
//!   `onEvent({ok: value} | {err: {...}}, true)`. `send` reaches the handle that the row stored
//!   with `state.set_handle(sink.id(), …)`. `close` and the end of the engine drop that handle, and
//!   a child that it owns must end with it.
//!
//! Arguments and values cross as JSON. Bytes cross as text with one character for each byte
//! (`bytes::pack_bytes`). Large values bypass JSON: `__bytes.of(text, encoding)` returns an
//! `ArrayBuffer`, `__bytes.recode(text, from, to)` a text.
//!
//! A row of `SYNC_OPS` blocks the module's thread, and the deadline does not interrupt it. A long
//! operation needs its own limit there. A row of `ASYNC_OPS` returns at once and works in
//! `sink.run_in_thread(…)` or on its own threads.

mod ambient;
pub mod bytes;
mod child;
mod descriptors;
mod exec;
pub mod fetch;
mod files;
mod folders;
mod hashes;
mod machine;
mod node_errors;
mod pipe;
pub mod program;
mod run;
mod signals;
mod sleep;
mod spawn;
mod stat;
mod urls;

use std::io;
use std::sync::mpsc::{SyncSender, TrySendError};

use serde_json::{Map, Value, json};

use crate::runtime::{Completion, HostState};

/// A host function that answers at once.
pub type SyncOp = fn(&HostState, Value) -> Result<Value, OpError>;
/// A host function that reports later.
pub type AsyncOp = fn(&HostState, Value, Sink);

const SYNC_OPS: &[(&str, SyncOp)] = &[
    ("ambient", ambient::process_facts),
    ("chdir", ambient::change_dir),
    ("crypto.digest", hashes::compute_digest),
    ("crypto.random", hashes::random_bytes),
    ("cwd", ambient::call_cwd),
    ("env", ambient::call_environment),
    ("execPath", ambient::exec_path),
    ("fd.act", descriptors::run_file_operation),
    ("fd.close", descriptors::close_file),
    ("fd.open", descriptors::open_file),
    ("fs.change", files::change_file),
    ("fs.list", folders::list_dir),
    ("fs.make", folders::make_dir),
    ("fs.makeTemporary", folders::make_temp_dir),
    ("fs.readText", files::read_text_file),
    ("fs.remove", folders::remove_path),
    ("fs.stat", stat::stat_path),
    ("fs.write", files::write_file),
    ("kill", ambient::send_signal),
    ("machine", machine::machine_facts),
    ("memory", machine::process_memory),
    ("run", run::run_program),
    ("sleep", sleep::sleep_blocking),
    ("url.parse", urls::parse_url),
    ("url.set", urls::set_url_part),
    ("warn", ambient::add_warning),
];

const ASYNC_OPS: &[(&str, AsyncOp)] =
    &[("exec", exec::exec_program), ("fetch", fetch::fetch_url), ("spawn", spawn::spawn_program)];

/// Calls a host function that answers at once.
pub fn call_function(state: &HostState, name: &str, args: Value) -> Result<Value, OpError> {
    match SYNC_OPS.iter().find(|(known, _)| *known == name) {
        Some((_, op)) => op(state, args),
        None => Err(OpError::new(format!("unknown host function `{name}`"))),
    }
}

/// Starts a host function that reports later. Returns the id of the operation.
pub fn start_function(state: &HostState, name: &str, args: Value) -> u32 {
    let sink = state.open_operation();
    let id = sink.id();
    match ASYNC_OPS.iter().find(|(known, _)| *known == name) {
        Some(_) if state.is_full() => {
            sink.end(Err(OpError::new("too many operations are open").with_code("EAGAIN")));
        }
        Some((_, op)) => op(state, args, sink),
        None => sink.end(Err(OpError::new(format!("unknown host function `{name}`")))),
    }
    id
}

/// The error of a host function, with the fields of Node's errors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpError {
    message: String,
    code: Option<String>,
    errno: Option<i32>,
    syscall: Option<String>,
    path: Option<String>,
}

impl OpError {
    /// An error with only a message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// A system error in Node's form: `ENOENT: no such file or directory, open 'x'`.
    pub fn io_error(error: &io::Error, syscall: &str, path: &str) -> Self {
        let (code, text) = error_name(error);
        Self {
            message: format!("{code}: {text}, {syscall} '{path}'"),
            code: Some(code.into()),
            errno: error.raw_os_error().map(|n| -n),
            syscall: Some(syscall.into()),
            path: Some(path.into()),
        }
    }

    /// The same error with a `code`.
    pub fn with_code(mut self, code: &str) -> Self {
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

fn error_name(error: &io::Error) -> (&'static str, String) {
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

/// The JSON form of a result: `{"ok": …}` or `{"err": {…}}`.
pub fn result_to_json(result: Result<Value, OpError>) -> Value {
    match result {
        Ok(value) => json!({ "ok": value }),
        Err(error) => json!({ "err": error.into_json() }),
    }
}

/// Takes the reports of one operation. If dropped without an end, it reports an error.
pub struct Sink {
    id: u32,
    completions: Option<SyncSender<Completion>>,
}

impl Sink {
    pub(crate) fn new(id: u32, completions: SyncSender<Completion>) -> Self {
        Self { id, completions: Some(completions) }
    }

    /// The operation's id, as the JavaScript side knows it.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Reports an event. Blocks while the queue is full; false if the receiver is gone.
    pub fn send_event(&self, value: Value) -> bool {
        let completion = Completion { id: self.id, result: result_to_json(Ok(value)), last: false };
        self.completions.as_ref().is_some_and(|completions| completions.send(completion).is_ok())
    }

    /// Reports the end.
    pub fn end(mut self, result: Result<Value, OpError>) {
        self.send_result(result);
    }

    /// Runs the work on its own thread and reports its result.
    pub fn run_in_thread(self, work: impl FnOnce() -> Result<Value, OpError> + Send + 'static) {
        let named = std::thread::Builder::new().name("gambrel-native".into());
        // If no thread can be started, the dropped sink reports it.
        let _ = named.spawn(move || {
            let result = work();
            self.end(result);
        });
    }

    /// Runs the work on its own thread, where it may report events. Then reports an error with the
    /// returned text.
    pub fn run_with_events(self, work: impl FnOnce(&Self) -> Option<String> + Send + 'static) {
        let named = std::thread::Builder::new().name("gambrel-native".into());
        let _ = named.spawn(move || {
            let last = work(&self).unwrap_or_default();
            self.end(Err(OpError::new(last)));
        });
    }

    fn send_result(&mut self, result: Result<Value, OpError>) {
        let Some(completions) = self.completions.take() else { return };
        let completion = Completion { id: self.id, result: result_to_json(result), last: true };
        if let Err(TrySendError::Full(completion)) = completions.try_send(completion) {
            // This may be the thread that reads the queue, so it must not block on it.
            let _ = std::thread::Builder::new().spawn(move || completions.send(completion));
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.send_result(Err(OpError::new("the operation ended without a result")));
    }
}
