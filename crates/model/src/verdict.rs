//! What hooks answer, and how answers merge. The algebra is small on purpose: a merge takes the
//! stricter ruling and keeps every reason. What a caller can be told of it is in `said`.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::degrade::Loss;
use crate::spec::{EventSpec, Powers};

/// About the thing that is about to happen, from no opinion to the end of everything.
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
    /// A person must be asked.
    Ask,
    /// Not now; later perhaps.
    Defer,
    /// It may not happen.
    Deny,
    /// Nothing more may happen in this session.
    Halt,
}

impl Ruling {
    /// The word in JSON, in the journal and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            Self::Silent => "silent",
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Defer => "defer",
            Self::Deny => "deny",
            Self::Halt => "halt",
        }
    }

    /// The power that is needed to say it.
    pub fn power(self) -> Powers {
        match self {
            Self::Silent => Powers::NONE,
            Self::Allow => Powers::ALLOW,
            Self::Ask => Powers::ASK,
            Self::Defer => Powers::DEFER,
            Self::Deny => Powers::DENY,
            Self::Halt => Powers::HALT,
        }
    }

    /// Whether the thing may not happen as it stands.
    pub fn refuses(self) -> bool {
        self >= Self::Deny
    }
}

/// Why a ruling was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// The ruling that it explains.
    pub ruling: Ruling,
    /// The words.
    pub text: String,
    /// The hook that said it.
    pub hook: String,
}

/// Words, and whom they are for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Whom they are for.
    #[serde(rename = "ear")]
    pub to: Audience,
    /// The words.
    pub text: String,
    /// The hook that said them.
    pub hook: String,
}

/// Whom words are for, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Audience {
    /// The agent, with the answer to this event.
    #[serde(rename = "agent")]
    AgentNow,
    /// The agent, at its next turn.
    #[serde(rename = "next")]
    AgentNextTurn,
    /// The person at the screen.
    #[serde(rename = "person")]
    User,
}

/// What the engine does for a dialect after a verdict: a closed list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum SideEffect {
    /// Write a file that the dialect requires. A failure is recorded and changes no decision.
    WriteFile {
        /// Where.
        path: PathBuf,
        /// What.
        text: String,
    },
}

/// What can be rewritten in an event.
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
    /// What the person asked: `{"text": …, "images": […]}`.
    Prompt,
    /// Something that only one dialect knows, under `dialect.field`.
    Native(String),
    /// A list of that kind, to which every hook adds; in writing `dialect.field[]`.
    List(String),
}

impl Slot {
    /// Whether only the hook's own dialect knows it: then it is no rewrite of the event.
    pub fn is_native(&self) -> bool {
        matches!(self, Self::Native(_) | Self::List(_))
    }

    /// The one dialect that knows it, if it is only one.
    pub fn dialect(&self) -> Option<&str> {
        match self {
            Self::Native(word) | Self::List(word) => word.split('.').next(),
            _ => None,
        }
    }

    /// Whether a later value joins an earlier one instead of taking its place.
    pub fn is_list(&self) -> bool {
        matches!(self, Self::List(_))
    }
}

/// How the name of a list ends in writing.
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

/// Rewrites, by slot. One that is null takes back what stood.
pub type Patch = BTreeMap<Slot, Value>;

/// Puts later rewrites on earlier ones: each takes the place of its slot's, lists grow.
pub fn merge_patch(patch: &mut Patch, later: Patch) {
    for (slot, value) in later {
        let list = patch.get_mut(&slot).filter(|_| slot.is_list()).and_then(Value::as_array_mut);
        match (list, value) {
            (Some(list), Value::Array(more)) => list.extend(more),
            (_, value) => drop(patch.insert(slot, value)),
        }
    }
}

/// What one hook, or all hooks together, have to say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// May it happen?
    pub ruling: Ruling,
    /// Why, for every ruling that was made.
    pub reasons: Vec<Reason>,
    /// What is to be different.
    pub patch: Patch,
    /// Words.
    #[serde(rename = "says")]
    pub messages: Vec<Message>,
    /// Work for the engine.
    #[serde(rename = "duties")]
    pub side_effects: Vec<SideEffect>,
    /// Why a hook was as good as not asked (late, not started, an answer that cannot be read):
    /// whoever is strict takes that for a refusal at a gate.
    #[serde(default, rename = "unheard")]
    pub gate_failures: Vec<String>,
}

impl Verdict {
    /// A ruling with its reason. The hook's name is filled in by whoever knows it.
    pub fn with_ruling(ruling: Ruling, text: impl Into<String>) -> Self {
        let reason = Reason { ruling, text: text.into(), hook: String::new() };
        Self { ruling, reasons: vec![reason], ..Self::default() }
    }

    /// Words and no ruling.
    pub fn with_only_message(ear: Audience, text: impl Into<String>) -> Self {
        Self::default().with_message(ear, text)
    }

