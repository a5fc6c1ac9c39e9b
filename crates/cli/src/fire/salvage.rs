//! What can still be answered when an event cannot be read. A tool gate is refused, in the caller's
//! own words. Any other event of a live host is let pass, and the user is told later.

use gambrel::model::{Audience, Event, Moment, MomentKind, Reply, Ruling, Undelivered, Verdict};
use gambrel::{Decision, Gambrel};
use gambrel_engine::{GAMBREL, Unreadable, keep_for_session, now_ms, record_unreadable};
use serde_json::{Map, Value};

/// How much of the bytes is looked at for names.
const MAX_SALVAGE_BYTES: usize = 64 * 1024;
/// A name is not longer than this.
const MAX_NAME_BYTES: usize = 200;

/// Where the callers of all dialects name an event.
const EVENT_KEYS: [&str; 7] =
    ["hook_event_name", "hookName", "type", "event", "hook", "hook_point", "moment"];

/// What could be made out of an event that cannot be read.
pub struct Salvaged {
    /// The event with its short texts only; `None` when not even its name is known.
    event: Option<Event>,
    session: String,
    strict: bool,
}

impl Salvaged {
    /// Looks for short texts in the bytes, the event's name among them.
    pub fn from_bytes(gambrel: &Gambrel, from: &str, bytes: &[u8]) -> Self {
        let mut fields = short_texts(&bytes[..bytes.len().min(MAX_SALVAGE_BYTES)]);
        // The entry says for sure which event it is written for.
        if gambrel.setup().event_name.is_some() {
            fields.retain(|key, _| !EVENT_KEYS.contains(&key.as_str()));
        }
        let session =
            ["session_id", "sessionId", "session"].iter().find_map(|key| fields.get(*key));
        let session = session.and_then(Value::as_str).unwrap_or_default().to_owned();
        let native = Value::Object(fields).to_string();
        let event = gambrel.receive(from, native.as_bytes()).ok();
        let event = event.filter(|event| !event.spec.name.is_empty());
        Self { event, session, strict: gambrel.setup().options.strict }
    }

    /// The neutral name of the event, if it is known.
    pub fn moment(&self) -> Option<&str> {
        self.event.as_ref().map(|event| event.moment.name())
    }

    /// Whether the thing that the event is about must not happen: at a tool gate always, at other
    /// gates and without a name for whoever is strict.
    pub fn is_refused(&self) -> bool {
        self.event.as_ref().map_or(self.strict, |event| {
            let tool = matches!(event.moment, Moment::ToolBefore | Moment::ToolPermission);
            tool || (self.strict && event.kind() == MomentKind::Gate)
        })
    }

    /// The refusal in the caller's words.
    pub fn refusal(&self, why: &str) -> Option<Reply> {
        let event = self.event.as_ref().filter(|_| self.is_refused())?;
        let meant = Verdict::with_ruling(Ruling::Deny, why).attributed_to("gambrel");
        let said = meant.clone().degrade_for(event.spec);
        let decision = Decision {
            merged: meant,
            for_caller: said.now,
            moment: event.moment.name().to_owned(),
            session: event.session.clone(),
            ..Decision::default()
        };
        Some(event.dialect.write_reply(event, &decision))
    }

    /// Writes into the journal that the event passed unread, and keeps a message for the user that
    /// the session's next reply carries.
    pub fn remember(&self, gambrel: &Gambrel, from: &str, why: &str) -> anyhow::Result<()> {
        let name = self.event.as_ref().map_or("", |event| event.name.as_str());
        let id = format!("{:011x}-unread{}", now_ms(), std::process::id());
        let unreadable = Unreadable { id: &id, from, name, session: &self.session, why };
        record_unreadable(gambrel.ledger(), unreadable)?;
        let which = if name.is_empty() { "an event".into() } else { format!("the event {name}") };
        let text = format!("gambrel could not read {which}, so no hook was asked: {why}");
        let verdict = Verdict::with_only_message(Audience::User, text).attributed_to("gambrel");
        let debt = Undelivered::new(id, GAMBREL, verdict.truncate_texts());
        let project = gambrel.setup().search_roots(self.event.as_ref()).project;
        let memory = format!("{}@{}", self.session, project.display());
        keep_for_session(gambrel.ledger(), &memory, &debt)?;
        Ok(())
    }
}

/// `"key": "value"` pairs of the outermost object; of a name that stands twice the last, as every
/// reader of JSON takes it.
fn short_texts(bytes: &[u8]) -> Map<String, Value> {
    let text = String::from_utf8_lossy(bytes);
    let mut found = Map::new();
    let (mut depth, mut key, mut colon) = (0_usize, None, false);
    let mut rest = text.as_ref();
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '"' => {
                let Some(end) = end_of_string(rest) else { break };
                let (inside, after) = (&rest[..end], &rest[end + 1..]);
                rest = after;
                let short = depth == 1 && inside.len() < MAX_NAME_BYTES;
                let text = short.then(|| unescape(inside)).flatten();
                match (key.take(), text) {
                    (Some(name), Some(text)) if colon => drop(found.insert(name, text.into())),
                    (_, text) => key = text,
                }
                colon = false;
            }
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            ':' => colon = true,
            ',' => key = None,
            _ => {}
        }
    }
    found
}

/// A string's text with its escapes undone; `None` if they are wrong.
fn unescape(inside: &str) -> Option<String> {
    serde_json::from_str(&format!("\"{inside}\"")).ok()
}

/// Where the string that has begun ends.
fn end_of_string(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(at),
            _ => {}
        }
    }
    None
}
