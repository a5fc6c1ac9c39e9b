//! This test binary, started again to play one part in a test of several processes.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use gambrel_model::ledger::{FiringPhase, Ledger};
use serde_json::json;

use crate::scene;

const PART: &str = "GAMBREL_LEDGER_TEST_PART";
const DIR: &str = "GAMBREL_LEDGER_TEST_DIR";
const READY: &str = "the part is played";

/// A started copy; killed when dropped.
pub(crate) struct Another {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Another {
    pub(crate) fn start(part: &str, dir: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "another_process::plays_its_part", "--nocapture"])
            .env(PART, part)
            .env(DIR, dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Reads its output until it says that it is ready.
    pub(crate) fn wait_until_ready(&mut self) {
        let mut line = String::new();
        while !line.contains(READY) {
            line.clear();
            assert_ne!(self.out.read_line(&mut line).unwrap(), 0, "it ended before it was ready");
        }
    }

    /// Kills it and leaves it unreaped.
    pub(crate) fn strike(&mut self) {
        self.child.kill().unwrap();
    }

    pub(crate) fn kill(&mut self) {
        self.strike();
        self.child.wait().unwrap();
    }

    pub(crate) fn finish(mut self) {
        drop(self.child.stdin.take());
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success(), "{rest}");
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
    let ledger = scene::ledger(Path::new(&dir));
    let (verb, rest) = part.split_once(' ').unwrap();
    match verb {
        "write" => {
            for number in 0..50 {
                let id = format!("{rest}-{number}");
                ledger
                    .append_journal(&[scene::record(&id, FiringPhase::Finished, json!(number))])
                    .unwrap();
            }
        }
        "count" => {
            for _ in 0..rest.parse().unwrap() {
                let mut once = |state: &mut gambrel_model::ledger::SessionState| {
                    *state.counts.entry("n".to_owned()).or_default() += 1;
                };
                ledger.update_session("shared", &mut once).unwrap();
            }
        }
        "accept" => {
            ledger
                .append_journal(&[scene::record(rest, FiringPhase::Accepted, json!({}))])
                .unwrap();
        }
        "take" => loop {
            ledger.take_in().unwrap();
            println!("{READY}");
        },
        other => panic!("no such part: {other}"),
    }
    println!("\n{READY}");
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}
