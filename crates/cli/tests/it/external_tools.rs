//! External programs that tests compare with. `cargo xtask test` installs them. Without them a test
//! is skipped with a notice, and fails in CI.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The folder of the installed tools.
pub fn tools_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/node_modules")
}

/// A file in that folder. If it is missing, prints the name of the skipped test.
pub fn find_tool(path: &str, without: &str) -> Option<PathBuf> {
    let file = tools_dir().join(path);
    if file.exists() {
        return Some(std::fs::canonicalize(file).unwrap());
    }
    assert!(std::env::var_os("CI").is_none(), "{path} is missing, and CI leaves nothing untested");
    eprintln!("SKIP {without}: no {path} (cargo xtask test installs it)");
    None
}

/// Runs a program to its end, or fails at the timeout. Returns exit code, stdout and stderr.
pub fn run_to_end(command: &mut Command, timeout: Duration) -> (Option<i32>, String, String) {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let readers = [
        std::thread::spawn(move || read_all(stdout)),
        std::thread::spawn(move || read_all(stderr)),
    ];
    let end = Instant::now() + timeout;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > end {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{command:?} did not end in {timeout:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let [stdout, stderr] = readers.map(|reader| reader.join().unwrap());
    (status.code(), stdout, stderr)
}

fn read_all(pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    pipe.take(16 << 20).read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}
