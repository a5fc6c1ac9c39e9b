//! An answer in both languages: a page for a browser, JSON for a program.

use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use gambrel_model::ticket::{Answer, AnswerResult, Ticket};
use maud::Markup;
use serde_json::{Value, json};

use crate::page;
use crate::room::now;

const UNKNOWN: &str = "This link does not lead to a question, or it has been forgotten by now.";

/// What to say, before it is known to whom.
pub(crate) struct Reply {
    status: StatusCode,
    said: Value,
    page: Markup,
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// Somebody with a browser.
    Person,
    /// Anything else.
    Program,
}

impl Reader {
    /// Browsers say that they read HTML; nobody else does.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
        let html =
            accepts.is_some_and(|accepts| accepts.to_ascii_lowercase().contains("text/html"));
        if html { Self::Person } else { Self::Program }
    }
}

impl Reply {
    /// A page that has its JSON too.
    pub(crate) fn new(status: StatusCode, said: Value, page: Markup) -> Self {
        Self { status, said, page }
    }

    /// No, and what would be right.
    pub(crate) fn refused(status: StatusCode, why: &str, help: &str) -> Self {
        let said = json!({ "status": "refused", "error": why, "help": help });
        Self::new(status, said, page::notice("That did not work", why, help))
    }

    /// The same words whatever is wrong with a link.
    pub(crate) fn unknown() -> Self {
        let said = json!({ "status": "unknown", "error": UNKNOWN });
        let help = "Ask for a new link, or see `gambrel approvals` on the machine that asks.";
        Self::new(StatusCode::NOT_FOUND, said, page::notice("No such question", UNKNOWN, help))
    }

    /// For those who guess.
    pub(crate) fn too_many() -> Self {
        let why = "Too many links that lead nowhere were tried.";
        Self::refused(StatusCode::TOO_MANY_REQUESTS, why, "Wait a minute, then try again.")
    }

    /// Where the ledger is and what is wrong with it is for the one at the machine.
    pub(crate) fn ledger_trouble() -> Self {
        let why = "The ledger cannot be used just now; nothing was recorded.";
        let help = "Try again, or see `gambrel approvals` on the machine that asks.";
        Self::refused(StatusCode::INTERNAL_SERVER_ERROR, why, help)
    }

    /// What became of an answer.
    pub(crate) fn taken(taken: AnswerResult, ticket: &Ticket) -> Self {
        match taken {
            AnswerResult::Recorded(answer) => Self::recorded(ticket, &answer),
            AnswerResult::AlreadyAnswered(answer) => Self::already(ticket, &answer),
            AnswerResult::Expired => Self::expired(ticket),
            AnswerResult::Unknown => Self::unknown(),
        }
    }

    fn recorded(ticket: &Ticket, answer: &Answer) -> Self {
        let said = json!({ "status": "recorded", "action": answer.action });
        Self::new(StatusCode::OK, said, page::answered(ticket, answer, None, now()))
    }

    fn already(ticket: &Ticket, answer: &Answer) -> Self {
        let said = json!({
            "status": "already",
            "action": answer.action,
            "message": answer.message,
            "at": answer.at,
        });
        let note = "Another answer came first and stands; yours was not recorded.";
        let page = page::answered(ticket, answer, Some(note), now());
        Self::new(StatusCode::CONFLICT, said, page)
    }

    /// Too late.
    pub(crate) fn expired(ticket: &Ticket) -> Self {
        let said = json!({ "status": "expired", "at": ticket.expires });
        Self::new(StatusCode::GONE, said, page::expired(ticket, now()))
    }

    /// Whether it says yes.
    pub(crate) fn is_good(&self) -> bool {
        self.status.is_success()
    }

    /// In the language of the one who asked.
    pub(crate) fn to(self, reader: Reader) -> Response {
        let (kind, text) = match reader {
            Reader::Person => ("text/html; charset=utf-8", self.page.into_string()),
            Reader::Program => ("application/json", format!("{}\n", self.said)),
        };
        (self.status, [(CONTENT_TYPE, kind)], text).into_response()
    }
}
