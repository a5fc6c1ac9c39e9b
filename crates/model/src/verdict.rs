//! Verdicts of hooks and their merge. A merge takes the stricter ruling and keeps every reason.
//! `degrade.rs` reduces a verdict to what a caller can receive.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::quality_gate::QualityGateResult;
use crate::spec::Powers;

/// The ordered answer to an event; merging takes the maximum.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Ruling {
    /// No opinion.
    #[default]
    Silent,
    /// It may happen.
    Allow,
    /// Ask the user.
    Ask,
    /// Not now.
    Defer,
    /// Refused.
    Deny,
    /// The session must stop.
    Halt,
}

impl Ruling {
    /// The word in JSON, in the journal and in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Silent => "silent",
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Defer => "defer",
            Self::Deny => "deny",
            Self::Halt => "halt",
        }
    }

    /// The power that a caller needs to receive it.
    pub fn required_power(self) -> Powers {
        match self {
            Self::Silent => Powers::empty(),
            Self::Allow => Powers::ALLOW,
            Self::Ask => Powers::ASK,
            Self::Defer => Powers::DEFER,
            Self::Deny => Powers::DENY,
            Self::Halt => Powers::HALT,
        }
    }

    /// Whether it is a deny or a halt.
    pub fn is_refusal(self) -> bool {
        self >= Self::Deny
    }
}

/// Why a ruling was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reason {
    /// The ruling that it explains.
    pub ruling: Ruling,
    /// The text.
    pub text: String,
    /// The hook that gave it.
    pub hook: String,
}

impl Reason {
    /// The reason of a hook.
    pub fn new(ruling: Ruling, text: impl Into<String>, hook: impl Into<String>) -> Self {
        Self { ruling, text: text.into(), hook: hook.into() }
    }
}

/// Text from a hook for an audience.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Message {
    /// The receiver.
    #[serde(rename = "ear")]
    pub to: Audience,
    /// The text.
    pub text: String,
    /// The hook that sent it.
    pub hook: String,
}

impl Message {
    /// A message of a hook.
    pub fn new(to: Audience, text: impl Into<String>, hook: impl Into<String>) -> Self {
        Self { to, text: text.into(), hook: hook.into() }
    }
}

/// Who receives a message, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Audience {
    /// The agent, with the reply to this event.
    #[serde(rename = "agent")]
    AgentNow,
    /// The agent, at its next turn.
    #[serde(rename = "next")]
    AgentNextTurn,
    /// The user.
    #[serde(rename = "person")]
    User,
}

/// Work that a verdict asks the program to do, from a closed list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum SideEffect {
    /// Write a file that the dialect requires. A failure is recorded and changes no decision.
    WriteFile {
        /// Where.
        path: PathBuf,
        /// What.
        text: String,
    },
    /// Write a file beside those that are there: an existing name gets a number.
    AddFile {
        /// Where.
        path: PathBuf,
        /// What.
        text: String,
    },
    /// Let a run go on after its agent has failed.
    Recover,
    /// Record the result of a quality gate in its task, and do what its policy says.
    QualityGate(QualityGateResult),
    /// Send the hook's messages for the agent at once, as a prompt of the iteration that has ended.
    FollowUp {
        /// What comes before the messages.
        heading: String,
        /// The hook that sent them.
        hook: String,
    },
}

/// A part of an event that a hook can rewrite.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Slot {
    /// The tool's arguments, in neutral names.
    Input,
    /// The tool's result: `{"content": [blocks], "native": …}`.
    Output,
    /// The messages that go to the model.
    ChatMessages,
    /// A message put before the agent starts.
    InjectedMessage,
    /// The user's prompt: `{"text": …, "images": […]}`.
    Prompt,
    /// A field of one dialect, as `dialect.field`.
    Native(String),
    /// A list of one dialect, to which every hook appends, as `dialect.field[]`.
    List(String),
}

impl Slot {
    /// Whether it belongs to one dialect and rewrites nothing of the event.
    pub fn is_native(&self) -> bool {
        matches!(self, Self::Native(_) | Self::List(_))
    }

    /// The dialect that it belongs to, if any.
    pub fn dialect(&self) -> Option<&str> {
        match self {
            Self::Native(word) | Self::List(word) => word.split('.').next(),
            _ => None,
        }
    }

    /// Whether a later value is appended instead of replacing the earlier one.
    pub fn is_list(&self) -> bool {
        matches!(self, Self::List(_))
    }
}

/// Suffix of a list's name.
const LIST_SUFFIX: &str = "[]";

impl From<String> for Slot {
    fn from(word: String) -> Self {
        match word.as_str() {
            "input" => Self::Input,
            "output" => Self::Output,
            "messages" => Self::ChatMessages,
            "message" => Self::InjectedMessage,
            "prompt" => Self::Prompt,
            _ => match word.strip_suffix(LIST_SUFFIX) {
                Some(list) => Self::List(list.into()),
                None => Self::Native(word),
            },
        }
    }
}

impl From<Slot> for String {
    fn from(slot: Slot) -> Self {
        match slot {
            Slot::Input => "input".into(),
            Slot::Output => "output".into(),
            Slot::ChatMessages => "messages".into(),
            Slot::InjectedMessage => "message".into(),
            Slot::Prompt => "prompt".into(),
            Slot::Native(word) => word,
            Slot::List(word) => word + LIST_SUFFIX,
        }
    }
}

/// Rewrites by slot. A null value removes an earlier rewrite.
pub type Patch = BTreeMap<Slot, Value>;

