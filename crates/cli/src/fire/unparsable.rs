//! Replies to events that cannot be parsed. A tool gate is denied in the caller's format. Any other
//! event of an agent passes, and the user receives a message later.

use std::path::PathBuf;

use gambrel::{DIALECTS, Decision, Gambrel};
use gambrel_engine::{GAMBREL, Unreadable, now_ms, queue_messages, record_unreadable};
use gambrel_model::event::session_key;
use gambrel_model::{Audience, Event, Moment, MomentKind, Reply, Ruling, Verdict};
use serde_json::{Map, Value};

/// How many bytes are searched for names.
const MAX_SCAN_BYTES: usize = 64 * 1024;
/// Longer texts are not names.
const MAX_NAME_BYTES: usize = 200;

/// The parts of an unparsable event that could be found.
pub struct UnparsableEvent {
    /// The event with its short string fields only. `None` if its name is unknown.
    event: Option<Event>,
    project: PathBuf,
    session: String,
    strict: bool,
}

impl UnparsableEvent {
    /// Searches the bytes for short string fields, such as the event's name.
    pub fn from_bytes(gambrel: &Gambrel, from: &str, bytes: &[u8]) -> Self {
        let mut fields = scan_string_fields(&bytes[..bytes.len().min(MAX_SCAN_BYTES)]);
        // `--event` of the agent's entry is more reliable than the bytes.
        if gambrel.setup().event_name.is_some() {
            let names = DIALECTS.iter().flat_map(|dialect| dialect.properties.event_keys);
            fields.retain(|key, _| !names.clone().any(|name| name == key));
        }

        let mut keys = DIALECTS.iter().flat_map(|dialect| dialect.properties.session_keys);
        let session = keys.find_map(|key| fields.get(*key));
        let session = session.and_then(Value::as_str).unwrap_or_default().to_owned();

        let native = Value::Object(fields).to_string();
        let event = gambrel.receive(from, native.as_bytes()).ok();
        let event = event.filter(|event| !event.parsed.spec.name.is_empty());
        let project = gambrel.setup().search_roots(event.as_ref()).project;
        let event = event.map(|event| Event::new(event, project.clone()));
        Self { event, project, session, strict: gambrel.setup().options.strict }
    }

    /// The neutral name of the event, if known.
    pub fn moment(&self) -> Option<&str> {
        self.event.as_ref().map(|event| event.moment.name())
    }

    /// Whether the event must be denied: always at a tool gate; with `--strict` also at other gates
    /// and for unknown events.
    pub fn is_refused(&self) -> bool {
        self.event.as_ref().map_or(self.strict, |event| {
            let tool = matches!(event.moment, Moment::ToolBefore | Moment::ToolPermission);
            tool || (self.strict && event.kind() == MomentKind::Gate)
        })
    }

    /// The deny in the caller's format.
    pub fn deny_reply(&self, why: &str) -> Option<Reply> {
        let event = self.event.as_ref().filter(|_| self.is_refused())?;
        let verdict = Verdict::with_ruling(Ruling::Deny, why).attributed_to("gambrel");
        let degraded = verdict.clone().degrade_for(event.spec);
        let mut decision = Decision::with_caller_verdict(degraded.now);
        decision.merged = verdict;
        decision.moment = event.moment.name().to_owned();
        decision.session = event.session.clone();
        Some(event.dialect.caller.write_reply(event, &decision))
    }

    /// Records in the journal that the event passed unread, and stores a message that the user
    /// receives with the next reply of the session.
    pub fn record_passed(&self, gambrel: &Gambrel, from: &str, why: &str) -> anyhow::Result<()> {
        let name = self.event.as_ref().map_or("", |event| event.name.as_str());
        let id = format!("{:011x}-unread{}", now_ms(), std::process::id());
        let unreadable = Unreadable { id: &id, from, name, session: &self.session, why };
        record_unreadable(gambrel.ledger(), unreadable)?;

        let which = if name.is_empty() { "an event".into() } else { format!("the event {name}") };
        let text = format!("gambrel could not read {which}, so no hook ran: {why}");
        let verdict = Verdict::with_only_message(Audience::User, text).attributed_to("gambrel");

        let session_key = session_key(&self.session, &self.project);
        queue_messages(gambrel.ledger(), &session_key, id, GAMBREL, verdict.messages)?;
        Ok(())
    }
}

/// `"key": "value"` pairs of the outermost object. The last value of a repeated key counts, as in
/// JSON parsers.
fn scan_string_fields(bytes: &[u8]) -> Map<String, Value> {
    let text = String::from_utf8_lossy(bytes);
    let mut found = Map::new();
    let (mut depth, mut key, mut colon) = (0_usize, None, false);
    let mut rest = text.as_ref();
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '"' => {
                let Some(end) = find_string_end(rest) else { break };
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

/// Unescapes a JSON string. `None` if an escape is invalid.
fn unescape(inside: &str) -> Option<String> {
    serde_json::from_str(&format!("\"{inside}\"")).ok()
}

/// The offset of the closing quote.
fn find_string_end(text: &str) -> Option<usize> {
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
