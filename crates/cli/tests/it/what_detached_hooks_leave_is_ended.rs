//! What a hook that nobody waits for leaves running ends with the hook's time, and also when the
//! process that looks after it is killed.

use std::time::{Duration, Instant};

use crate::ground::{BASH_LS, Ground, until};
use crate::processes::{carrying, full_count, kill, with_command};

fn detach(ground: &Ground, command: &str, timeout: u32) {
    let hook = serde_json::json!({"type": "command", "command": command, "timeout": timeout, "async": true});
    let settings = serde_json::json!({"hooks": {"PostToolUse": [{"hooks": [hook]}]}});
    ground.file(".claude/settings.json", &settings.to_string());
    let decision = ground.decide("claude", &BASH_LS.replace("PreToolUse", "PostToolUse"));
    assert_eq!(decision["trail"][0]["outcome"], "detached");
}

#[test]
fn what_it_leaves_running_ends_with_its_time() {
    for round in 0..full_count(2, 10) {
        let token = format!("left-{}-{round}", std::process::id());
        let ground = Ground::new().with("GAMBREL_TEST_TOKEN", &token);
        detach(&ground, "(trap '' TERM; sleep 1000; sleep 1000) >/dev/null 2>&1 & echo x > ran", 2);
        let began = Instant::now();
        until("it has run", || ground.root.join("ran").exists());
        until("what it left runs", || !with_command(&token, "sleep").is_empty());
        until("what it left is ended", || carrying(&token).is_empty());
        let took = began.elapsed();
        assert!(took > Duration::from_millis(1_000), "ended before its time: {took:?}");
        assert!(took < Duration::from_secs(8), "{took:?}");
    }
}

#[test]
fn nothing_is_left_when_its_supervisor_is_killed() {
    for round in 0..full_count(6, 60) {
        let token = format!("supervisor-{}-{round}", std::process::id());
        let ground = Ground::new().with("GAMBREL_TEST_TOKEN", &token);
        detach(&ground, "(setsid sleep 1000 &) ; (sleep 1000 &) ; sleep 1000", 600);
        std::thread::sleep(Duration::from_millis(10 * round as u64));
        let supervisors = with_command(&token, "__supervise");
        assert_eq!(supervisors.len(), 1, "{round}");
        supervisors.into_iter().for_each(kill);
        until("everything is ended", || carrying(&token).is_empty());
    }
}
