//! `gambrel approvals`, `approve` and `deny`: lists open questions and answers them from a
//! terminal. Agents may list questions, but not answer them.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use gambrel::Gambrel;
use gambrel_engine::now_ms;
use gambrel_model::ticket::AnswerKind;
use gambrel_model::{Answer, AnswerResult, Ticket, TicketState};
use serde_json::{Value, json};

use crate::{open, printer};

/// How hooks ask questions.
const WHERE_TO_BEGIN: &str =
    "  ask:      a webhook with `await: true`; in runs also a rule with `ask`
  answer:   gambrel serve, on a page; gambrel approve or deny, here
  more:     docs/approvals.md
";
/// Maximum width of a session and of a question, so that a line fits 100 columns.
const MAX_SESSION_CHARS: usize = 18;
const MAX_TITLE_CHARS: usize = 44;
/// Maximum width of what a question is about.
const MAX_SUBJECT_CHARS: usize = 96;
/// Where answered questions are.
const EARLIER_QUESTIONS: &str = "  earlier:  gambrel approvals --all\n";

/// Arguments of `approvals`.
#[derive(Debug, Args)]
pub struct ApprovalsArgs {
    /// Include answered and expired questions.
    #[arg(long)]
    pub all: bool,
    /// Print the questions as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `approve` and `deny`.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// Answer this ticket, by id or id prefix (see `gambrel approvals`).
    pub ticket: String,
    /// Send this text with the answer.
    #[arg(short, long, value_name = "TEXT", default_value = "")]
    pub message: String,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Lists questions, newest first.
pub fn run(folder: Option<PathBuf>, args: &ApprovalsArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(open::build_setup(folder, None)?);
    let now = now_ms();
    let mut tickets = gambrel.ledger().list_tickets()?;
    tickets.retain(|ticket| args.all || ticket.state_at(now) == TicketState::Open);

    if args.json {
        printer::print_json(&tickets.iter().map(|ticket| to_json(ticket, now)).collect());
        return Ok(0);
    }

    if tickets.is_empty() {
        let (word, rest) = match args.all {
            true => ("no questions", ""),
            false => ("no open questions", EARLIER_QUESTIONS),
        };
        printer::print(&format!("{word}\n{WHERE_TO_BEGIN}{rest}"));
        return Ok(0);
    }

    let row = |ticket: &Ticket| {
        vec![
            ticket.id.clone(),
            describe_state(ticket, now),
            printer::fit_line(&ticket.session, MAX_SESSION_CHARS),
            printer::fit_line(&ticket.title, MAX_TITLE_CHARS),
        ]
    };
    let rows: Vec<Vec<String>> = tickets.iter().map(row).collect();
    let table = printer::format_table(&["TICKET", "STATE", "SESSION", "QUESTION"], &rows);
    let here = gambrel.project_folder().display().to_string();
    let subjects = tickets.iter().map(|ticket| describe_subject(ticket, &here));
    let subjects = std::iter::once(String::new()).chain(subjects);
    let lines = table.lines().zip(subjects).map(|(line, subject)| format!("{line}\n{subject}"));
    printer::print(&lines.collect::<String>());
    Ok(0)
}

/// What a question is about, on one line: its title, and the command or file that it does not name.
pub fn describe_question(ticket: &Ticket) -> String {
    let context = &ticket.context;
    let subject = if context.command.is_empty() { &context.path } else { &context.command };
    match subject.lines().next().filter(|subject| !ticket.title.contains(subject)) {
        Some(subject) => format!("{} ({subject})", ticket.title),
        None => ticket.title.clone(),
    }
}

/// What an answer is about, in lines below a question: the command or the file, why it is asked, and
/// the project if it is another one.
fn describe_subject(ticket: &Ticket, here: &str) -> String {
    let context = &ticket.context;
    let subject = if context.command.is_empty() { &context.path } else { &context.command };
    let project = match ticket.project.as_str() {
        "" => String::new(),
        project if project == here => String::new(),
        project => format!("in {project}"),
    };
    let texts = [subject, &context.why, &project].into_iter().filter(|text| !text.is_empty());
    let lines = texts.map(|text| format!("  {}\n", printer::fit_line(text, MAX_SUBJECT_CHARS)));
    lines.collect()
}

fn describe_state(ticket: &Ticket, now: u64) -> String {
    match (ticket.state_at(now), &ticket.answer) {
        (TicketState::Answered, Some(answer)) => printer::truncate_line(&answer.action, 20),
        (TicketState::Open, _) => {
            format!("open, {} left", format_duration(ticket.expires.saturating_sub(now)))
        }
        _ => "expired".into(),
    }
}

fn format_duration(milliseconds: u64) -> String {
    match milliseconds / 1_000 {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..7_200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}

fn to_json(ticket: &Ticket, now: u64) -> Value {
    json!({
        "ticket": ticket.id, "state": ticket.state_at(now), "session": ticket.session,
        "project": ticket.project, "hook": ticket.hook, "title": ticket.title,
        "shown": ticket.shown.iter().map(|(name, text)| json!({"name": name, "text": text}))
            .collect::<Vec<_>>(),
        "command": ticket.context.command, "path": ticket.context.path,
        "diff": ticket.context.diff, "why": ticket.context.why, "agent": ticket.context.agent,
        "machine": ticket.context.machine, "branch": ticket.context.branch,
        "wants": ticket.wants, "at": ticket.at, "expires": ticket.expires, "sent": ticket.sent,
        "answer": ticket.answer.as_ref().map(|answer| json!({
            "action": answer.action, "message": answer.message, "by": answer.by, "at": answer.at,
        })),
    })
}

/// Answers a ticket with yes.
pub fn approve(folder: Option<PathBuf>, args: &AnswerArgs) -> anyhow::Result<u8> {
    answer_ticket(folder, args, "approve")
}

/// Answers a ticket with no.
pub fn deny(folder: Option<PathBuf>, args: &AnswerArgs) -> anyhow::Result<u8> {
    answer_ticket(folder, args, "reject")
}

fn answer_ticket(folder: Option<PathBuf>, args: &AnswerArgs, action: &str) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(open::build_setup(folder, None)?);
    open::refuse_agents(&gambrel, "answer an approval")?;
    if action == "approve" {
        open::refuse_agent_above(&gambrel, "answer an approval")?;
    }

    let id = find_ticket(&gambrel, &args.ticket)?;
    if action == "approve" {
        check_choice(&gambrel, &id, &args.message)?;
    }

    let answer = Answer {
        action: action.to_owned(),
        message: args.message.clone(),
        body: json!({"action": action, "message": args.message}).to_string(),
        by: "person at a terminal".to_owned(),
        at: now_ms(),
    };

    let (status, recorded) = match gambrel.ledger().answer_ticket(&id, &answer)? {
        AnswerResult::Recorded(answer) => ("recorded", Some(answer)),
        AnswerResult::AlreadyAnswered(before) => ("already", Some(before)),
        AnswerResult::Expired => ("expired", None),
        AnswerResult::Unknown => ("unknown", None),
    };
    let action = recorded.as_ref().map(|answer| answer.action.as_str()).unwrap_or_default();

    if args.json {
        let message = recorded.as_ref().map(|answer| &answer.message);
        printer::print_json(&json!({
            "ticket": id, "status": status, "action": action, "message": message,
        }));
    } else {
        printer::print(&match status {
            "recorded" => format!("{id}: {action}\n"),
            "already" => {
                format!("{id}: already answered: {}\n", printer::truncate_line(action, 60))
            }
            _ => format!("{id}: no longer waits for an answer\n"),
        });
    }
    Ok(u8::from(status != "recorded"))
}

/// Checks that the answer to a question with options is one of them.
fn check_choice(gambrel: &Gambrel, id: &str, message: &str) -> anyhow::Result<()> {
    let wants = gambrel.ledger().find_ticket(id)?.map(|ticket| ticket.wants);
    if let Some(AnswerKind::Choice(options)) = wants
        && !options.iter().any(|option| option.trim() == message.trim())
    {
        let options: Vec<String> = options.iter().map(|o| printer::truncate_line(o, 60)).collect();
        bail!("`{id}` needs one of these as --message: {}", options.join(", "));
    }
    Ok(())
}

/// Finds the ticket with this id prefix. If several match, only open ones count.
fn find_ticket(gambrel: &Gambrel, name: &str) -> anyhow::Result<String> {
    let tickets = gambrel.ledger().list_tickets()?;
    let mut fits: Vec<&Ticket> = tickets.iter().filter(|t| t.id.starts_with(name)).collect();

    if fits.len() > 1 {
        let now = now_ms();
        fits.retain(|ticket| ticket.id == name || ticket.state_at(now) == TicketState::Open);
    }

    match fits.as_slice() {
        _ if name.is_empty() => bail!("name a ticket: see `gambrel approvals`"),
        [ticket] => Ok(ticket.id.clone()),
        [] => bail!("no ticket `{name}`: see `gambrel approvals`"),
        _ => bail!("several tickets start with `{name}`: give more of the id"),
    }
}
