//! Row `kill-at-write`: kill -9 at every write, sync, rename and unlink of a firing that keeps a
//! message for later, and of one that is denied.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::journal::JournalFaults;
use super::project::{TestProject, tool_event};
use super::strace::{self, Traced};
use super::{GoalState, Measured, Options};

const CALLS: &[&str] = &[
    "write",
    "pwrite64",
    "fdatasync",
    "fsync",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "unlink",
    "unlinkat",
    "ftruncate",
];
const GOAL: &str =
    "the next firing denies; journal readable; nothing acknowledged lost, nothing twice";
/// More calls than any firing makes.
const MAX_CALL_COUNT: usize = 200;

pub fn attack(options: &Options) -> anyhow::Result<Vec<Measured>> {
    let kinds = [("a stored message", true), ("a deny", false)];
    let mut rows = Vec::new();
    for (name, stores) in kinds {
        let what = format!("kill -9 at every write, sync, rename, unlink of {name}");
        rows.push(match strace::is_allowed() {
            true => kill_at_each(options, what, stores)?,
            false => Measured {
                what,
                goal: GOAL,
                count: 0,
                measured: "ptrace is not allowed".into(),
                held: GoalState::NotRun,
            },
        });
    }
    Ok(rows)
}

/// Counts of the attack so far.
#[derive(Default)]
struct KillAtWriteCounts {
    runs: usize,
    open: usize,
    undelivered: usize,
    lost: usize,
    twice: usize,
    unreadable: usize,
}

fn kill_at_each(options: &Options, what: String, stores: bool) -> anyhow::Result<Measured> {
    let mut found = KillAtWriteCounts::default();
    // Without `-f` only the firing process is killed, with it also its supervisor and hooks.
    for follow in [false, true] {
        // strace counts each system call separately.
        for call in CALLS {
            for at in 1..=MAX_CALL_COUNT {
                let traced = kill_at(options, (call, at), follow, stores, &mut found)?;
                if !traced.has_injected_fault() {
                    break;
                }
                anyhow::ensure!(
                    at < MAX_CALL_COUNT,
                    "the firing does not end within {MAX_CALL_COUNT} calls"
                );
            }
        }
    }
    let KillAtWriteCounts { runs, open, undelivered, lost, twice, unreadable } = found;
    Ok(Measured {
        what,
        goal: GOAL,
        count: runs,
        measured: format!(
            "{open} next firings open, {unreadable} journals unreadable, {lost} firings lost, \
             {undelivered} messages lost, {twice} twice"
        ),
        held: (runs > 0 && open + undelivered + lost + twice + unreadable == 0).into(),
    })
}

fn kill_at(
    options: &Options,
    (call, at): (&str, usize),
    follow: bool,
    stores: bool,
    found: &mut KillAtWriteCounts,
) -> anyhow::Result<Traced> {
    let project = TestProject::new(options)?;
    project.write_file(".claude/settings.json", &settings_with_detached_hook())?;
    let hooks = "version: 1\nhooks:\n  post_iteration:\n    - command: echo kept-message\n      \
                 pipe_output: true\n";
    project.write_file(".iteratr.hooks.yml", hooks)?;
    // Earlier firings, whose records could be lost.
    let mut acknowledged = BTreeSet::new();
    for event in [stop_event("s"), tool_event("earlier")] {
        anyhow::ensure!(project.fire(&event)?.code() == Some(0), "a firing without a fault fails");
    }
    acknowledged.insert("earlier".to_owned());

    let (session, event) = match stores {
        true => ("t", stop_event("t")),
        false => ("t", tool_event("t")),
    };
    let inject = format!("inject={call}:signal=KILL:when={at}");
    let trace_calls = format!("trace={call}");
    let mut flags = vec!["-e", &trace_calls, "-e", &inject];
    flags.extend(follow.then_some("-f"));

    let args = ["fire", "--from", "claude"];
    let traced = strace::run_traced(&project, &flags, &args, event.to_string().as_bytes())?;
    found.runs += usize::from(traced.has_injected_fault());

    let answered = match stores {
        true => traced.ended.code() == Some(0),
        false => traced.ended.denies(),
    };
    if answered {
        acknowledged.insert(session.to_owned());
    }

    found.open += usize::from(!project.fire(&tool_event("next"))?.denies());
    acknowledged.insert("next".to_owned());
    match project.read_journal() {
        Err(_) => found.unreadable += 1,
        Ok(journal) => {
            let faults = JournalFaults::find(&journal, &acknowledged);
            found.lost += faults.lost;
            found.twice += faults.twice;
        }
    }
    // The message of the untouched firing must always arrive. A killed hook sends no message.
    found.undelivered += usize::from(!is_delivered(&project, "s")?);
    if answered && stores && !follow {
        found.undelivered += usize::from(!is_delivered(&project, "t")?);
    }
    Ok(traced)
}

/// A guard, and a detached Stop hook.
fn settings_with_detached_hook() -> String {
    let guard = json!({"type": "command", "command": "echo no >&2; exit 2", "timeout": 20});
    let late = json!({"type": "command", "command": "echo late", "timeout": 20, "async": true});
    json!({"hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [guard]}],
        "Stop": [{"hooks": [late]}],
    }})
    .to_string()
}

fn stop_event(session: &str) -> Value {
    json!({"hook_event_name": "Stop", "session_id": session, "stop_hook_active": false})
}

/// Whether the stored message of a session arrives with its next prompt.
fn is_delivered(project: &TestProject, session: &str) -> anyhow::Result<bool> {
    let event = json!({"hook_event_name": "UserPromptSubmit", "session_id": session,
                       "prompt": "go on"});
    Ok(project.fire(&event)?.stdout.matches("kept-message").count() == 1)
}
