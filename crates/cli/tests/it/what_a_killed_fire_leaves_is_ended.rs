//! `gambrel fire` is killed without warning, or by its own hook: what the hook and its children do
//! then ends after a moment, and at the latest with the next start of gambrel.

use std::process::Child;
use std::time::{Duration, Instant};

use crate::ground::{BASH_LS, Ground, text, until};
use crate::processes::{TOKEN, carrying, full_count, with_command};

/// A way in which hooks go on without us: a name, the files, the caller and its event.
struct Way {
    name: &'static str,
    command: &'static str,
    caller: &'static str,
    /// Whether `fire` is killed from outside; else the hook does it.
    kills: bool,
}

const LONG: &str = "sleep 1000; sleep 1000";
const WAYS: [Way; 6] = [
    Way { name: "hook of Claude Code", command: LONG, caller: "claude", kills: true },
    Way { name: "hook of agent-pipelines", command: LONG, caller: "unified", kills: true },
    Way {
        name: "grandchild in its own session",
        command: "setsid sleep 1000 & sleep 1000; sleep 1000",
        caller: "claude",
        kills: true,
    },
    Way {
        name: "grandchild of agent-pipelines",
        command: "setsid sleep 1000 & sleep 1000; sleep 1000",
        caller: "unified",
        kills: true,
    },
    Way {
        name: "hook that kills its parent",
        command: "kill -9 $PPID; sleep 1000; sleep 1000",
        caller: "claude",
        kills: false,
    },
    Way {
        name: "the same in agent-pipelines",
        command: "kill -9 $PPID; sleep 1000; sleep 1000",
        caller: "unified",
        kills: false,
    },
];

impl Way {
    fn start(&self, ground: &Ground) -> Child {
        if self.caller == "claude" {
            ground.guard(self.command, 600);
            return ground.start(&["fire", "--from", "claude"], BASH_LS.as_bytes());
        }
        let action = format!(
            "hooks:\n  on_iteration_start:\n    - type: shell\n      await: true\n      timeout: 600\n      command: {}\n",
            serde_json::json!(self.command)
        );
        ground.file(".gambrel/hooks.yaml", &action);
        let point = r#"{"hook_point":"on_iteration_start","vars":{"SESSION":"s","ITERATION":1}}"#;
        ground.start(&["fire", "--from", "unified"], point.as_bytes())
    }
}

/// How many processes run 2 s after the last kill, and after the next start.
fn attack(way: &Way, index: usize, count: usize) -> (usize, usize) {
    let token = format!("killed-{}-{index}", std::process::id());
    let mut grounds = Vec::new();
    for round in 0..count {
        // Each with a state of its own, so that no round is the next start of another.
        let ground = Ground::new().with(TOKEN, &token);
        let mut child = way.start(&ground);
        // Every age up to 250 ms, also that at which no hook runs yet.
        std::thread::sleep(Duration::from_millis((250 * round / count) as u64));
        if way.kills {
            child.kill().unwrap();
        }
        child.wait().unwrap();
        grounds.push(ground);
    }
    std::thread::sleep(Duration::from_secs(2));
    let later = with_command(&token, "sleep").len();
    for ground in &grounds {
        ground.run(&["list"], b"");
    }
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let left = with_command(&token, "sleep").len();
        if left == 0 || Instant::now() > deadline {
            return (later, left);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn nothing_is_left_after_the_next_start() {
    let count = full_count(20, 160);
    let tables: Vec<(usize, usize)> = std::thread::scope(|scope| {
        let attacks: Vec<_> = WAYS
            .iter()
            .enumerate()
            .map(|(index, way)| scope.spawn(move || attack(way, index, count)))
            .collect();
        attacks.into_iter().map(|attack| attack.join().unwrap()).collect()
    });
    for (way, (later, left)) in WAYS.iter().zip(&tables) {
        eprintln!(
            "{}: {count} kills, {later} left after 2 s, {left} after the next start",
            way.name
        );
    }
    assert!(tables.iter().all(|(_, left)| *left == 0), "{tables:?}");
}

/// The kernel ends the hook itself, where it cannot ask to go on alone: nobody has to start again.
#[test]
fn a_hook_that_kills_its_parent_dies_with_it() {
    let token = format!("parent-{}", std::process::id());
    let ground = Ground::new().with(TOKEN, &token);
    // It starts nothing: its own children would go on until the next start.
    let command = "kill -9 $PPID; while :; do :; done";
    let way = Way { name: "no children", command, caller: "unified", kills: false };
    for _ in 0..full_count(5, 50) {
        way.start(&ground).wait().unwrap();
        // Before anything else starts.
        until("it is gone", || carrying(&token).is_empty());
    }
}

/// What runs under a living process is nobody's orphan, whoever starts beside it.
#[test]
fn a_start_ends_nothing_of_those_that_run() {
    let token = format!("living-{}", std::process::id());
    let ground = Ground::new().with(TOKEN, &token);
    ground.guard("until test -e go; do sleep 0.05; done; echo late >&2; exit 2", 60);
    let living = ground.start(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    until("its hook runs", || !with_command(&token, "until").is_empty());
    let mut killed = ground.start(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    until("the other's runs, too", || with_command(&token, "until").len() > 1);
    killed.kill().unwrap();
    killed.wait().unwrap();
    ground.run(&["list"], b"");
    until("only one is left", || with_command(&token, "until").len() == 1);
    ground.file("go", "");
    let output = living.wait_with_output().unwrap();
    assert!(text(&output.stdout).contains("deny"), "{output:?}");
}
