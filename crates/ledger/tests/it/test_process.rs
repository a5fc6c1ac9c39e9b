//! This test binary, started again as another process.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use gambrel_model::ledger::{
    Boards, FiringPhase, Journal, LedgerErrorKind, RunLog, Runs, Sessions, Task,
};
use serde_json::json;

use crate::fixture;

const MODE: &str = "GAMBREL_LEDGER_TEST_MODE";
const DIR: &str = "GAMBREL_LEDGER_TEST_DIR";
const READY: &str = "the mode is done";

/// A started copy; killed on drop.
pub(crate) struct TestProcess {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl TestProcess {
    pub(crate) fn start(mode: &str, dir: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "test_process::runs_the_selected_mode", "--nocapture"])
            .env(MODE, mode)
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

    /// Reads its output until it is ready.
    pub(crate) fn wait_until_ready(&mut self) {
        let mut line = String::new();
        while !line.contains(READY) {
            line.clear();
            assert_ne!(self.out.read_line(&mut line).unwrap(), 0, "it ended before it was ready");
        }
    }

    /// Kills it without reaping it.
    pub(crate) fn kill_without_wait(&mut self) {
        self.child.kill().unwrap();
    }

    pub(crate) fn kill(&mut self) {
        self.kill_without_wait();
        self.child.wait().unwrap();
    }

    pub(crate) fn finish(mut self) {
        drop(self.child.stdin.take());
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success(), "{rest}");
    }
}

impl Drop for TestProcess {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn stall_until_killed() {
    println!("\n{READY}");
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// Does nothing unless started by [`TestProcess::start`].
#[test]
fn runs_the_selected_mode() {
    let (Ok(mode), Some(dir)) = (std::env::var(MODE), std::env::var_os(DIR)) else { return };
    let ledger = fixture::open_ledger(Path::new(&dir));
    let (verb, rest) = mode.split_once(' ').unwrap();
    match verb {
        "write" => {
            for number in 0..50 {
                let id = format!("{rest}-{number}");
                ledger
                    .append_journal(&[fixture::new_record(
                        &id,
                        FiringPhase::Finished,
                        json!(number),
                    )])
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
                .append_journal(&[fixture::new_record(rest, FiringPhase::Accepted, json!({}))])
                .unwrap();
        }
        "lock" => {
            // Held until this process ends.
            let own = gambrel_model::ledger::ProcessOrigin::of_this_process();
            std::mem::forget(ledger.acquire_lock(rest, &own).unwrap());
        }
        "claim" => {
            for task in ledger.tasks("project").unwrap() {
                crate::ledger_contract::claim_task(&ledger, &task.id, rest);
            }
        }
        "fill" => {
            use rustix::process::{Resource, Rlimit, setrlimit};
            // The limit ends a write in the middle, like a full disk.
            let limit = Rlimit { current: Some(20), maximum: None };
            setrlimit(Resource::Fsize, limit).unwrap();
            let folder = Path::new(&dir).join(rest);
            let log = RunLog { name: rest.to_owned(), folder };
            let error = ledger.append(&log, 1, &[json!("a long line that does not fit")]);
            assert_eq!(error.unwrap_err().kind, LedgerErrorKind::StorageFull);
        }
        "stall-session" => {
            let mut stall = |state: &mut gambrel_model::ledger::SessionState| {
                state.counts.clear();
                stall_until_killed();
            };
            ledger.update_session(rest, &mut stall).unwrap();
        }
        "stall-task" => {
            let mut stall = |_: &[Task], task: &mut Task| {
                task.subject = "changed".to_owned();
                stall_until_killed();
                Ok(())
            };
            ledger.update_task("project", Some(rest), &mut stall).unwrap();
        }
        "take" => loop {
            ledger.import_journal().unwrap();
            println!("{READY}");
        },
        other => panic!("unknown mode `{other}`"),
    }
    stall_until_killed();
}