    /// The same with more words.
    #[must_use]
    pub fn with_message(mut self, ear: Audience, text: impl Into<String>) -> Self {
        self.messages.push(Message { to: ear, text: text.into(), hook: String::new() });
        self
    }

    /// The same with a rewrite.
    #[must_use]
    pub fn with_rewrite(mut self, slot: Slot, value: Value) -> Self {
        self.patch.insert(slot, value);
        self
    }

    /// The same, marked as coming from a hook that was as good as not asked.
    #[must_use]
    pub fn with_gate_failure(mut self, why: impl Into<String>) -> Self {
        self.gate_failures.push(why.into());
        self
    }

    /// This template of a verdict with words to it: what `Terms` hold has none until it is used.
    #[must_use]
    pub fn with_reason(&self, text: &str) -> Self {
        let mut verdict = self.clone();
        if verdict.ruling > Ruling::Silent && verdict.reasons.is_empty() {
            let reason = Reason { ruling: verdict.ruling, text: text.into(), hook: String::new() };
            verdict.reasons.push(reason);
        }
        for say in verdict.messages.iter_mut().filter(|say| say.text.is_empty()) {
            say.text = text.into();
        }
        verdict
    }

    /// Words and reasons no longer than an agent should be told: head and tail, and a mark between.
    #[must_use]
    pub fn truncate_texts(mut self) -> Self {
        self.reasons.iter_mut().for_each(|reason| truncate_text(&mut reason.text));
        self.messages.iter_mut().for_each(|say| truncate_text(&mut say.text));
        self
    }

    /// Puts a hook's name to every word that has none.
    #[must_use]
    pub fn attributed_to(mut self, hook: &str) -> Self {
        for reason in self.reasons.iter_mut().filter(|r| r.hook.is_empty()) {
            reason.hook = hook.into();
        }
        for say in self.messages.iter_mut().filter(|s| s.hook.is_empty()) {
            say.hook = hook.into();
        }
        self
    }

    /// Both, this one first. Associative, with `Verdict::default()` as neutral element; the ruling
    /// never loosens; of two rewrites of one slot the later stands (who that is was settled before),
    /// and lists are joined.
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

    /// What the hook's own contract allows it to say here; the rest is turned into words for the
    /// person (a refusal) or dropped, and recorded.
    pub fn within_hook_powers(mut self, own: &EventSpec) -> (Self, Vec<Loss>) {
        let mut losses = Vec::new();
        if !own.hook_powers.contains(self.ruling.power()) {
            losses
                .push(Loss::new(self.ruling.word(), format!("{} cannot be answered so", own.name)));
            for reason in std::mem::take(&mut self.reasons) {
                self.messages.push(Message {
                    to: Audience::User,
                    text: reason.text,
                    hook: reason.hook,
                });
            }
            self.ruling = Ruling::Silent;
        }
        let slots = own.rewritable;
        let mut says = Vec::new();
        self.patch.retain(|slot, _| {
            let kept = slots.contains(slot) || slot.is_native();
            if !kept {
                losses.push(Loss::new("rewrite", format!("{} has nothing to rewrite", own.name)));
            }
            if !kept && *slot == Slot::Output {
                says.push(not_applied(slot));
            }
            kept
        });
        self.messages.extend(says);
        (self, losses)
    }

    /// Words for one ear, in order.
    pub fn messages_for(&self, ear: Audience) -> impl Iterator<Item = &str> {
        self.messages.iter().filter(move |say| say.to == ear).map(|say| say.text.as_str())
    }

    /// The reasons of the ruling that stands, in order, each once.
    pub fn ruling_reasons(&self) -> Vec<&str> {
        self.reason_texts(&|reason| reason.ruling == self.ruling)
    }

    /// The reasons of every refusal, also of those that a stricter one has overtaken.
    pub fn refusals(&self) -> Vec<&str> {
        self.reason_texts(&|reason| reason.ruling.refuses())
    }

    fn reason_texts(&self, counts: &dyn Fn(&Reason) -> bool) -> Vec<&str> {
        let mut known = HashSet::new();
        let counted = self.reasons.iter().filter(|reason| counts(reason));
        let texts = counted.map(|reason| reason.text.as_str()).filter(|text| !text.is_empty());
        texts.filter(|text| known.insert(*text)).collect()
    }
}

/// What the user is told of a rewrite that was dropped: what it was to take out is still there.
pub(crate) fn not_applied(slot: &Slot) -> Message {
    let word = String::from(slot.clone());
    let text =
        format!("a hook's rewrite of the {word} was not applied: the agent sees it as it was");
    Message { to: Audience::User, text, hook: String::new() }
}

/// What an agent is told of one text at most.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;

fn truncate_text(text: &mut String) {
    if text.len() <= MAX_MESSAGE_BYTES {
        return;
    }
    let (mut head, mut tail) = (MAX_MESSAGE_BYTES * 3 / 4, text.len() - MAX_MESSAGE_BYTES / 4);
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    *text = format!("{}\n… {} bytes left out …\n{}", &text[..head], tail - head, &text[tail..]);
}
