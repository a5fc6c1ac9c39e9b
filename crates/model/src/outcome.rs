//! What came back from running a call. No judgement in it: a timeout is not a deny, and a program
//! that could not start is neither. Dialects read it; actions write it.

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
    /// What an action without a process was answered.
    pub answer: Option<Value>,
    /// Why what came back counts as a failure all the same: a status, a tool's own error.
    #[serde(default, rename = "fault")]
    pub failure: Option<String>,
    /// The trusted file that changed while it ran: nobody knows which bytes ran.
    #[serde(default)]
    pub changed: Option<String>,
    /// What ended it before its own time was over, where something did.
    #[serde(default, rename = "cut")]
    pub cut_short_by: Option<String>,
    /// How long all attempts took.
    #[serde(rename = "took")]
    pub elapsed: Duration,
    /// How many attempts were made.
    pub attempts: u32,
    /// What was started, for the record: the program and its arguments.
    pub command: Vec<String>,
    /// What else happened (`leak: …`, `killed 3 processes`), for the trail.
    pub remarks: Vec<String>,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// The process ended by itself.
    Exited(i32),
    /// A signal ended it that was not ours.
    Signalled(i32),
    /// An action without a process got its answer.
    Answered,
    /// The deadline passed; what was running has been killed.
    #[serde(rename = "late")]
    TimedOut,
    /// It could not be started, and why.
    #[serde(rename = "unstarted")]
    FailedToStart(String),
    /// It has nothing to do with such events, as its own text shows: nothing of it ran.
    #[serde(rename = "passed")]
    NotApplicable,
    /// Started, and left to a supervisor.
    Detached,
    /// Over, after it had been left running: how, nobody could see.
    #[serde(rename = "ended")]
    EndedUnobserved,
}

impl End {
    /// The word that the trail uses.
    pub fn word(&self) -> &'static str {
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
}

/// How much of the beginning is shown of a stream that is not kept as a whole.
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
    pub fn text(&self) -> String {
        if !self.is_truncated() && self.tail.is_empty() {
            return String::from_utf8_lossy(&self.bytes).into_owned();
        }
        // Nobody reads more of what is not whole.
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

    /// What ended something whose caller waits no longer.
    pub fn budget_reason(after: Duration) -> String {
        format!("the budget was over after {} ms", after.as_millis())
    }

    /// Why it was late, in words: by its own timeout, or cut short before.
    pub fn timeout_reason(&self, timeout: Duration) -> String {
        match &self.cut_short_by {
            Some(why) => format!("cut short: {why}"),
            None => format!("timed out after {} s", timeout.as_secs_f64()),
        }
    }

    /// Whether the call did what was asked of it: exit 0, or an answer.
    pub fn is_success(&self) -> bool {
        self.failure.is_none()
            && matches!(
                self.end,
                End::Exited(0) | End::Answered | End::NotApplicable | End::Detached
            )
    }
}
