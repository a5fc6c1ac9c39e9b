//! After SIGINT a library host gets its firing back, with the hooks ended, and can fire again.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::{example_path, folder_with_files};

const TIMEOUT: Duration = Duration::from_secs(20);

/// The first firing writes the hook's process id and waits; the second one ends at once.
const SETTINGS: &str = r#"{"hooks": {"PreToolUse": [{"hooks": [
    {"type": "command", "command": "[ -e pid ] || { echo $$ > new; mv new pid; sleep 600 & wait; }"}
]}]}}"#;

#[test]
fn a_host_fires_again_after_sigint() {
    let folder = folder_with_files(&[(".claude/settings.json", SETTINGS)]);
    let mut host = Command::new(example_path("signal_host"))
        .arg(folder.path())
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let until = Instant::now() + TIMEOUT;
    let pid = folder.path().join("pid");
    while !pid.exists() {
        assert!(Instant::now() < until, "the hook never started");
        std::thread::sleep(Duration::from_millis(5));
    }
    let killed = Command::new("kill").args(["-s", "INT", &host.id().to_string()]).status();
    assert!(killed.unwrap().success());

    let mut text = String::new();
    host.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(host.wait().unwrap().success(), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    let [first, second] = lines.as_slice() else { panic!("{text}") };
    assert!(first.starts_with("signal 2: ") && first.contains("a signal ended gambrel"), "{text}");
    assert!(second.starts_with("signal 0: ") && !second.contains("signal ended"), "{text}");

    let hook = std::fs::read_to_string(pid).unwrap();
    assert!(!PathBuf::from("/proc").join(hook.trim()).exists(), "the hook still runs");
    assert!(Instant::now() < until, "it took too long");
}
