//! The result of a call, without judgement: a timeout is not a deny, and a failed start is neither.
//! Actions write it, dialects read it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The end of one call, all attempts together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How the last attempt ended.
    pub end: End,
    /// What it wrote to stdout.
    pub stdout: Captured,
    /// What it wrote to stderr.
    pub stderr: Captured,
    /// The answer of an action without a process.
    pub answer: Option<Value>,
    /// Why an answer counts as a failure: an HTTP status, a tool's error.
    #[serde(rename = "fault")]
    pub failure: Option<String>,
    /// A trusted file that changed while the hook ran.
    pub changed: Option<String>,
    /// What ended the call before its own timeout, if anything did.
    #[serde(rename = "cut")]
    pub cut_short_by: Option<CutShort>,
    /// How long all attempts took.
    #[serde(rename = "took")]
    pub elapsed: Duration,
    /// How many attempts were made.
    pub attempts: u32,
    /// What was started, for the record: the program and its arguments.
    pub command: Vec<String>,
    /// Further remarks for the trail (`leak: …`, `killed 3 processes`).
    pub remarks: Vec<String>,
}

/// What ended a call before its own timeout. Stored as its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum CutShort {
    /// The caller's budget was over after this time.
    Budget(Duration),
    /// A signal asked this process to end its hooks.
    Interrupted,
    /// Another reason.
    Other(String),
}

const BUDGET_TEXT: &str = "the budget was over after ";
const INTERRUPTED_TEXT: &str = "a signal ended gambrel";

impl fmt::Display for CutShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Budget(after) => write!(f, "{BUDGET_TEXT}{} ms", after.as_millis()),
            Self::Interrupted => f.write_str(INTERRUPTED_TEXT),
            Self::Other(why) => f.write_str(why),
        }
    }
}

impl From<CutShort> for String {
    fn from(cut: CutShort) -> Self {
        cut.to_string()
    }
}

impl From<String> for CutShort {
    fn from(text: String) -> Self {
        let ms = text.strip_prefix(BUDGET_TEXT).and_then(|rest| rest.strip_suffix(" ms"));
        match ms.and_then(|ms| ms.parse().ok()) {
            Some(ms) => Self::Budget(Duration::from_millis(ms)),
            None if text == INTERRUPTED_TEXT => Self::Interrupted,
            None => Self::Other(text),
        }
    }
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// The process ended by itself.
    Exited(i32),
    /// A signal ended it that gambrel did not send.
    Signalled(i32),
    /// An action without a process got its answer.
    Answered,
    /// The deadline passed; what was running has been killed.
    #[serde(rename = "late")]
    TimedOut,
    /// It could not be started, and why.
    #[serde(rename = "unstarted")]
    FailedToStart(String),
    /// The hook does not handle such events; nothing ran.
    #[serde(rename = "passed")]
    NotApplicable,
    /// Started, and left to a supervisor.
    Detached,
    /// Ended in the background; its exit code is unknown.
    #[serde(rename = "ended")]
    EndedUnobserved,
}

impl End {
    /// Its word in the trail.
    pub fn trail_word(&self) -> &'static str {
        match self {
            Self::Exited(_) => "exited",
            Self::Signalled(_) => "signalled",
            Self::Answered => "answered",
            Self::TimedOut => "late",
            Self::FailedToStart(_) => "unstarted",
            Self::NotApplicable => "skipped",
            Self::Detached => "detached",
            Self::EndedUnobserved => "ended",
        }
    }

    /// Whether the hook gave no answer: it was late, did not start, or was killed. Takes the word of
    /// a trail, which records have.
    pub fn is_without_answer(trail_word: &str) -> bool {
        matches!(trail_word, "late" | "unstarted" | "signalled")
    }
}

/// Length of the excerpt of a truncated stream.
const MAX_PARTIAL_TEXT_BYTES: usize = 1 << 20;

/// A stream that was read to its end, kept up to a cap.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    /// What was kept, from the beginning.
    pub bytes: Vec<u8>,
    /// The last part, when the middle was dropped.
    pub tail: Vec<u8>,
    /// How many bytes there were in all.
    pub total: u64,
    /// Where all of it is, if it was too large to keep here.
    pub spill: Option<PathBuf>,
    /// Whether it was too large, or the disk too full, for that file as well.
    #[serde(default)]
    pub partial: bool,
}

impl Captured {
    /// Everything of a short text.
    pub fn from_text(text: &str) -> Self {
        Self { bytes: text.as_bytes().to_vec(), total: text.len() as u64, ..Self::default() }
    }

    /// Whether something was dropped between `bytes` and `tail`.
    pub fn is_truncated(&self) -> bool {
        self.total > (self.bytes.len() + self.tail.len()) as u64
    }

    /// The text, with bytes that are not UTF-8 replaced, and a mark where the middle was dropped.
    pub fn to_text(&self) -> String {
        if !self.is_truncated() && self.tail.is_empty() {
            return String::from_utf8_lossy(&self.bytes).into_owned();
        }
        // A truncated stream is shown as an excerpt.
        let kept = self.bytes.len().min(MAX_PARTIAL_TEXT_BYTES);
        let head = String::from_utf8_lossy(&self.bytes[..kept]);
        let dropped = self.total.saturating_sub((kept + self.tail.len()) as u64);
        let tail = String::from_utf8_lossy(&self.tail);
        match &self.spill {
            Some(path) => {
                let much = if self.partial { "more" } else { "all" };
                let path = path.display();
                format!("{head}\n… {dropped} bytes left out, {much} in {path} …\n{tail}")
            }
            None => format!("{head}\n… {dropped} bytes left out …\n{tail}"),
        }
    }
}

impl Outcome {
    /// The outcome of a call that was never attempted.
    pub fn not_attempted(why: impl ToString) -> Self {
        Self { attempts: 0, ..Self::failed_to_start(why) }
    }

    /// The outcome of a call that could not be started.
    pub fn failed_to_start(why: impl ToString) -> Self {
        Self::from_end(End::FailedToStart(why.to_string()))
    }

    /// An outcome with nothing but its end.
    pub fn from_end(end: End) -> Self {
        Self {
            end,
            stdout: Captured::default(),
            stderr: Captured::default(),
            answer: None,
            failure: None,
            changed: None,
            cut_short_by: None,
            elapsed: Duration::ZERO,
            attempts: 1,
            command: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// The outcome of a call that a signal ended before it could start.
    pub fn interrupted() -> Self {
        let cut_short_by = Some(CutShort::Interrupted);
        Self { cut_short_by, ..Self::failed_to_start(INTERRUPTED_TEXT) }
    }

    /// Why it timed out: by its own timeout, or cut short before.
    pub fn timeout_reason(&self, timeout: Duration) -> String {
        match &self.cut_short_by {
            Some(why) => format!("cut short: {why}"),
            None => format!("timed out after {} s", timeout.as_secs_f64()),
        }
    }

    /// Whether the call succeeded: exit 0, or an answer.
    pub fn is_success(&self) -> bool {
        self.failure.is_none()
            && matches!(
                self.end,
                End::Exited(0) | End::Answered | End::NotApplicable | End::Detached
            )
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::CutShort;

    #[test]
    fn cut_short_survives_its_text() {
        let other = CutShort::Other("the budget was over after 3 ms; it asked".to_owned());
        for cut in [CutShort::Budget(Duration::from_millis(7)), CutShort::Interrupted, other] {
            let text = serde_json::to_string(&cut).unwrap();
            assert_eq!(serde_json::from_str::<CutShort>(&text).unwrap(), cut, "{text}");
        }
    }
}
