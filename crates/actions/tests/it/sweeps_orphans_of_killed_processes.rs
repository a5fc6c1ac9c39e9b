//! The running-process file: a start kills the processes that hooks of killed processes left, and
//! no others, whatever the file holds.

use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use gambrel_model::End;

use crate::hook_fixture::{HookFixture, wait_until};

const SLOT: usize = 96;
const COUNT: usize = 128;

/// A process like one that a hook left; killed with its test.
struct Orphan(Child);

impl Orphan {
    fn with_mark(mark: &str) -> Self {
        let mut command = Command::new("sleep");
        command.arg("1000").env("GAMBREL_CALL", mark);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }

    fn is_over(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Drop for Orphan {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn file_of(entries: &[String]) -> Vec<u8> {
    let mut bytes = vec![0; SLOT];
    for entry in entries {
        let mut slot = entry.as_bytes().to_vec();
        slot.resize(SLOT, 0);
        bytes.extend(slot);
    }
    bytes
}

fn namespace() -> u64 {
    std::fs::metadata("/proc/self/ns/pid").unwrap().ino()
}

/// The id of a process that has ended.
fn dead_pid() -> u32 {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    child.id()
}

fn start_host(fixture: &HookFixture) {
    let mut command = fixture.host_command(&fixture.sh_call("exit 0"), None);
    command.env("RUNNING_FILE", fixture.path("running")).status().unwrap();
    assert_eq!(fixture.wait_for_outcome(&fixture.path("outcome")).end, End::Exited(0));
}

#[test]
fn kills_orphans_of_killed_processes_only() {
    let fixture = HookFixture::new();
    let (own, dead, here) = (std::process::id(), dead_pid(), namespace());
    let marks = ["all-1-", "one-1-7", "number-1-", "living-1-", "container-1-"];
    let marks = marks.map(|mark| format!("{own}{mark}"));
    let entries = [
        format!("{dead} {here} 1 {}\n", marks[0]),
        format!("{dead} {here} 1 {}\n", marks[1]),
        // This process has the id now; the listed process had it earlier.
        format!("{own} {here} 1 {}\n", marks[2]),
        format!("{own} {here} {} {}\n", ticks(), marks[3]),
        format!("{dead} {} 1 {}\n", here + 1, marks[4]),
    ];
    std::fs::write(fixture.path("running"), file_of(&entries)).unwrap();
    let suffixes = ["3", "", "0", "0", "0"];
    let left = marks.iter().zip(suffixes).map(|(mark, suffix)| format!("{mark}{suffix}"));
    let mut orphans: Vec<Orphan> = left.map(|mark| Orphan::with_mark(&mark)).collect();
    // Its tag only begins like the second one.
    orphans.push(Orphan::with_mark(&format!("{}1", marks[1])));
    start_host(&fixture);
    for index in [0, 1, 2] {
        wait_until("the end of an orphan", || orphans[index].is_over());
    }
    wait_until("their entries are cleared", || {
        let bytes = std::fs::read(fixture.path("running")).unwrap();
        [1, 2, 3].iter().all(|slot| bytes[slot * SLOT] == 0)
    });
    for index in [3, 4, 5] {
        assert!(!orphans[index].is_over(), "{index} is not an orphan");
    }
    fixture.assert_no_processes_left();
}

/// Now, in the kernel's ticks.
fn ticks() -> u64 {
    let up = std::fs::read_to_string("/proc/uptime").unwrap();
    (up.split(' ').next().unwrap().parse::<f64>().unwrap() * 100.0) as u64
}

#[test]
fn sweeps_orphans_of_several_starts_within_a_second() {
    let fixture = HookFixture::new();
    let mut orphans = Vec::new();
    for round in 0..3 {
        let mark = format!("{}round-{round}-", std::process::id());
        let entry = format!("{} {} 1 {mark}\n", dead_pid(), namespace());
        let mut slot = entry.into_bytes();
        slot.resize(SLOT, 0);
        let mut bytes = std::fs::read(fixture.path("running")).unwrap_or_default();
        bytes.resize(SLOT * COUNT, 0);
        bytes[SLOT * (round + 1)..SLOT * (round + 2)].copy_from_slice(&slot);
        std::fs::write(fixture.path("running"), bytes).unwrap();
        orphans.push(Orphan::with_mark(&format!("{mark}0")));
        start_host(&fixture);
    }
    for orphan in &mut orphans {
        wait_until("the end of an orphan", || orphan.is_over());
    }
    fixture.assert_no_processes_left();
}

#[test]
fn runs_hooks_with_an_invalid_running_file() {
    let fixture = HookFixture::new();
    let noise: Vec<u8> = (0..20_000_u32).map(|at| (at * 7 + at / 251) as u8).collect();
    for bytes in [noise.as_slice(), b"1", b"\n\n\n", &[b'9'; SLOT * COUNT]] {
        std::fs::write(fixture.path("running"), bytes).unwrap();
        start_host(&fixture);
    }
    std::fs::remove_file(fixture.path("running")).unwrap();
    std::fs::create_dir(fixture.path("running")).unwrap();
    start_host(&fixture);
    std::fs::remove_dir(fixture.path("running")).unwrap();
    let status = Command::new("mkfifo").arg(fixture.path("running")).status().unwrap();
    assert!(status.success());
    start_host(&fixture);
    fixture.assert_no_processes_left();
}

#[test]
fn removes_the_entry_at_the_end() {
    let fixture = HookFixture::new();
    let mut command =
        fixture.host_command(&fixture.sh_call("until test -e go; do sleep 0.02; done"), None);
    let mut host = command.env("RUNNING_FILE", fixture.path("running")).spawn().unwrap();
    let entries = || {
        let bytes = std::fs::read(fixture.path("running")).unwrap_or_default();
        bytes.iter().filter(|byte| **byte != 0).count()
    };
    wait_until("an entry", || entries() > 0);
    std::thread::sleep(Duration::from_millis(100));
    std::fs::write(fixture.path("go"), "").unwrap();
    host.wait().unwrap();
    assert_eq!(entries(), 0);
    fixture.assert_no_processes_left();
}
