//! Two hundred slow or silent receivers delay no other hook.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http_server::HttpServer;
use crate::test_project::{BASH_LS, TestProject, text, wait_until};

const MANY: usize = 200;
/// A receiver gives up after this time.
const RECEIVER_TIMEOUT: Duration = Duration::from_secs(40);

/// Waits for a file. Returns whether it appeared.
fn wait_for_file(path: &Path) -> bool {
    let deadline = Instant::now() + RECEIVER_TIMEOUT;
    while !path.exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    path.exists()
}

#[test]
fn runs_a_command_before_two_hundred_receivers_answer() {
    let project = TestProject::new();
    let done = project.root.join("done");
    let in_time = Arc::new(AtomicBool::new(true));
    let (path, seen) = (done.clone(), Arc::clone(&in_time));
    // No receiver answers before the command has ended. A command that waits for them would never
    // end.
    let server = HttpServer::with_answer(move |_| {
        seen.fetch_and(wait_for_file(&path), Ordering::SeqCst);
        Some(200)
    });
    let request =
        |nth| json!({"type": "http", "url": server.url(&format!("/{nth}")), "timeout": 60});
    let mut hooks: Vec<Value> = (0..MANY).map(request).collect();
    hooks.push(json!({"type": "command", "command": "sleep 0.1; echo done > done.part; mv done.part done"}));
    let settings = json!({"hooks": {"PostToolUse": [{"hooks": hooks}]}});
    project.file(".claude/settings.json", &settings.to_string());
    let decision = project.decide("claude", &BASH_LS.replace("PreToolUse", "PostToolUse"));
    assert!(in_time.load(Ordering::SeqCst), "the command waited for the receivers");
    let trail = decision["trail"].as_array().unwrap();
    let ended = |word: &str| trail.iter().filter(|step| step["outcome"] == word).count();
    assert_eq!((ended("answered"), ended("exited")), (MANY, 1), "{decision}");
    assert_eq!(server.count(), MANY);
}

#[test]
fn does_not_wait_for_two_hundred_silent_receivers() {
    let project = TestProject::new();
    let over = Arc::new((Mutex::new(false), Condvar::new()));
    let end = Arc::clone(&over);
    // The receivers hold their connections until the end of the test.
    let server = HttpServer::with_answer(move |_| {
        let (over, signal) = &*end;
        let held = signal.wait_timeout_while(over.lock().unwrap(), RECEIVER_TIMEOUT, |over| !*over);
        drop(held);
        None
    });
    let message = |nth| {
        json!({"type": "webhook", "url": server.url(&format!("/{nth}")), "retries": 0,
            "timeout": 300, "body": {"text": "${SESSION}"}})
    };
    let mut hooks: Vec<Value> = (0..MANY).map(message).collect();
    hooks
        .push(json!({"type": "shell", "command": "echo ${LAST_HOOK_STATUS} > ran", "await": true}));
    let hooks = json!({"hooks": {"on_session_complete": hooks}});
    project.file(".gambrel/hooks.yaml", &hooks.to_string());
    let event = json!({"hook_point": "on_session_complete", "vars": {"SESSION": "night"}});
    let output = project.run(&["fire", "--from", "unified"], event.to_string().as_bytes());
    // `fire` returned before any receiver answered.
    assert!(!*over.0.lock().unwrap());
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    let actions = reply["actions"].as_array().unwrap();
    let started = actions.iter().filter(|action| action["status"] == "started").count();
    assert_eq!(started, MANY, "{reply} {}", text(&output.stderr));
    assert_eq!(actions[MANY]["status"], "success");
    assert_eq!(std::fs::read_to_string(project.root.join("ran")).unwrap(), "success\n");
    wait_until("every message has gone out", || server.count() == MANY);
    *over.0.lock().unwrap() = true;
    over.1.notify_all();
}
