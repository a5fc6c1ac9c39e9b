//! A run is killed at its own writes and at random moments, and resumed: each iteration is complete
//! once, no recorded hook runs again, no process is left.

use std::collections::BTreeMap;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::crash_points::can_trace;
use crate::processes::{TOKEN, full_count, processes_with_token};
use crate::run_fixture::{count_type, project_with_stage, state, trace};
use crate::test_project::{TestProject, text};

/// System calls by which a run changes files.
const SYSCALLS: [&str; 5] = ["write", "rename", "fdatasync", "fsync", "mkdir"];
const ITERATIONS: usize = 3;
/// More calls of one kind than the run makes.
const MAX_POINT_COUNT: usize = 2_000;

/// A run of three iterations with six hooks each. Every hook appends its firing and its name.
fn project_with_six_hooks(token: &str) -> TestProject {
    let stage = format!("termination: {{type: fixed, iterations: {ITERATIONS}}}");
    let project =
        project_with_stage(&stage).with(TOKEN, &format!("{token}-{}", std::process::id()));
    let shell = |name: &str| {
        let command = format!("echo \"$GAMBREL_FIRING {name}\" >> trace");
        json!({"type": "shell", "await": true, "command": command})
    };
    let hooks = json!({"hooks": {
        "on_iteration_start": [shell("start-1"), shell("start-2")],
        "on_iteration_complete": [shell("end-1"), shell("end-2"), shell("end-3")],
    }});
    project.file(".gambrel/hooks.yaml", &hooks.to_string());
    let stop = json!({"type": "command", "command": "echo \"$GAMBREL_FIRING stop\" >> trace"});
    let settings = json!({"hooks": {"Stop": [{"hooks": [stop]}]}});
    project.file(".claude/settings.json", &settings.to_string());
    project
}

/// What a killed and resumed run did.
#[derive(Default)]
struct KillCounts {
    runs: usize,
    hooks: usize,
    repeated: usize,
    /// Kills after which a process lived longer than two seconds, which happens on a busy machine.
    late: usize,
}

/// After this time a process that is left is a fault, however busy the machine is.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(20);

/// Resumes until the run is complete, and checks what it did.
fn resume_and_check(project: &TestProject, what: &str, counts: &mut KillCounts) {
    let token = &project.env.iter().find(|(name, _)| name == TOKEN).unwrap().1;
    let killed_at = Instant::now();
    while !processes_with_token(token).is_empty() {
        assert!(killed_at.elapsed() < CLEANUP_TIMEOUT, "{what}: processes are left");
        std::thread::sleep(Duration::from_millis(20));
    }
    counts.late += usize::from(killed_at.elapsed() > Duration::from_secs(2));

    let output = project.run(&["run", "work", "--resume"], b"");
    // A run that was killed after its last line is complete.
    let was_complete = text(&output.stderr).contains("is complete");
    let expected = if was_complete { 64 } else { 0 };
    assert_eq!(output.status.code(), Some(expected), "{what}: {}", text(&output.stderr));
    assert_eq!(state(project, "work")["status"], "complete", "{what}");
    assert_eq!(count_type(project, "work", "iteration_complete"), ITERATIONS, "{what}");
    let mut ran: BTreeMap<String, usize> = BTreeMap::new();
    for line in trace(project).iter().filter(|line| !line.starts_with("agent ")) {
        *ran.entry(line.clone()).or_default() += 1;
    }
    // Two hooks at the start, three at the end, and the one that can keep it going.
    assert_eq!(ran.len(), ITERATIONS * 6, "{what}: {ran:?}");
    let repeated = ran.values().map(|count| count - 1).sum::<usize>();
    // Only the hook that had ended and was not recorded yet.
    assert!(repeated <= 1, "{what}: {ran:?}");
    counts.runs += 1;
    counts.hooks += ran.len();
    counts.repeated += repeated;
}

/// Runs a command, and kills it when it is about to make the `nth` call of that name.
pub fn run_killed_at(project: &TestProject, args: &[&str], call: &str, nth: usize) -> Output {
    let inject = format!("inject={call}:signal=SIGKILL:when={nth}");
    let mut command = Command::new("strace");
    command.args(["-o", "/dev/null", "-e", &inject, crate::test_project::program()]);
    command.args(args).env_clear().envs(project.env.clone());
    command.current_dir(&project.root).stdin(Stdio::null());
    command.output().unwrap()
}

#[test]
fn killed_at_each_write_it_continues() {
    if !can_trace() {
        return;
    }
    let step = full_count(5, 1);
    let mut counts = KillCounts::default();
    for call in SYSCALLS {
        let mut nth = 1;
        while nth < MAX_POINT_COUNT {
            let project = project_with_six_hooks(&format!("run-kill-{call}-{nth}"));
            let output = run_killed_at(&project, &["run", "work"], call, nth);
            if output.status.code() == Some(0) {
                break;
            }
            resume_and_check(&project, &format!("{call} {nth}"), &mut counts);
            nth += step;
        }
    }
    assert!(counts.runs > 20, "only {} points were found", counts.runs);
    print_counts("at writes", &counts);
}

#[test]
fn killed_at_random_moments_it_continues() {
    let mut counts = KillCounts::default();
    let mut seed = 12_u64;
    for nth in 0..full_count(20, 1_000) {
        // A small generator, so that a failure can be repeated.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let pause = Duration::from_micros((seed >> 33) % 250_000);
        let project = project_with_six_hooks(&format!("run-kill-random-{nth}"));
        let mut child = project.start(&["run", "work"], b"");
        std::thread::sleep(pause);
        child.kill().unwrap();
        let ended = child.wait().unwrap();
        if ended.code() == Some(0) {
            continue;
        }
        resume_and_check(&project, &format!("after {pause:?}"), &mut counts);
    }
    print_counts("at random moments", &counts);
}

fn print_counts(what: &str, counts: &KillCounts) {
    let KillCounts { runs, hooks, repeated, late } = counts;
    eprintln!(
        "killed {what}: {runs} runs, {} iterations, {hooks} hooks, {repeated} repeated after an \
         unrecorded end, processes left after 2 s: {late}, at the end: 0",
        runs * ITERATIONS
    );
}
