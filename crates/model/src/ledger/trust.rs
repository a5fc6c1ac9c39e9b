//! The user's trust in project hooks. It is never shared between machines: another machine's
//! approval must not run code here.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::error::LedgerResult;
use crate::event::is_zero;

/// Entries by the key of a hook.
pub type TrustEntries = BTreeMap<String, TrustEntry>;

/// Stores trust on this machine.
pub trait TrustStore: Send + Sync {
    /// All trust entries by key.
    fn trust_entries(&self) -> LedgerResult<TrustEntries>;

    /// Changes the trust entries exclusively. `change` may be called again after a conflict.
    fn update_trust(&self, change: &mut dyn FnMut(&mut TrustEntries)) -> LedgerResult;

    /// Stores the text of small trusted files by their hashes, so that the next review can show
    /// what changed. Removes copies that are not in use. Trust does not depend on them.
    fn keep_trusted_texts(&self, texts: &[(&str, &[u8])], in_use: &BTreeSet<&str>) -> LedgerResult;

    /// The text of a trusted file, with secrets redacted.
    fn trusted_text(&self, digest: &str) -> Option<String>;
}

/// The user's trust decision about one project hook.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustEntry {
    /// The hash of all that was trusted: the definition, and the lists below.
    pub hash: String,
    /// The version of the rules by which the lists were made; 0 for a record without lists.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rules: u32,
    /// The folder that names in the lists are relative to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub root: String,
    /// The hash of the definition alone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub definition: String,
    /// Every file that the hook is made of, with the hash of its bytes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Patterns, with the files that fit them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub globs: BTreeMap<String, Vec<String>>,
    /// Whether it is made of the same files wherever it runs, for the same project.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anchored: bool,
    /// Why some of the code that runs cannot be found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opaque: Vec<String>,
    /// True when the user refused it (`gambrel untrust`).
    #[serde(default)]
    pub denied: bool,
    /// What was shown: the literal command.
    pub shown: String,
    /// Milliseconds since the epoch.
    pub at: u64,
}
