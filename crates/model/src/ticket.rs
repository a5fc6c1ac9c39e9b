//! A question that waits for a person or a service: what was shown, until when it counts, and the
//! one answer it got. The ledger keeps it; no page, port or process is known here.

use serde::{Deserialize, Serialize};

use crate::ledger::Claim;
use crate::question_context::QuestionContext;

/// One question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ticket {
    /// Its short name, for people and for commands.
    pub id: String,
    /// What makes two questions the same one: a process that is started again finds its ticket.
    pub key: String,
    /// When it was opened, milliseconds since the epoch.
    pub at: u64,
    /// When it stops counting, milliseconds since the epoch.
    pub expires: u64,
    /// The session that waits.
    pub session: String,
    /// The project's folder.
    pub project: String,
    /// The hook that asks.
    pub hook: String,
    /// One line: what is to be decided.
    pub title: String,
    /// What the person is shown, name by name.
    pub shown: Vec<(String, String)>,
    /// What it is about, and what each answer does.
    #[serde(skip_serializing_if = "is_empty")]
    pub context: QuestionContext,
    /// What kind of answer it waits for.
    pub wants: AnswerKind,
    /// Whether the message that brings its link has gone out.
    pub sent: bool,
    /// The beginning of its link, `http://localhost:8765`; empty before it has gone out.
    #[serde(rename = "port", with = "stored_base_url")]
    pub base_url: String,
    /// Whether the firing that used the answer has ended, or the one who waited has given up.
    pub spent: bool,
    /// The process that uses the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken: Option<Claim>,
    /// What was answered.
    pub answer: Option<Answer>,
}

fn is_empty(context: &QuestionContext) -> bool {
    *context == QuestionContext::default()
}

/// The stored form of a base URL: the port for a link to this machine, as older versions store it.
mod stored_base_url {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    const LOCAL: &str = "http://localhost:";

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum StoredBase {
        Port(u16),
        Url(String),
    }

    pub fn serialize<S: Serializer>(base_url: &str, to: S) -> Result<S::Ok, S::Error> {
        let port = if base_url.is_empty() { "0" } else { base_url.trim_start_matches(LOCAL) };
        port.parse()
            .map_or_else(|_| StoredBase::Url(base_url.to_owned()), StoredBase::Port)
            .serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
        Ok(match StoredBase::deserialize(from)? {
            StoredBase::Port(0) => String::new(),
            StoredBase::Port(port) => format!("{LOCAL}{port}"),
            StoredBase::Url(url) => url,
        })
    }
}

/// The kinds of answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerKind {
    /// Yes or no, perhaps with words to it.
    #[default]
    Ruling,
    /// One of these, as the message.
    Choice(Vec<String>),
    /// A line, as the message; this stands there before anything is typed.
    Line(String),
    /// A text of several lines, as the message; this stands there at first.
    Text(String),
}

/// What a person or a service said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// The word: `approve`, `reject`, or anything else.
    pub action: String,
    /// Words to it.
    pub message: String,
    /// The answer as it came.
    pub body: String,
    /// Who is known to have said it: the bearer of a link, a command.
    pub by: String,
    /// Milliseconds since the epoch.
    pub at: u64,
}

/// A ticket for the one who asks, with the secret that answers it.
#[derive(Debug, Clone)]
pub struct OpenedTicket {
    /// The ticket.
    pub ticket: Ticket,
    /// 256 bits, as text for a link. The ledger itself keeps only its hash.
    pub token: String,
}

/// What became of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerResult {
    /// It is the answer.
    Recorded(Answer),
    /// Another was there before, and stands.
    AlreadyAnswered(Answer),
    /// The question does not count any more.
    Expired,
    /// There is no such question.
    Unknown,
}

/// Where a ticket stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TicketState {
    /// It can be answered.
    Open,
    /// It was.
    Answered,
    /// It was not, and cannot be any more.
    Expired,
}

impl Ticket {
    /// Where it stands at a time.
    pub fn state_at(&self, now: u64) -> TicketState {
        match (&self.answer, self.spent || now >= self.expires) {
            (Some(_), _) => TicketState::Answered,
            (None, true) => TicketState::Expired,
            (None, false) => TicketState::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ticket;
    use serde_json::json;

    #[test]
    fn a_link_to_this_machine_is_stored_as_its_port() {
        let forms = [
            ("", json!(0)),
            ("http://localhost:8765", json!(8765)),
            ("https://gambrel.example", json!("https://gambrel.example")),
        ];
        for (base_url, stored) in forms {
            let ticket = Ticket { base_url: base_url.to_owned(), ..Ticket::default() };
            let json = serde_json::to_value(&ticket).unwrap();
            assert_eq!(json["port"], stored);
            assert_eq!(serde_json::from_value::<Ticket>(json).unwrap(), ticket);
        }
    }
}
