//! `gambrel approvals`, `approve` and `deny`: the questions that wait for a person, and a person's
//! answer from a terminal. An agent may look; it may not answer.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use gambrel::Gambrel;
use gambrel::model::ticket::AnswerKind;
use gambrel::model::{Answer, AnswerResult, Ticket, TicketState};
use gambrel_engine::now_ms;
use serde_json::{Value, json};

use crate::{look, printer};

/// `approvals`.
#[derive(Debug, Args)]
pub struct ApprovalsArgs {
    /// Those that are answered or expired as well.
    #[arg(long)]
    pub all: bool,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

/// `approve` and `deny`.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// The ticket, or the beginning of its name (see `gambrel approvals`).
    pub ticket: String,
    /// Words for whoever waits.
    #[arg(short, long, value_name = "TEXT", default_value = "")]
    pub message: String,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

/// Lists questions, newest first.
pub fn run(folder: Option<PathBuf>, args: &ApprovalsArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(look::setup(folder, None)?);
    let now = now_ms();
    let mut tickets = gambrel.ledger().tickets()?;
    tickets.retain(|ticket| args.all || ticket.state_at(now) == TicketState::Open);
    if args.json {
        printer::json(&tickets.iter().map(|ticket| to_json(ticket, now)).collect());
        return Ok(0);
    }
    if tickets.is_empty() {
        printer::out("nothing waits for an answer\n");
        return Ok(0);
    }
    let row = |ticket: &Ticket| {
        let cells = [ticket.id.clone(), state(ticket, now), ticket.session.clone()];
        let rest = [&ticket.title, &ticket.project].map(|text| printer::line(text, 60));
        cells.into_iter().chain(rest).collect()
    };
    let rows: Vec<Vec<String>> = tickets.iter().map(row).collect();
    printer::out(&printer::table(&["TICKET", "STATE", "SESSION", "WHAT", "PROJECT"], &rows));
    Ok(0)
}

fn state(ticket: &Ticket, now: u64) -> String {
    match (ticket.state_at(now), &ticket.answer) {
        (TicketState::Answered, Some(answer)) => printer::line(&answer.action, 20),
        (TicketState::Open, _) => {
            format!("open, {} left", span(ticket.expires.saturating_sub(now)))
        }
        _ => "expired".into(),
    }
}

fn span(milliseconds: u64) -> String {
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
        "wants": ticket.wants, "at": ticket.at, "expires": ticket.expires, "sent": ticket.sent,
        "answer": ticket.answer.as_ref().map(|answer| json!({
            "action": answer.action, "message": answer.message, "by": answer.by, "at": answer.at,
        })),
    })
}

/// Says yes.
pub fn approve(folder: Option<PathBuf>, args: &AnswerArgs) -> anyhow::Result<u8> {
    answer(folder, args, "approve")
}

/// Says no.
pub fn deny(folder: Option<PathBuf>, args: &AnswerArgs) -> anyhow::Result<u8> {
    answer(folder, args, "reject")
}

fn answer(folder: Option<PathBuf>, args: &AnswerArgs, action: &str) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(look::setup(folder, None)?);
    look::refuse_agents(&gambrel, "answer an approval")?;
    if action == "approve" {
        look::refuse_agent_above(&gambrel, "answer an approval")?;
    }
    let id = found(&gambrel, &args.ticket)?;
    if action == "approve" {
        fits(&gambrel, &id, &args.message)?;
    }
    let answer = Answer {
        action: action.to_owned(),
        message: args.message.clone(),
        body: json!({"action": action, "message": args.message}).to_string(),
        by: "person at a terminal".to_owned(),
        at: now_ms(),
    };
    let (status, told) = match gambrel.ledger().answer_ticket(&id, &answer)? {
        AnswerResult::Recorded(answer) => ("recorded", Some(answer)),
        AnswerResult::AlreadyAnswered(before) => ("already", Some(before)),
        AnswerResult::Expired => ("expired", None),
        AnswerResult::Unknown => ("unknown", None),
    };
    let action = told.as_ref().map(|answer| answer.action.as_str()).unwrap_or_default();
    if args.json {
        let message = told.as_ref().map(|answer| &answer.message);
        printer::json(&json!({
            "ticket": id, "status": status, "action": action, "message": message,
        }));
    } else {
        printer::out(&match status {
            "recorded" => format!("{id}: {action}\n"),
            "already" => format!("{id}: was answered before: {}\n", printer::line(action, 60)),
            _ => format!("{id}: nobody waits for it any more\n"),
        });
    }
    Ok(u8::from(status != "recorded"))
}

/// A question with options is answered with one of them.
fn fits(gambrel: &Gambrel, id: &str, message: &str) -> anyhow::Result<()> {
    let wants = gambrel.ledger().ticket(id)?.map(|ticket| ticket.wants);
    if let Some(AnswerKind::Choice(options)) = wants
        && !options.iter().any(|option| option.trim() == message.trim())
    {
        let options: Vec<String> = options.iter().map(|o| printer::line(o, 60)).collect();
        bail!("{id} wants one of these with --message: {}", options.join(", "));
    }
    Ok(())
}

/// The one ticket whose name begins so; an open one before the others.
fn found(gambrel: &Gambrel, name: &str) -> anyhow::Result<String> {
    let tickets = gambrel.ledger().tickets()?;
    let mut fits: Vec<&Ticket> = tickets.iter().filter(|t| t.id.starts_with(name)).collect();
    if fits.len() > 1 {
        let now = now_ms();
        fits.retain(|ticket| ticket.id == name || ticket.state_at(now) == TicketState::Open);
    }
    match fits.as_slice() {
        _ if name.is_empty() => bail!("name a ticket: see `gambrel approvals`"),
        [ticket] => Ok(ticket.id.clone()),
        [] => bail!("no ticket `{name}`: see `gambrel approvals`"),
        _ => bail!("`{name}` is the beginning of several tickets: give more of it"),
    }
}
