//! This test binary, started again to listen or to serve from another process.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use gambrel_server::{Desk, listen, serve};

use crate::scene::{KEY, desk, until};

const PART: &str = "GAMBREL_SERVER_TEST_PART";
const DIR: &str = "GAMBREL_SERVER_TEST_DIR";
const PORT: &str = "GAMBREL_SERVER_TEST_PORT";
const READY: &str = "it listens at ";

/// A started copy; killed when dropped.
pub(crate) struct Another {
    child: Child,
    _out: BufReader<ChildStdout>,
    pub(crate) base: String,
}

impl Another {
    /// Starts a part on a port and waits until it listens.
    pub(crate) fn start(part: &str, dir: &Path, port: u16) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "another_process::plays_its_part", "--nocapture"])
            .env(PART, part)
            .env(DIR, dir)
            .env(PORT, port.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains(READY) {
            line.clear();
            assert_ne!(out.read_line(&mut line).unwrap(), 0, "it ended before it was ready");
        }
        let base = line.split(READY).nth(1).unwrap().trim().to_owned();
        Self { child, _out: out, base }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn ended(&mut self) -> ExitStatus {
        until("the other process ends", || self.child.try_wait().unwrap())
    }
}

impl Drop for Another {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Does nothing unless started by [`Another::start`].
#[test]
fn plays_its_part() {
    let (Ok(part), Some(dir)) = (std::env::var(PART), std::env::var_os(DIR)) else { return };
    let port = std::env::var(PORT).unwrap().parse().unwrap();
    let desk = desk(Path::new(&dir));
    match part.as_str() {
        "listen" => {
            let listening = listen(&desk, port).unwrap();
            println!("\n{READY}{}", listening.base());
            std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        }
        "serve" => {
            let desk = Desk { key: Some(KEY.to_owned()), ..desk };
            serve(desk, port, &mut |base| println!("\n{READY}{base}")).unwrap();
        }
        other => panic!("no such part: {other}"),
    }
}
