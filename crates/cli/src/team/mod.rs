//! `gambrel team`: what the leader of a pi-teams team does with hooks.

mod args;
mod status;

use std::path::{Path, PathBuf};
use std::time::Duration;

use gambrel::{Gambrel, IdleReport, IdleResult, now_ms};
use gambrel_ledger::{TeamDir, TeamMessage};
use gambrel_model::iso_time;
use serde_json::{Value, json};

pub use args::TeamArgs;
use args::{EndedStatus, IdleArgs, TeamCommand, WatchTeamArgs};

use crate::args::UsageError;
use crate::{open, printer};

/// How often the leader looks at its mailbox.
const MAILBOX_INTERVAL: Duration = Duration::from_millis(200);
/// The wait after a failure, for example of a full disk.
const FAILURE_DELAY: Duration = Duration::from_secs(2);

/// Runs a command about a team.
pub fn run(folder: Option<PathBuf>, args: &TeamArgs) -> anyhow::Result<u8> {
    let mut setup = open::build_setup(folder, None)?;
    // Hooks end with this process, however short they ran.
    setup.share_watchdog();
    let gambrel = Gambrel::new(setup);
    match &args.command {
        TeamCommand::Idle(args) => report_idle(&gambrel, args),
        TeamCommand::Watch(args) => watch_team(&gambrel, args),
        TeamCommand::Status(args) => status::show_status(&gambrel, args),
    }
}

/// Opens the folder of a team that the user named.
pub fn open_team(gambrel: &Gambrel, dir: &Path) -> anyhow::Result<TeamDir> {
    let dir = gambrel.setup().working_dir().join(dir);
    TeamDir::open(&dir).map_err(|error| {
        let help = "name the folder of a team, with its config.json";
        UsageError(format!("{error}; {help}")).into()
    })
}

fn report_idle(gambrel: &Gambrel, args: &IdleArgs) -> anyhow::Result<u8> {
    let team = open_team(gambrel, &args.team)?;
    let report = IdleReport {
        member: args.member.clone(),
        timestamp: Some(iso_time(now_ms(), true)),
        task: args.task.clone(),
        has_failed: args.status == EndedStatus::Failed,
    };
    let done = gambrel.handle_idle(&team, &report, false)?;
    print_result(&report, &done, args.json);
    Ok(u8::from(done.has_failed))
}

/// Handles idle messages until a signal or a closed pipe ends it. A message is marked as read when
/// its hooks have run and their results are stored.
fn watch_team(gambrel: &Gambrel, args: &WatchTeamArgs) -> anyhow::Result<u8> {
    let team = open_team(gambrel, &args.team)?;
    if let Some(leader) = gambrel.team_leader(&team) {
        printer::warn(&format!(
            "gambrel: waiting for process {}, which leads the team",
            leader.pid
        ));
    }
    let _leader = gambrel.lead_team(&team)?;
    let mut last_error = String::new();
    loop {
        match handle_messages(gambrel, args) {
            Ok(Progress::Closed) => return Ok(0),
            Ok(Progress::Done { has_failed }) if args.once => return Ok(u8::from(has_failed)),
            Ok(Progress::Done { .. }) => {
                last_error.clear();
                std::thread::sleep(MAILBOX_INTERVAL);
            }
            Err(error) if args.once => return Err(error),
            Err(error) => {
                // A file that stays damaged is named once.
                let text = error.to_string();
                if text != last_error {
                    printer::warn(&format!("gambrel: {}", printer::replace_controls(&text)));
                }
                last_error = text;
                std::thread::sleep(FAILURE_DELAY);
            }
        }
    }
}

/// How far the leader came.
enum Progress {
    /// All messages that were there are handled.
    Done { has_failed: bool },
    /// Nobody reads the output any more.
    Closed,
}

fn handle_messages(gambrel: &Gambrel, args: &WatchTeamArgs) -> anyhow::Result<Progress> {
    // The configuration may have changed.
    let team = open_team(gambrel, &args.team)?;
    let is_unread = |message: &TeamMessage| !message.is_read;
    let messages = team.leader_messages()?.into_iter().filter(is_unread);
    let mut has_failed = false;
    for message in messages {
        let Some(report) = IdleReport::parse(&message.text) else { continue };
        let done = gambrel.handle_idle(&team, &report, true)?;
        team.mark_read(&message)?;
        has_failed |= done.has_failed;
        if !print_result(&report, &done, args.json) {
            return Ok(Progress::Closed);
        }
    }
    Ok(Progress::Done { has_failed })
}

/// Prints one line per hook. False if nobody reads the output any more.
fn print_result(report: &IdleReport, done: &IdleResult, is_json: bool) -> bool {
    for notice in &done.notices {
        printer::warn(&format!("gambrel: {}", printer::replace_controls(notice)));
    }
    if is_json {
        return printer::try_print(&format!("{}\n", to_json(report, done)));
    }
    let line = |hook: &gambrel::TeamHookResult| {
        let title = printer::single_line(&hook.title);
        match &hook.failure {
            None => format!("{title} passed in {}ms\n", hook.elapsed_ms),
            Some(why) => format!("{title} failed: {}\n", printer::single_line(why)),
        }
    };
    let lines: String = done.hooks.iter().map(line).collect();
    lines.is_empty() || printer::try_print(&lines)
}

fn to_json(report: &IdleReport, done: &IdleResult) -> Value {
    let hook = |hook: &gambrel::TeamHookResult| {
        json!({
            "hook": hook.title, "ok": hook.failure.is_none(), "failure": hook.failure,
            "durationMs": hook.elapsed_ms,
        })
    };
    json!({
        "member": report.member, "task": report.task, "timestamp": report.timestamp,
        "hooks": done.hooks.iter().map(hook).collect::<Vec<_>>(), "ok": !done.has_failed,
        "notices": done.notices,
    })
}
