//! `gambrel team status`: members, tasks and the last quality gates of a team.

use gambrel::Gambrel;
use gambrel_ledger::{TeamDir, TeamMember};
use gambrel_model::iso_time;
use gambrel_model::ledger::Task;
use gambrel_runner::status_word;
use serde_json::{Value, json};

use super::args::TeamStatusArgs;
use super::open_team;
use crate::printer;

const MAX_SUBJECT_WIDTH: usize = 50;

/// Shows a team.
pub(super) fn show_status(gambrel: &Gambrel, args: &TeamStatusArgs) -> anyhow::Result<u8> {
    let team = open_team(gambrel, &args.team)?;
    let (tasks, errors) = team.read_tasks()?;
    let leader = gambrel.team_leader(&team).map(|origin| origin.pid);
    let unread = team.leader_messages()?.iter().filter(|message| !message.is_read).count();
    if args.json {
        let damaged: Vec<String> = errors.iter().map(ToString::to_string).collect();
        printer::print_json(&json!({
            "team": team.id, "dir": team.dir, "taskListId": team.list, "lead": team.lead,
            "watchedBy": leader, "unreadMessages": unread, "damaged": damaged,
            "members": team.members.iter().map(member_json).collect::<Vec<_>>(),
            "tasks": tasks.iter().map(task_json).collect::<Vec<_>>(),
        }));
        return Ok(0);
    }
    let watched =
        leader.map_or("nobody watches it".to_owned(), |pid| format!("process {pid} watches it"));
    let unread = printer::format_quantity(unread, "unread message");
    let mut text = format!(
        "team {} ({}), led by {}; {watched}; {unread} for the leader\n",
        printer::single_line(&team.id),
        team.dir.display(),
        printer::single_line(&team.lead),
    );
    text.push_str(&describe_members(&team));
    text.push_str(&describe_tasks(&tasks));
    printer::print(&text);
    for error in &errors {
        printer::warn(&format!("gambrel: {}", printer::replace_controls(&error.to_string())));
    }
    Ok(0)
}

fn describe_members(team: &TeamDir) -> String {
    if team.members.is_empty() {
        return "\nno members\n".to_owned();
    }
    let row = |member: &TeamMember| {
        let seen = member.last_seen.as_deref().unwrap_or("never");
        [&member.name, &member.role, &member.status, seen].map(printer::single_line).to_vec()
    };
    let rows: Vec<Vec<String>> = team.members.iter().map(row).collect();
    format!("\n{}", printer::format_table(&["MEMBER", "ROLE", "STATUS", "LAST SEEN"], &rows))
}

fn describe_tasks(tasks: &[Task]) -> String {
    if tasks.is_empty() {
        return "\nno tasks\n".to_owned();
    }
    let row = |task: &Task| {
        let gate =
            [gate_field(task, "Status"), gate_field(task, "At"), gate_field(task, "Summary")];
        vec![
            task.id.clone(),
            status_word(task.status).to_owned(),
            printer::single_line(task.owner.as_deref().unwrap_or_default()),
            iso_time(task.updated, false),
            printer::single_line(&gate.map(Option::unwrap_or_default).join(" ")).trim().to_owned(),
            printer::truncate_line(&task.subject, MAX_SUBJECT_WIDTH),
        ]
    };
    let rows: Vec<Vec<String>> = tasks.iter().map(row).collect();
    let head = ["TASK", "STATUS", "OWNER", "CHANGED", "LAST GATE", "SUBJECT"];
    format!("\n{}", printer::format_table(&head, &rows))
}

/// A text of the last quality gate of a task.
fn gate_field<'t>(task: &'t Task, key: &str) -> Option<&'t str> {
    task.metadata.get(&format!("qualityGate{key}"))?.as_str()
}

fn member_json(member: &TeamMember) -> Value {
    json!({
        "name": member.name, "role": member.role, "status": member.status,
        "lastSeenAt": member.last_seen,
    })
}

fn task_json(task: &Task) -> Value {
    json!({
        "id": task.id, "subject": task.subject, "status": status_word(task.status),
        "owner": task.owner, "updatedAt": task.updated,
        "gate": {
            "status": gate_field(task, "Status"), "at": gate_field(task, "At"),
            "summary": gate_field(task, "Summary"), "hook": gate_field(task, "Hook"),
        },
    })
}
