//! Two hundred receivers that take their time, or never answer, hold up no other hook.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::ground::{BASH_LS, Ground, text, until};
use crate::mailbox::Mailbox;

const MANY: usize = 200;
/// How long a receiver holds out before it gives the test up.
const PATIENCE: Duration = Duration::from_secs(40);

/// Waits for a file and says whether it came.
fn appears(path: &Path) -> bool {
    let deadline = Instant::now() + PATIENCE;
    while !path.exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    path.exists()
}

#[test]
fn a_command_is_done_before_the_first_of_two_hundred_answers() {
    let ground = Ground::new();
    let done = ground.root.join("done");
    let in_time = Arc::new(AtomicBool::new(true));
    let (path, seen) = (done.clone(), Arc::clone(&in_time));
    // No receiver answers before the command has ended: one that waited for them would never end.
    let mailbox = Mailbox::answering(move |_| {
        seen.fetch_and(appears(&path), Ordering::SeqCst);
        Some(200)
    });
    let request =
        |nth| json!({"type": "http", "url": mailbox.url(&format!("/{nth}")), "timeout": 60});
    let mut hooks: Vec<Value> = (0..MANY).map(request).collect();
    hooks.push(json!({"type": "command", "command": "sleep 0.1; echo done > done.part; mv done.part done"}));
    let settings = json!({"hooks": {"PostToolUse": [{"hooks": hooks}]}});
    ground.file(".claude/settings.json", &settings.to_string());
    let decision = ground.decide("claude", &BASH_LS.replace("PreToolUse", "PostToolUse"));
    assert!(in_time.load(Ordering::SeqCst), "the command waited for the receivers");
    let trail = decision["trail"].as_array().unwrap();
    let ended = |word: &str| trail.iter().filter(|step| step["outcome"] == word).count();
    assert_eq!((ended("answered"), ended("exited")), (MANY, 1), "{decision}");
    assert_eq!(mailbox.count(), MANY);
}

#[test]
fn nobody_waits_for_two_hundred_messages_that_are_never_answered() {
    let ground = Ground::new();
    let over = Arc::new((Mutex::new(false), Condvar::new()));
    let end = Arc::clone(&over);
    // They hold their connections until the test has seen enough.
    let mailbox = Mailbox::answering(move |_| {
        let (over, bell) = &*end;
        let held = bell.wait_timeout_while(over.lock().unwrap(), PATIENCE, |over| !*over);
        drop(held);
        None
    });
    let message = |nth| {
        json!({"type": "webhook", "url": mailbox.url(&format!("/{nth}")), "retries": 0,
            "timeout": 300, "body": {"text": "${SESSION}"}})
    };
    let mut hooks: Vec<Value> = (0..MANY).map(message).collect();
    hooks
        .push(json!({"type": "shell", "command": "echo ${LAST_HOOK_STATUS} > ran", "await": true}));
    let hooks = json!({"hooks": {"on_session_complete": hooks}});
    ground.file(".gambrel/hooks.yaml", &hooks.to_string());
    let event = json!({"hook_point": "on_session_complete", "vars": {"SESSION": "night"}});
    let output = ground.run(&["fire", "--from", "unified"], event.to_string().as_bytes());
    // Nobody has been answered: it came back without them.
    assert!(!*over.0.lock().unwrap());
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    let actions = reply["actions"].as_array().unwrap();
    let started = actions.iter().filter(|action| action["status"] == "started").count();
    assert_eq!(started, MANY, "{reply} {}", text(&output.stderr));
    assert_eq!(actions[MANY]["status"], "success");
    assert_eq!(std::fs::read_to_string(ground.root.join("ran")).unwrap(), "success\n");
    until("every message has gone out", || mailbox.count() == MANY);
    *over.0.lock().unwrap() = true;
    over.1.notify_all();
}
