//! A host that kills us without warning leaves nothing behind.

use std::time::Duration;

use crate::stand::{Stand, eventually};

#[test]
fn the_watchdog_kills_after_kill_nine() {
    let stand = Stand::new();
    let mut call =
        stand.sh("trap '' TERM; setsid sleep 1000 & echo x > here; sleep 1000; sleep 1000");
    call.limits.timeout = Duration::from_secs(600);
    let mut host = stand.host(&call, None);
    eventually("the hook", || stand.path("here").exists());
    eventually("the watchdog", || has_watchdog(host.id()));
    // It is told of the hook right after its start, before anything else can happen here.
    std::thread::sleep(Duration::from_millis(200));
    assert!(stand.living().len() >= 5, "host, watchdog, hook and two of its own");
    host.kill().unwrap();
    host.wait().unwrap();
    stand.nobody_is_left();
}

#[test]
fn the_watchdog_ends_with_its_host() {
    let stand = Stand::new();
    let mut host = stand.host(&stand.sh("sleep 0.6"), None);
    let mut watchdog = None;
    eventually("the watchdog", || {
        watchdog =
            watchdog.or_else(|| children(host.id()).into_iter().find(|pid| is_watchdog(*pid)));
        watchdog.is_some()
    });
    host.wait().unwrap();
    eventually("its end", || watchdog.is_some_and(|pid| !is_watchdog(pid)));
    stand.nobody_is_left();
}

fn has_watchdog(host: u32) -> bool {
    children(host).into_iter().any(is_watchdog)
}

fn children(pid: u32) -> Vec<u32> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    list.unwrap_or_default().split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

fn is_watchdog(pid: u32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.ends_with(b"__watchdog\0")
}
