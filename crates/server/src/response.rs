//! A response in two formats: a page for a browser, JSON for a program.

use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use gambrel_model::ticket::{Answer, AnswerResult, Ticket};
use maud::Markup;
use serde_json::{Value, json};

use crate::page;
use crate::state::now_ms;

const UNKNOWN_LINK: &str =
    "This link does not lead to a question, or it has been forgotten by now.";

/// A response before its format is chosen.
pub(crate) struct CallbackResponse {
    status: StatusCode,
    json: Value,
    page: Markup,
}

/// The format of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseFormat {
    /// HTML, for a browser.
    Html,
    /// JSON, for every other client.
    Json,
}

impl ResponseFormat {
    /// Chooses the format: only browsers accept HTML.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
        let html =
            accepts.is_some_and(|accepts| accepts.to_ascii_lowercase().contains("text/html"));
        if html { Self::Html } else { Self::Json }
    }
}

impl CallbackResponse {
    /// A response with a page and its JSON.
    pub(crate) fn new(status: StatusCode, json: Value, page: Markup) -> Self {
        Self { status, json, page }
    }

    /// A refusal, with help.
    pub(crate) fn refusal(status: StatusCode, why: &str, help: &str) -> Self {
        let json = json!({ "status": "refused", "error": why, "help": help });
        Self::new(status, json, page::notice_page("That did not work", why, help))
    }

    /// The same response for every wrong link.
    pub(crate) fn unknown_link() -> Self {
        let json = json!({ "status": "unknown", "error": UNKNOWN_LINK });
        let help = "Ask for a new link, or see `gambrel approvals` on the machine that asks.";
        Self::new(
            StatusCode::NOT_FOUND,
            json,
            page::notice_page("No such question", UNKNOWN_LINK, help),
        )
    }

    /// After too many wrong links.
    pub(crate) fn too_many() -> Self {
        let why = "Too many unknown links were tried.";
        Self::refusal(StatusCode::TOO_MANY_REQUESTS, why, "Wait a minute, then try again.")
    }

    /// The ledger failed. The response holds no details: those are for the user at the machine.
    pub(crate) fn ledger_trouble() -> Self {
        let why = "The ledger cannot be used just now; nothing was recorded.";
        let help = "Try again, or see `gambrel approvals` on the machine that asks.";
        Self::refusal(StatusCode::INTERNAL_SERVER_ERROR, why, help)
    }

    /// The result of an answer.
    pub(crate) fn from_result(result: AnswerResult, ticket: &Ticket) -> Self {
        match result {
            AnswerResult::Recorded(answer) => Self::answer_recorded(ticket, &answer),
            AnswerResult::AlreadyAnswered(answer) => Self::already_answered(ticket, &answer),
            AnswerResult::Expired => Self::question_expired(ticket),
            AnswerResult::Unknown => Self::unknown_link(),
        }
    }

    fn answer_recorded(ticket: &Ticket, answer: &Answer) -> Self {
        let json = json!({ "status": "recorded", "action": answer.action });
        Self::new(StatusCode::OK, json, page::answered_page(ticket, answer, None, now_ms()))
    }

    fn already_answered(ticket: &Ticket, answer: &Answer) -> Self {
        let json = json!({
            "status": "already",
            "action": answer.action,
            "message": answer.message,
            "at": answer.at,
        });
        let note = "Another answer came first and stands; yours was not recorded.";
        let page = page::answered_page(ticket, answer, Some(note), now_ms());
        Self::new(StatusCode::CONFLICT, json, page)
    }

    /// The question has expired.
    pub(crate) fn question_expired(ticket: &Ticket) -> Self {
        let json = json!({ "status": "expired", "at": ticket.expires });
        Self::new(StatusCode::GONE, json, page::expired_page(ticket, now_ms()))
    }

    /// Whether the status is a success.
    pub(crate) fn is_success(&self) -> bool {
        self.status.is_success()
    }

    /// Builds the HTTP response in this format.
    pub(crate) fn into_response_as(self, format: ResponseFormat) -> Response {
        let (kind, text) = match format {
            ResponseFormat::Html => ("text/html; charset=utf-8", self.page.into_string()),
            ResponseFormat::Json => ("application/json", format!("{}\n", self.json)),
        };
        (self.status, [(CONTENT_TYPE, kind)], text).into_response()
    }
}
