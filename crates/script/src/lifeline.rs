//! What ends a sidecar when we are ended ourselves and cannot: a shell that waits for the end of a
//! pipe that only we hold, and then kills the group. Knows no sidecar and no module.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Nothing is ever written to it, so its end is our end.
const WAIT: &str = r#"while read -r _; do :; done; kill -s KILL -- "-$1""#;

/// Holds a group of processes; one that is dropped lets go of it.
pub struct Lifeline(Child);

impl Lifeline {
    /// Ties a group to the life of this process.
    pub fn tie(group: u32) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", WAIT, "sh"]).arg(group.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // What is sent to our own group must not end it before us.
        command.process_group(0).spawn().map(Self)
    }
}

impl Drop for Lifeline {
    fn drop(&mut self) {
        // Killed before its pipe ends: the group's number may be somebody else's by now.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
