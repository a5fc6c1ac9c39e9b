//! Row `kill-at-write`: kill -9 at every write, sync, rename and unlink of a firing that keeps a
//! message for later, and of one that is denied.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::journal::JournalFaults;
use super::project::{TestProject, tool_event};
use super::strace::{self, Traced};
use super::{Held, Measured, Options};

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
/// No firing here makes as many of these calls.
const MOST: usize = 200;

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
                held: Held::NotRun,
            },
        });
    }
    Ok(rows)
}

/// What the attack has found so far.
#[derive(Default)]
struct Found {
    runs: usize,
    open: usize,
    undelivered: usize,
    lost: usize,
    twice: usize,
    unreadable: usize,
}

fn kill_at_each(options: &Options, what: String, stores: bool) -> anyhow::Result<Measured> {
    let mut found = Found::default();
    // Alone: only the firing process is killed. With `-f`: also its supervisor and its hooks.
    for follow in [false, true] {
        // strace counts the uses of each call by themselves.
        for call in CALLS {
            for at in 1..=MOST {
                let traced = kill_at(options, (call, at), follow, stores, &mut found)?;
                if !traced.was_touched() {
                    break;
                }
                anyhow::ensure!(at < MOST, "the firing does not come to its end in {MOST} calls");
            }
        }
    }
    let Found { runs, open, undelivered, lost, twice, unreadable } = found;
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
    found: &mut Found,
) -> anyhow::Result<Traced> {
    let project = TestProject::new(options)?;
    project.write(".claude/settings.json", &settings_with_detached_hook())?;
    let hooks = "version: 1\nhooks:\n  post_iteration:\n    - command: echo kept-message\n      \
                 pipe_output: true\n";
    project.write(".iteratr.hooks.yml", hooks)?;
    // Files of earlier firings are there to be lost.
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
    let traced = strace::trace(&project, &flags, &args, event.to_string().as_bytes())?;
    found.runs += usize::from(traced.was_touched());
    let answered = match stores {
        true => traced.ended.code() == Some(0),
        false => traced.ended.denies(),
    };
    if answered {
        acknowledged.insert(session.to_owned());
    }
    found.open += usize::from(!project.fire(&tool_event("next"))?.denies());
    acknowledged.insert("next".to_owned());
    match project.journal() {
        Err(_) => found.unreadable += 1,
        Ok(journal) => {
            let faults = JournalFaults::find(&journal, &acknowledged);
            found.lost += faults.lost;
            found.twice += faults.twice;
        }
    }
    // What the untouched firing stored must be there in any case. A hook that was killed itself
    // says nothing.
    found.undelivered += usize::from(!is_delivered(&project, "s")?);
    if answered && stores && !follow {
        found.undelivered += usize::from(!is_delivered(&project, "t")?);
    }
    Ok(traced)
}

/// A guard, and a hook of Stop that a supervisor runs and records.
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

/// Whether the message that the Stop of a session left comes with its next prompt.
fn is_delivered(project: &TestProject, session: &str) -> anyhow::Result<bool> {
    let event = json!({"hook_event_name": "UserPromptSubmit", "session_id": session,
                       "prompt": "go on"});
    Ok(project.fire(&event)?.stdout.matches("kept-message").count() == 1)
}
