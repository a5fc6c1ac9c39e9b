//! Programs of others that tests compare with. `cargo xtask test` installs them; without them a
//! test says that it is left out, and in CI it fails.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Where they lie, wherever cargo builds.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/node_modules")
}

/// A file under it, or nothing with a word about what is not tested.
pub fn tool(path: &str, without: &str) -> Option<PathBuf> {
    let file = folder().join(path);
    if file.exists() {
        return Some(std::fs::canonicalize(file).unwrap());
    }
    assert!(std::env::var_os("CI").is_none(), "{path} is missing, and CI leaves nothing untested");
    eprintln!("SKIP {without}: no {path} (cargo xtask test installs it)");
    None
}

/// Runs a program to its end, or fails at the deadline: its exit code and everything it said.
pub fn finish(command: &mut Command, deadline: Duration) -> (Option<i32>, String, String) {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let readers =
        [std::thread::spawn(move || drain(stdout)), std::thread::spawn(move || drain(stderr))];
    let until = Instant::now() + deadline;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > until {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{command:?} did not end in {deadline:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let [stdout, stderr] = readers.map(|reader| reader.join().unwrap());
    (status.code(), stdout, stderr)
}

fn drain(pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    pipe.take(16 << 20).read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}
