//! Reads `termination`, `runs` and the older `completion` of a stage or a node, and merges them.

use gambrel_document::DocumentFields;
use gambrel_model::text::split_words;

use crate::plan::{Termination, TerminationKind};

/// The maximum of a stage that is run alone, where nothing sets it.
pub const DEFAULT_MAX_ITERATIONS: u32 = 25;
const DEFAULT_MIN_ITERATIONS: u32 = 2;
const DEFAULT_CONSENSUS: u32 = 2;

/// The keys of `termination`.
pub const TERMINATION_KEYS: &str =
    "type iterations max min_iterations consensus command judge check_before max_iterations";
/// The words of `termination.type`.
pub const TERMINATION_WORDS: [&str; 3] = ["fixed", "judgment", "queue"];
/// The words of `completion`, which older stages have, and what they mean now.
pub const OLD_WORDS: [(&str, TerminationKind); 3] = [
    ("beads-empty", TerminationKind::Queue),
    ("plateau", TerminationKind::Judgment),
    ("fixed-n", TerminationKind::Fixed),
];
/// The command of a queue that names none.
pub const BEADS_COMMAND: &str = "bd ready --label=\"pipeline/${SESSION}\"";

/// `termination` as written: every key may be absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WrittenTermination {
    /// The rule.
    pub kind: Option<TerminationKind>,
    /// `iterations`.
    pub iterations: Option<u32>,
    /// `max`.
    pub max: Option<u32>,
    /// `min_iterations`.
    pub min_iterations: Option<u32>,
    /// `consensus`.
    pub consensus: Option<u32>,
    /// `command`.
    pub command: Option<String>,
    /// `check_before`.
    pub check_before: Option<bool>,
}

impl WrittenTermination {
    /// Reads the map under a key: `termination`, or `runs`.
    pub fn read(fields: &mut DocumentFields<'_>, key: &str) -> Option<Self> {
        let node = fields.read_map(key, "write `termination: {type: fixed, iterations: 3}`")?;
        Some(fields.read_inner(node, |inner| {
            inner.warn_unknown_keys(&split_words(TERMINATION_KEYS));
            Self {
                kind: inner.read_word("type", &TERMINATION_WORDS).and_then(parse_kind),
                iterations: read_positive(inner, "iterations"),
                max: read_positive(inner, "max").or_else(|| read_positive(inner, "max_iterations")),
                min_iterations: read_positive(inner, "min_iterations"),
                consensus: read_positive(inner, "consensus"),
                command: inner.read_text("command"),
                check_before: inner.read_flag("check_before"),
            }
        }))
    }

    /// Reads `completion` and the keys beside it, which older stages have instead.
    pub fn read_old(fields: &mut DocumentFields<'_>) -> Option<Self> {
        let words = OLD_WORDS.map(|(word, _)| word);
        let word = fields.read_word("completion", &words)?;
        let kind = OLD_WORDS.iter().find(|(known, _)| *known == word).map(|(_, kind)| *kind);
        Some(Self {
            kind,
            min_iterations: read_positive(fields, "min_iterations"),
            consensus: read_positive(fields, "consensus"),
            ..Self::default()
        })
    }

    /// This with the keys of another one in place of its own.
    #[must_use]
    pub fn overridden_by(self, other: Self) -> Self {
        Self {
            kind: other.kind.or(self.kind),
            iterations: other.iterations.or(self.iterations),
            max: other.max.or(self.max),
            min_iterations: other.min_iterations.or(self.min_iterations),
            consensus: other.consensus.or(self.consensus),
            command: other.command.or(self.command),
            check_before: other.check_before.or(self.check_before),
        }
    }

    /// The termination of a node in a pipeline: without `max` and `iterations`, `runs` is the
    /// maximum; `iterations` is the maximum otherwise.
    pub fn in_pipeline(self, runs: Option<u32>) -> Termination {
        let max = self.max.or(self.iterations).or(runs).unwrap_or(1);
        Self { iterations: None, ..self }.with_max(max)
    }

    /// The termination of a stage that is run alone.
    pub fn alone(self, max: Option<u32>) -> Termination {
        let max = max.or(self.max).or(self.iterations).unwrap_or(DEFAULT_MAX_ITERATIONS);
        self.with_max(max)
    }

    fn with_max(self, max: u32) -> Termination {
        let kind = self.kind.unwrap_or(TerminationKind::Fixed);
        let is_judgment = kind == TerminationKind::Judgment;
        let is_queue = kind == TerminationKind::Queue;
        let judgment =
            |written: Option<u32>, default: u32| is_judgment.then(|| written.unwrap_or(default));
        Termination {
            kind,
            max,
            iterations: self.iterations.filter(|_| kind == TerminationKind::Fixed),
            min_iterations: judgment(self.min_iterations, DEFAULT_MIN_ITERATIONS),
            consensus: judgment(self.consensus, DEFAULT_CONSENSUS),
            command: is_queue.then(|| self.command.unwrap_or_else(|| BEADS_COMMAND.to_owned())),
            check_before: is_queue && self.check_before.unwrap_or(false),
        }
    }
}

impl Termination {
    /// The most iterations; `None` if there is no limit, as for a spec.
    pub fn limit(&self) -> Option<u32> {
        Some(self.max).filter(|max| *max < u32::MAX)
    }

    /// After how many iterations a fixed stage ends.
    pub fn fixed_count(&self) -> u32 {
        self.iterations.unwrap_or(self.max)
    }
}

fn parse_kind(word: &str) -> Option<TerminationKind> {
    match word {
        "fixed" => Some(TerminationKind::Fixed),
        "judgment" => Some(TerminationKind::Judgment),
        "queue" => Some(TerminationKind::Queue),
        _ => None,
    }
}

/// A whole number from 1, which may be written as text.
pub fn read_positive(fields: &mut DocumentFields<'_>, key: &str) -> Option<u32> {
    let node = fields.node(key)?;
    let written = node.text().and_then(|text| text.trim().parse::<u32>().ok());
    if written.is_none_or(|number| number == 0) {
        let message = format!("`{key}` should be a whole number from 1");
        fields.add_error(key, message, "write a number like 3");
        return None;
    }
    written
}
