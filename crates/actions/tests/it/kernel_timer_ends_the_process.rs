//! The kernel's timer ends the process by SIGALRM, also where its parent ignores that signal.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::{Duration, Instant};

const ARMED: &str = "GAMBREL_TEST_ARMED";
const NAME: &str = "kernel_timer_ends_the_process::ends_a_process_that_hangs";

#[test]
fn ends_a_process_that_hangs() {
    if std::env::var_os(ARMED).is_some() {
        gambrel_actions::end_process_after(Duration::from_secs(60));
        gambrel_actions::end_process_after(Duration::from_millis(200));
        std::thread::sleep(Duration::from_secs(60));
        return;
    }
    let own = std::env::current_exe().unwrap();
    let began = Instant::now();
    let line = "trap '' ALRM; exec \"$0\" --exact \"$1\" --nocapture";
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).arg(own).arg(NAME).env(ARMED, "1");
    let status = shell.output().unwrap().status;
    assert_eq!(status.signal(), Some(14), "{status}");
    assert!(began.elapsed() < Duration::from_secs(30));
}
