//! `gambrel fire` is killed, from outside or by its own hook. The hook and its children end soon
//! after, at the latest with the next start of gambrel.

use std::process::Child;
use std::time::{Duration, Instant};

use crate::processes::{TOKEN, full_count, processes_with_command, processes_with_token};
use crate::test_project::{BASH_LS, TestProject, text, wait_until};

/// One way in which hooks outlive `fire`: a name, the command and the caller.
struct Scenario {
    name: &'static str,
    command: &'static str,
    caller: &'static str,
    /// Whether the test kills `fire`. Otherwise the hook does.
    kills: bool,
}

const LONG: &str = "sleep 1000; sleep 1000";
const SCENARIOS: [Scenario; 6] = [
    Scenario { name: "hook of Claude Code", command: LONG, caller: "claude", kills: true },
    Scenario { name: "hook of agent-pipelines", command: LONG, caller: "unified", kills: true },
    Scenario {
        name: "grandchild in its own session",
        command: "setsid sleep 1000 & sleep 1000; sleep 1000",
        caller: "claude",
        kills: true,
    },
    Scenario {
        name: "grandchild of agent-pipelines",
        command: "setsid sleep 1000 & sleep 1000; sleep 1000",
        caller: "unified",
        kills: true,
    },
    Scenario {
        name: "hook that kills its parent",
        command: "kill -9 $PPID; sleep 1000; sleep 1000",
        caller: "claude",
        kills: false,
    },
    Scenario {
        name: "the same in agent-pipelines",
        command: "kill -9 $PPID; sleep 1000; sleep 1000",
        caller: "unified",
        kills: false,
    },
];

impl Scenario {
    fn start(&self, project: &TestProject) -> Child {
        if self.caller == "claude" {
            project.guard(self.command, 600);
            return project.start(&["fire", "--from", "claude"], BASH_LS.as_bytes());
        }
        let action = format!(
            "hooks:\n  on_iteration_start:\n    - type: shell\n      await: true\n      timeout: 600\n      command: {}\n",
            serde_json::json!(self.command)
        );
        project.file(".gambrel/hooks.yaml", &action);
        let point = r#"{"hook_point":"on_iteration_start","vars":{"SESSION":"s","ITERATION":1}}"#;
        project.start(&["fire", "--from", "unified"], point.as_bytes())
    }
}

/// Counts the processes that run 2 s after the last kill, and after the next start.
fn count_left(scenario: &Scenario, index: usize, count: usize) -> (usize, usize) {
    let token = format!("killed-{}-{index}", std::process::id());
    let mut projects = Vec::new();
    for round in 0..count {
        // Its own state folder, so that no round is the next start of another.
        let project = TestProject::new().with(TOKEN, &token);
        let mut child = scenario.start(&project);
        // Every age up to 250 ms, including ages at which no hook runs yet.
        std::thread::sleep(Duration::from_millis((250 * round / count) as u64));
        if scenario.kills {
            child.kill().unwrap();
        }
        child.wait().unwrap();
        projects.push(project);
    }
    std::thread::sleep(Duration::from_secs(2));
    let later = processes_with_command(&token, "sleep").len();
    for project in &projects {
        project.run(&["list"], b"");
    }
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let left = processes_with_command(&token, "sleep").len();
        if left == 0 || Instant::now() > deadline {
            return (later, left);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn leaves_nothing_after_the_next_start() {
    let count = full_count(20, 160);
    let tables: Vec<(usize, usize)> = std::thread::scope(|scope| {
        let attacks: Vec<_> = SCENARIOS
            .iter()
            .enumerate()
            .map(|(index, scenario)| scope.spawn(move || count_left(scenario, index, count)))
            .collect();
        attacks.into_iter().map(|attack| attack.join().unwrap()).collect()
    });
    for (scenario, (later, left)) in SCENARIOS.iter().zip(&tables) {
        eprintln!(
            "{}: {count} kills, {later} left after 2 s, {left} after the next start",
            scenario.name
        );
    }
    assert!(tables.iter().all(|(_, left)| *left == 0), "{tables:?}");
}

/// The kernel kills the hook itself, which cannot ask to be detached. No later start is needed.
#[test]
fn a_hook_that_kills_its_parent_dies_with_it() {
    let token = format!("parent-{}", std::process::id());
    let project = TestProject::new().with(TOKEN, &token);
    // The hook starts no children, because those would run until the next start.
    let command = "kill -9 $PPID; while :; do :; done";
    let scenario = Scenario { name: "no children", command, caller: "unified", kills: false };
    for _ in 0..full_count(5, 50) {
        scenario.start(&project).wait().unwrap();
        // Before anything else starts.
        wait_until("it is gone", || processes_with_token(&token).is_empty());
    }
}

/// Processes of a living `fire` are no orphans, whatever starts in parallel.
#[test]
fn a_start_kills_no_hooks_of_living_processes() {
    let token = format!("living-{}", std::process::id());
    let project = TestProject::new().with(TOKEN, &token);
    project.guard("until test -e go; do sleep 0.05; done; echo late >&2; exit 2", 60);
    let living = project.start(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    wait_until("its hook runs", || !processes_with_command(&token, "until").is_empty());
    let mut killed = project.start(&["fire", "--from", "claude"], BASH_LS.as_bytes());
    wait_until("the other's runs, too", || processes_with_command(&token, "until").len() > 1);
    killed.kill().unwrap();
    killed.wait().unwrap();
    project.run(&["list"], b"");
    wait_until("only one is left", || processes_with_command(&token, "until").len() == 1);
    project.file("go", "");
    let output = living.wait_with_output().unwrap();
    assert!(text(&output.stdout).contains("deny"), "{output:?}");
}
