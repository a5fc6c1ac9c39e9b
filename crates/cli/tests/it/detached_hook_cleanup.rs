//! Leftovers of a detached hook end with the hook's timeout, and also when its supervisor is
//! killed.

use std::time::{Duration, Instant};

use crate::processes::{full_count, kill, processes_with_command, processes_with_token};
use crate::test_project::{BASH_LS, TestProject, wait_until};

fn detach(project: &TestProject, command: &str, timeout: u32) {
    let hook = serde_json::json!({"type": "command", "command": command, "timeout": timeout, "async": true});
    let settings = serde_json::json!({"hooks": {"PostToolUse": [{"hooks": [hook]}]}});
    project.file(".claude/settings.json", &settings.to_string());
    let decision = project.decide("claude", &BASH_LS.replace("PreToolUse", "PostToolUse"));
    assert_eq!(decision["trail"][0]["outcome"], "detached");
}

#[test]
fn kills_leftovers_at_the_hooks_timeout() {
    for round in 0..full_count(2, 10) {
        let token = format!("left-{}-{round}", std::process::id());
        let project = TestProject::new().with("GAMBREL_TEST_TOKEN", &token);
        detach(
            &project,
            "(trap '' TERM; sleep 1000; sleep 1000) >/dev/null 2>&1 & echo x > ran",
            2,
        );
        let began = Instant::now();
        wait_until("it has run", || project.root.join("ran").exists());
        wait_until("the leftover runs", || !processes_with_command(&token, "sleep").is_empty());
        wait_until("the leftover has ended", || processes_with_token(&token).is_empty());
        let took = began.elapsed();
        assert!(took > Duration::from_millis(1_000), "ended before its time: {took:?}");
        assert!(took < Duration::from_secs(8), "{took:?}");
    }
}

#[test]
fn leaves_nothing_when_the_supervisor_is_killed() {
    for round in 0..full_count(6, 60) {
        let token = format!("supervisor-{}-{round}", std::process::id());
        let project = TestProject::new().with("GAMBREL_TEST_TOKEN", &token);
        detach(&project, "(setsid sleep 1000 &) ; (sleep 1000 &) ; sleep 1000", 600);
        std::thread::sleep(Duration::from_millis(10 * round as u64));
        let supervisors = processes_with_command(&token, "__supervise");
        assert_eq!(supervisors.len(), 1, "{round}");
        supervisors.into_iter().for_each(kill);
        wait_until("everything is ended", || processes_with_token(&token).is_empty());
    }
}
