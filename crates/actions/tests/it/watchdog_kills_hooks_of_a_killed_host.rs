//! A host that is killed leaves no processes behind.

use std::time::Duration;

use gambrel_model::WatchdogStart;

use crate::hook_fixture::{HookFixture, wait_until};

#[test]
fn kills_hooks_of_a_killed_host() {
    let fixture = HookFixture::new();
    let mut call =
        fixture.sh_call("trap '' TERM; setsid sleep 1000 & echo x > here; sleep 1000; sleep 1000");
    call.limits.timeout = Duration::from_secs(600);
    let mut host = fixture.spawn_host(&call, None);
    wait_until("the hook", || fixture.path("here").exists());
    wait_until("the watchdog", || has_watchdog(host.id()));
    // The host registers the hook right after the watchdog's start.
    std::thread::sleep(Duration::from_millis(200));
    assert!(fixture.living_pids().len() >= 5, "host, watchdog, hook and two of its own");
    host.kill().unwrap();
    host.wait().unwrap();
    fixture.assert_no_processes_left();
}

/// The hook kills its host as its first act. After a delay the watchdog would learn about it too
/// late.
#[test]
fn knows_a_hook_before_it_starts() {
    for start in [WatchdogStart::Immediately, WatchdogStart::AfterDelay] {
        let fixture = HookFixture::new();
        let mut call = fixture.sh_call("kill -s KILL $PPID; setsid sleep 1000 & exec sleep 1000");
        call.limits.watchdog = start;
        let mut host = fixture.spawn_host(&call, None);
        assert!(!host.wait().unwrap().success());
        if start == WatchdogStart::Immediately {
            fixture.assert_no_processes_left();
        } else {
            std::thread::sleep(Duration::from_secs(1));
            assert!(!fixture.living_pids().is_empty(), "nobody knew it");
        }
    }
}

#[test]
fn the_watchdog_ends_with_the_host() {
    let fixture = HookFixture::new();
    let mut host = fixture.spawn_host(&fixture.sh_call("sleep 0.6"), None);
    let mut watchdog = None;
    wait_until("the watchdog", || {
        watchdog =
            watchdog.or_else(|| children(host.id()).into_iter().find(|pid| is_watchdog(*pid)));
        watchdog.is_some()
    });
    host.wait().unwrap();
    wait_until("its end", || watchdog.is_some_and(|pid| !is_watchdog(pid)));
    fixture.assert_no_processes_left();
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
