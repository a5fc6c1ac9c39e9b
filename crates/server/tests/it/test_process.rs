//! This test binary, started again to listen or to serve from another process.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use gambrel_server::{ServerConfig, listen, serve};

use crate::fixture::{KEY, server_config, wait_until};

const MODE: &str = "GAMBREL_SERVER_TEST_MODE";
const DIR: &str = "GAMBREL_SERVER_TEST_DIR";
const PORT: &str = "GAMBREL_SERVER_TEST_PORT";
const READY: &str = "it listens at ";

/// A started copy; killed on drop.
pub(crate) struct TestProcess {
    child: Child,
    _out: BufReader<ChildStdout>,
    pub(crate) base: String,
}

impl TestProcess {
    /// Starts a mode on a port and waits until it listens.
    pub(crate) fn start(mode: &str, dir: &Path, port: u16) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "test_process::runs_the_selected_mode", "--nocapture"])
            .env(MODE, mode)
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

    pub(crate) fn wait_for_exit(&mut self) -> ExitStatus {
        wait_until("the other process ends", || self.child.try_wait().unwrap())
    }
}

impl Drop for TestProcess {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Does nothing unless started by [`TestProcess::start`].
#[test]
fn runs_the_selected_mode() {
    let (Ok(mode), Some(dir)) = (std::env::var(MODE), std::env::var_os(DIR)) else { return };
    let port = std::env::var(PORT).unwrap().parse().unwrap();
    let config = server_config(Path::new(&dir));
    match mode.as_str() {
        "listen" => {
            let listening = listen(&config, port).unwrap();
            println!("\n{READY}{}", listening.base());
            std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        }
        "serve" => {
            let config = ServerConfig { key: Some(KEY.to_owned()), ..config };
            serve(config, port, &mut |base| println!("\n{READY}{base}")).unwrap();
        }
        other => panic!("unknown mode `{other}`"),
    }
}
