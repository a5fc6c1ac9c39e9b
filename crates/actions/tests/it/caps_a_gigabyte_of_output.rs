//! Memory and disk use stay bounded whatever a hook writes, and every byte is counted.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use gambrel_model::End;

use crate::hook_fixture::HookFixture;

const MEGABYTES: u64 = 300;

#[test]
fn caps_memory_and_disk_for_large_output() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call(&format!("head -c {} /dev/zero; printf end", MEGABYTES << 20));
    call.limits.timeout = std::time::Duration::from_secs(60);
    // In its own process, so that its memory is not mixed with that of other tests.
    let mut host = fixture.spawn_host(&call, None);
    let mut most = 0;
    while host.try_wait().unwrap().is_none() {
        most = most.max(resident_kib(host.id()));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let outcome = fixture.wait_for_outcome(&fixture.path("outcome"));
    assert_eq!(outcome.end, End::Exited(0));
    assert_eq!(outcome.stdout.total, (MEGABYTES << 20) + 3);
    assert_eq!(outcome.stdout.bytes.len(), 16 << 20);
    assert_eq!(outcome.stdout.tail.len(), 64 << 10);
    assert!(outcome.stdout.tail.ends_with(b"\0end"));
    assert!(outcome.remarks.contains(&"spill: cut at 64 MiB".to_owned()), "{:?}", outcome.remarks);
    assert!(outcome.stdout.partial, "the file is incomplete");
    let spill = fs::metadata(outcome.stdout.spill.unwrap()).unwrap();
    assert_eq!((spill.len(), spill.permissions().mode() & 0o777), (64 << 20, 0o600));
    // The host's own JSON of the outcome, four characters a byte, counts here too.
    assert!(most < 200 << 10, "{most} KiB resident");
    fixture.assert_no_processes_left();
}

#[test]
fn keeps_output_between_the_two_caps() {
    let fixture = HookFixture::new();
    let outcome = fixture.run(&fixture.sh_call("head -c 1050000 /dev/zero"));
    assert_eq!(outcome.stdout.bytes.len(), 1_050_000);
    assert!(!outcome.stdout.is_truncated() && outcome.stdout.spill.is_none());
    fixture.assert_no_processes_left();
}

#[test]
fn spills_the_whole_output() {
    let fixture = HookFixture::new();
    let outcome = fixture.run(&fixture.sh_call("seq 1 4000000"));
    assert!(!outcome.stdout.partial);
    let all = fs::read_to_string(outcome.stdout.spill.as_ref().unwrap()).unwrap();
    assert_eq!(all.len() as u64, outcome.stdout.total);
    assert!(all.starts_with("1\n2\n3\n") && all.ends_with("3999999\n4000000\n"));
    fixture.assert_no_processes_left();
}

fn resident_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