/// Merges later rewrites into earlier ones: a slot is replaced, a list grows.
pub fn merge_patch(patch: &mut Patch, later: Patch) {
    for (slot, value) in later {
        let list = patch.get_mut(&slot).filter(|_| slot.is_list()).and_then(Value::as_array_mut);
        match (list, value) {
            (Some(list), Value::Array(more)) => list.extend(more),
            (_, value) => drop(patch.insert(slot, value)),
        }
    }
}

/// The answer of one hook, or of all hooks together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The ruling.
    pub ruling: Ruling,
    /// Reasons of every ruling.
    pub reasons: Vec<Reason>,
    /// Rewrites by slot.
    pub patch: Patch,
    /// Messages by audience.
    #[serde(rename = "says")]
    pub messages: Vec<Message>,
    /// Work for the program.
    #[serde(rename = "duties")]
    pub side_effects: Vec<SideEffect>,
    /// Why a hook gave no usable answer: a timeout, a failed start, an unreadable answer. Under
    /// `--strict` this denies at a gate.
    #[serde(default, rename = "unheard")]
    pub gate_failures: Vec<String>,
}

impl Verdict {
    /// A ruling with its reason. `attributed_to` adds the hook's id.
    pub fn with_ruling(ruling: Ruling, text: impl Into<String>) -> Self {
        let reason = Reason { ruling, text: text.into(), hook: String::new() };
        Self { ruling, reasons: vec![reason], ..Self::default() }
    }

    /// A message and no ruling.
    pub fn with_only_message(audience: Audience, text: impl Into<String>) -> Self {
        Self::default().with_message(audience, text)
    }

    /// Adds a message.
    #[must_use]
    pub fn with_message(mut self, audience: Audience, text: impl Into<String>) -> Self {
        self.messages.push(Message { to: audience, text: text.into(), hook: String::new() });
        self
    }

    /// Adds a rewrite.
    #[must_use]
    pub fn with_rewrite(mut self, slot: Slot, value: Value) -> Self {
        self.patch.insert(slot, value);
        self
    }

    /// Adds the reason why a hook gave no usable answer.
    #[must_use]
    pub fn with_gate_failure(mut self, why: impl Into<String>) -> Self {
        self.gate_failures.push(why.into());
        self
    }

    /// Fills the empty texts of a verdict template (`HookPolicy`) with this text.
    #[must_use]
    pub fn with_reason(&self, text: &str) -> Self {
        let mut verdict = self.clone();
        if verdict.ruling > Ruling::Silent && verdict.reasons.is_empty() {
            let reason = Reason { ruling: verdict.ruling, text: text.into(), hook: String::new() };
            verdict.reasons.push(reason);
        }
        for message in verdict.messages.iter_mut().filter(|message| message.text.is_empty()) {
            message.text = text.into();
        }
        verdict
    }

    /// Shortens long messages and reasons to head and tail.
    #[must_use]
    pub fn truncate_texts(mut self) -> Self {
        self.reasons.iter_mut().for_each(|reason| truncate_text(&mut reason.text));
        self.messages.iter_mut().for_each(|message| truncate_text(&mut message.text));
        self
    }

    /// Sets the hook of every reason, message and follow-up without one.
    #[must_use]
    pub fn attributed_to(mut self, hook: &str) -> Self {
        for reason in self.reasons.iter_mut().filter(|r| r.hook.is_empty()) {
            reason.hook = hook.into();
        }
        for message in self.messages.iter_mut().filter(|s| s.hook.is_empty()) {
            message.hook = hook.into();
        }
        for effect in &mut self.side_effects {
            if let SideEffect::FollowUp { hook: sender, .. } = effect
                && sender.is_empty()
            {
                *sender = hook.into();
            }
        }
        self
    }

    /// Merges two verdicts, this one first. Associative, with `Verdict::default()` as neutral
    /// element. The ruling never loosens. Of two rewrites of one slot the later one counts; lists
    /// are joined.
    #[must_use]
    pub fn then(mut self, next: Self) -> Self {
        self.ruling = self.ruling.max(next.ruling);
        self.reasons.extend(next.reasons);
        merge_patch(&mut self.patch, next.patch);
        self.messages.extend(next.messages);
        self.side_effects.extend(next.side_effects);
        self.gate_failures.extend(next.gate_failures);
        self
    }

    /// Messages for one audience, in order.
    pub fn messages_for(&self, audience: Audience) -> impl Iterator<Item = &str> {
        self.messages
            .iter()
            .filter(move |message| message.to == audience)
            .map(|message| message.text.as_str())
    }

    /// The reasons of the ruling, in order, each once.
    pub fn ruling_reasons(&self) -> Vec<&str> {
        self.reason_texts(&|reason| reason.ruling == self.ruling)
    }

    /// The reasons of every refusal, also below the final ruling.
    pub fn refusal_reasons(&self) -> Vec<&str> {
        self.reason_texts(&|reason| reason.ruling.is_refusal())
    }

    fn reason_texts(&self, counts: &dyn Fn(&Reason) -> bool) -> Vec<&str> {
        let mut known = BTreeSet::new();
        let counted = self.reasons.iter().filter(|reason| counts(reason));
        let texts = counted.map(|reason| reason.text.as_str()).filter(|text| !text.is_empty());
        texts.filter(|text| known.insert(*text)).collect()
    }
}

/// Maximum length of one message or reason.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;

fn truncate_text(text: &mut String) {
    if text.len() <= MAX_MESSAGE_BYTES {
        return;
    }
    let head = text.floor_char_boundary(MAX_MESSAGE_BYTES * 3 / 4);
    let tail = text.ceil_char_boundary(text.len() - MAX_MESSAGE_BYTES / 4);
    *text = format!("{}\n… {} bytes left out …\n{}", &text[..head], tail - head, &text[tail..]);
}
