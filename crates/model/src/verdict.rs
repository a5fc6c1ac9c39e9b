//! What hooks answer, and how answers merge. The algebra is small on purpose: a merge takes the
//! stricter ruling and keeps every reason. What a caller can be told of it is in `said`.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::said::Loss;
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
pub struct Say {
    /// Whom they are for.
    pub ear: Ear,
    /// The words.
    pub text: String,
    /// The hook that said them.
    pub hook: String,
}

/// Whom words are for, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ear {
    /// The agent, with the answer to this event.
    Agent,
    /// The agent, at its next turn.
    Next,
    /// The person at the screen.
    Person,
}

/// What the engine does for a dialect after a verdict: a closed list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Duty {
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
    Messages,
    /// A message put before the agent starts.
    Message,
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
const LIST: &str = "[]";

impl From<String> for Slot {
    fn from(word: String) -> Self {
        match word.as_str() {
            "input" => Self::Input,
            "output" => Self::Output,
            "messages" => Self::Messages,
            "message" => Self::Message,
            "prompt" => Self::Prompt,
            _ => match word.strip_suffix(LIST) {
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
            Slot::Messages => "messages".into(),
            Slot::Message => "message".into(),
            Slot::Prompt => "prompt".into(),
            Slot::Native(word) => word,
            Slot::List(word) => word + LIST,
        }
    }
}

/// Rewrites, by slot. One that is null takes back what stood.
pub type Patch = BTreeMap<Slot, Value>;

/// Puts later rewrites on earlier ones: each takes the place of its slot's, lists grow.
pub fn put_on(patch: &mut Patch, later: Patch) {
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
    pub says: Vec<Say>,
    /// Work for the engine.
    pub duties: Vec<Duty>,
    /// Why a hook was as good as not asked (late, not started, an answer that cannot be read):
    /// whoever is strict takes that for a refusal at a gate.
    #[serde(default)]
    pub unheard: Vec<String>,
}

impl Verdict {
    /// A ruling with its reason. The hook's name is filled in by whoever knows it.
    pub fn ruled(ruling: Ruling, text: impl Into<String>) -> Self {
        let reason = Reason { ruling, text: text.into(), hook: String::new() };
        Self { ruling, reasons: vec![reason], ..Self::default() }
    }

    /// Words and no ruling.
    pub fn says(ear: Ear, text: impl Into<String>) -> Self {
        Self::default().saying(ear, text)
    }

    /// The same with more words.
    #[must_use]
    pub fn saying(mut self, ear: Ear, text: impl Into<String>) -> Self {
        self.says.push(Say { ear, text: text.into(), hook: String::new() });
        self
    }

    /// The same with a rewrite.
    #[must_use]
    pub fn patching(mut self, slot: Slot, value: Value) -> Self {
        self.patch.insert(slot, value);
        self
    }

    /// The same, marked as coming from a hook that was as good as not asked.
    #[must_use]
    pub fn unheard(mut self, why: impl Into<String>) -> Self {
        self.unheard.push(why.into());
        self
    }

    /// This template of a verdict with words to it: what `Terms` hold has none until it is used.
    #[must_use]
    pub fn because(&self, text: &str) -> Self {
        let mut verdict = self.clone();
        if verdict.ruling > Ruling::Silent && verdict.reasons.is_empty() {
            let reason = Reason { ruling: verdict.ruling, text: text.into(), hook: String::new() };
            verdict.reasons.push(reason);
        }
        for say in verdict.says.iter_mut().filter(|say| say.text.is_empty()) {
            say.text = text.into();
        }
        verdict
    }

    /// Words and reasons no longer than an agent should be told: head and tail, and a mark between.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        self.reasons.iter_mut().for_each(|reason| shorten(&mut reason.text));
        self.says.iter_mut().for_each(|say| shorten(&mut say.text));
        self
    }

    /// Puts a hook's name to every word that has none.
    #[must_use]
    pub fn by(mut self, hook: &str) -> Self {
        for reason in self.reasons.iter_mut().filter(|r| r.hook.is_empty()) {
            reason.hook = hook.into();
        }
        for say in self.says.iter_mut().filter(|s| s.hook.is_empty()) {
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
        put_on(&mut self.patch, next.patch);
        self.says.extend(next.says);
        self.duties.extend(next.duties);
        self.unheard.extend(next.unheard);
        self
    }

    /// What the hook's own contract allows it to say here; the rest is turned into words for the
    /// person (a refusal) or dropped, and recorded.
    pub fn within(mut self, own: &EventSpec) -> (Self, Vec<Loss>) {
        let mut losses = Vec::new();
        if !own.may.has(self.ruling.power()) {
            losses
                .push(Loss::new(self.ruling.word(), format!("{} cannot be answered so", own.name)));
            for reason in std::mem::take(&mut self.reasons) {
                self.says.push(Say { ear: Ear::Person, text: reason.text, hook: reason.hook });
            }
            self.ruling = Ruling::Silent;
        }
        let slots = own.slots;
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
        self.says.extend(says);
        (self, losses)
    }

    /// Words for one ear, in order.
    pub fn words(&self, ear: Ear) -> impl Iterator<Item = &str> {
        self.says.iter().filter(move |say| say.ear == ear).map(|say| say.text.as_str())
    }

    /// The reasons of the ruling that stands, in order, each once.
    pub fn why(&self) -> Vec<&str> {
        self.texts(&|reason| reason.ruling == self.ruling)
    }

    /// The reasons of every refusal, also of those that a stricter one has overtaken.
    pub fn refusals(&self) -> Vec<&str> {
        self.texts(&|reason| reason.ruling.refuses())
    }

    fn texts(&self, counts: &dyn Fn(&Reason) -> bool) -> Vec<&str> {
        let mut known = HashSet::new();
        let counted = self.reasons.iter().filter(|reason| counts(reason));
        let texts = counted.map(|reason| reason.text.as_str()).filter(|text| !text.is_empty());
        texts.filter(|text| known.insert(*text)).collect()
    }
}

/// What the user is told of a rewrite that was dropped: what it was to take out is still there.
pub(crate) fn not_applied(slot: &Slot) -> Say {
    let word = String::from(slot.clone());
    let text =
        format!("a hook's rewrite of the {word} was not applied: the agent sees it as it was");
    Say { ear: Ear::Person, text, hook: String::new() }
}

/// What an agent is told of one text at most.
const WORDS: usize = 64 * 1024;

fn shorten(text: &mut String) {
    if text.len() <= WORDS {
        return;
    }
    let (mut head, mut tail) = (WORDS * 3 / 4, text.len() - WORDS / 4);
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    *text = format!("{}\n… {} bytes left out …\n{}", &text[..head], tail - head, &text[tail..]);
}
