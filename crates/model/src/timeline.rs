//! A run as a picture: stages, iterations and hooks in the order in which they happened. Knows no
//! page and no terminal.

use serde::Serialize;

/// One run in a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RunSummary {
    /// The session.
    pub session: String,
    /// The pipeline or stage.
    pub pipeline: String,
    /// `running`, `complete`, `failed` …
    pub status: String,
    /// When it began, milliseconds since the epoch.
    pub began: u64,
    /// The id of the current or last stage.
    pub stage: String,
    /// The current or last iteration.
    pub iteration: u32,
    /// How many lines its log has: what tells two states of a run apart.
    pub revision: u64,
}

/// A run with everything that happened in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RunTimeline {
    /// The run as in a list.
    pub summary: RunSummary,
    /// When it ended or was last seen, milliseconds since the epoch.
    pub ended: u64,
    /// What it counted, in words.
    pub counts: String,
    /// The stages that have begun, in order.
    pub stages: Vec<StageTimeline>,
    /// What happened to the run as a whole: a failure, a pause.
    pub notes: Vec<TimelineNote>,
}

/// A stage of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct StageTimeline {
    /// Its id.
    pub id: String,
    /// Its agent.
    pub agent: String,
    /// Why it is complete; empty while it is not.
    pub reason: String,
    /// Hooks outside its iterations.
    pub hooks: Vec<TimelineHook>,
    /// Its iterations. One that was started again is there again.
    pub iterations: Vec<IterationTimeline>,
}

/// One try of an iteration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct IterationTimeline {
    /// Its number.
    pub number: u32,
    /// Which try it is, from 1.
    pub attempt: u32,
    /// When it began, milliseconds since the epoch.
    pub began: u64,
    /// When its last line was written.
    pub ended: u64,
    /// When the agent worked: from and until. The last one may go on.
    pub agent_spans: Vec<(u64, u64)>,
    /// Whether the agent works now.
    pub is_agent_working: bool,
    /// `continue`, `stop` or `error`; empty before.
    pub decision: String,
    /// Why.
    pub reason: String,
    /// What the agent says it did.
    pub summary: String,
    /// Its hooks, in order.
    pub hooks: Vec<TimelineHook>,
    /// What else happened: an error, a follow-up, a commit.
    pub notes: Vec<TimelineNote>,
}

/// A hook that ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TimelineHook {
    /// Its title.
    pub title: String,
    /// Its product.
    pub product: String,
    /// The moment.
    pub moment: String,
    /// Its ruling: `silent`, `allow`, `ask`, `defer`, `deny` or `halt`.
    pub verdict: String,
    /// What it rewrote, such as `input` and `output`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rewrote: Vec<String>,
    /// Whether it gave no answer: it was late, did not start, or was killed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_unanswered: bool,
    /// How long it ran, in milliseconds.
    pub ms: u64,
    /// Its reasons and remarks.
    pub why: String,
    /// The tool, if the moment is about one.
    pub tool: String,
    /// The call in short.
    pub call: String,
}

impl TimelineHook {
    /// What a hook rewrote, by the slots of its patch. The caller's own slots repeat others.
    pub fn name_rewrites<'s>(slots: impl Iterator<Item = &'s str>) -> Vec<String> {
        slots.filter(|slot| !slot.contains('.')).map(str::to_owned).collect()
    }

    /// Its decision in words; empty if it had no objection.
    pub fn decision_words(&self) -> String {
        let ruling = Some(self.verdict.as_str()).filter(|ruling| !matches!(*ruling, "" | "silent"));
        let rewrites =
            (!self.rewrote.is_empty()).then(|| format!("rewrote {}", self.rewrote.join(", ")));
        let words: Vec<String> = ruling.map(str::to_owned).into_iter().chain(rewrites).collect();
        match self.is_unanswered && words.is_empty() {
            true => "no answer".to_owned(),
            false => words.join(", "),
        }
    }
}

/// Something that happened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TimelineNote {
    /// When, milliseconds since the epoch.
    pub at: u64,
    /// What, in words.
    pub text: String,
    /// Whether it is bad.
    pub is_trouble: bool,
}
