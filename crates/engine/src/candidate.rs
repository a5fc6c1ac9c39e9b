//! A hook that was considered for an event, and whether it runs. It must not know how hooks are
//! selected or run.

use std::sync::Arc;

use gambrel_model::{EventSpec, Hook};

use crate::covered::HookFile;

/// One hook that was considered for an event.
#[derive(Clone)]
pub struct Candidate {
    /// The hook.
    pub hook: Arc<Hook>,
    /// The event spec under which it receives the event.
    pub row: &'static EventSpec,
    /// Whether it is to run.
    pub selection: Selection,
    /// A remark for the trail.
    pub remark: String,
    /// The files that were read for its trust.
    pub(crate) parts: Arc<[HookFile]>,
    /// Whether these files are the same in every folder.
    pub(crate) anchored: bool,
}

/// Whether a candidate runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// It runs.
    Run,
    /// It does not run.
    Skip(Skip),
    /// The hook at this location replaces it, if that hook runs.
    Replaced(String),
}

/// Why a hook does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    /// The reason.
    pub why: String,
    /// Whether it denies at a gate under `--strict`.
    pub grave: bool,
    /// Whether it does not run because no time is left.
    pub late: bool,
}

impl Skip {
    pub(crate) fn with_reason(why: impl Into<String>) -> Self {
        Self { why: why.into(), grave: false, late: false }
    }

    pub(crate) fn fails_strict(why: impl Into<String>) -> Self {
        Self { why: why.into(), grave: true, late: false }
    }

    pub(crate) fn out_of_time(why: impl Into<String>) -> Self {
        Self { late: true, ..Self::fails_strict(why) }
    }
}

/// The remark of a hook whose replacement does not run.
pub(crate) fn replaced_reason(by: &str) -> String {
    format!("runs in its own place, because {by} does not")
}
