//! Whatever a hook writes, memory and disk stay bounded and everything is counted.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use gambrel_model::End;

use crate::stand::Stand;

const MEGABYTES: u64 = 300;

#[test]
fn caps_a_gigabyte_of_output() {
    let stand = Stand::new();
    let mut call = stand.sh(&format!("head -c {} /dev/zero; printf end", MEGABYTES << 20));
    call.limits.timeout = std::time::Duration::from_secs(60);
    // In a process of its own, so that its memory can be told from that of other tests.
    let mut host = stand.host(&call, None);
    let mut most = 0;
    while host.try_wait().unwrap().is_none() {
        most = most.max(resident(host.id()));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let outcome = stand.outcome(&stand.path("outcome"));
    assert_eq!(outcome.end, End::Exited(0));
    assert_eq!(outcome.stdout.total, (MEGABYTES << 20) + 3);
    assert_eq!(outcome.stdout.bytes.len(), 16 << 20);
    assert_eq!(outcome.stdout.tail.len(), 64 << 10);
    assert!(outcome.stdout.tail.ends_with(b"\0end"));
    assert!(outcome.remarks.contains(&"spill: cut at 64 MiB".to_owned()), "{:?}", outcome.remarks);
    assert!(outcome.stdout.partial, "the file is not all of it");
    let spill = fs::metadata(outcome.stdout.spill.unwrap()).unwrap();
    assert_eq!((spill.len(), spill.permissions().mode() & 0o777), (64 << 20, 0o600));
    // The host's own JSON of the outcome, four characters a byte, counts here too.
    assert!(most < 200 << 10, "{most} KiB resident");
    stand.nobody_is_left();
}

#[test]
fn keeps_what_is_only_a_little_too_long() {
    let stand = Stand::new();
    let outcome = stand.run(&stand.sh("head -c 1050000 /dev/zero"));
    assert_eq!(outcome.stdout.bytes.len(), 1_050_000);
    assert!(!outcome.stdout.is_truncated() && outcome.stdout.spill.is_none());
    stand.nobody_is_left();
}

#[test]
fn spills_from_the_first_byte() {
    let stand = Stand::new();
    let outcome = stand.run(&stand.sh("seq 1 4000000"));
    assert!(!outcome.stdout.partial);
    let all = fs::read_to_string(outcome.stdout.spill.as_ref().unwrap()).unwrap();
    assert_eq!(all.len() as u64, outcome.stdout.total);
    assert!(all.starts_with("1\n2\n3\n") && all.ends_with("3999999\n4000000\n"));
    stand.nobody_is_left();
}

fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
