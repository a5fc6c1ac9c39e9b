//! This test binary, started again to listen or to serve from another process.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use gambrel_model::PublicUrl;
use gambrel_server::{ServeAddress, ServerConfig, listen, serve};

use crate::fixture::{KEY, server_config, wait_until};

const MODE: &str = "GAMBREL_SERVER_TEST_MODE";
const DIR: &str = "GAMBREL_SERVER_TEST_DIR";
const PORT: &str = "GAMBREL_SERVER_TEST_PORT";
pub(crate) const PUBLIC_URL: &str = "GAMBREL_SERVER_TEST_PUBLIC_URL";
pub(crate) const BIND: &str = "GAMBREL_SERVER_TEST_BIND";
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
        Self::start_with(mode, dir, port, &[])
    }

    /// The same with a public address or an address to bind, by variable.
    pub(crate) fn start_with(mode: &str, dir: &Path, port: u16, more: &[(&str, &str)]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "test_process::runs_the_selected_mode", "--nocapture"])
            .env(MODE, mode)
            .env(DIR, dir)
            .env(PORT, port.to_string())
            .envs(more.iter().copied())
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
    let public_url = std::env::var(PUBLIC_URL).ok().map(|url| PublicUrl::parse(&url).unwrap());
    let config = ServerConfig { public_url, ..server_config(Path::new(&dir)) };
    match mode.as_str() {
        "listen" => {
            let listening = listen(&config, port).unwrap();
            println!("\n{READY}{}", listening.base());
            std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        }
        "serve" => {
            let config = ServerConfig { key: Some(KEY.to_owned()), ..config };
            let bind = std::env::var(BIND).ok().map(|address| address.parse().unwrap());
            let address = ServeAddress { port, bind };
            serve(config, address, &mut |at| println!("\n{READY}{}", at.base)).unwrap();
        }
        other => panic!("unknown mode `{other}`"),
    }
}
