//! The user's secrets: what hooks may receive, and what is redacted before anything is written.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use gambrel_actions::Redact;
use gambrel_engine::read_text;
use gambrel_ledger::Redactor;
use gambrel_model::Complaint;

use crate::Setup;

/// Values of the user's secrets files, and complaints about them.
pub(crate) struct UserSecrets {
    pub(crate) values: Arc<BTreeMap<String, String>>,
    pub(crate) complaints: Vec<Complaint>,
}

impl UserSecrets {
    pub(crate) fn new(pairs: Vec<(String, String)>, complaints: Vec<Complaint>) -> Self {
        Self { values: Arc::new(pairs.into_iter().collect()), complaints }
    }
}

/// Redacts secrets from hook output that is written to disk. The redactor is built at its first
/// use.
pub(crate) fn build_redact(setup: Setup) -> Redact {
    let known = OnceLock::new();
    Redact::new(move |bytes| {
        let redactor = known.get_or_init(|| build_redactor(&setup));
        let mut out = Vec::with_capacity(bytes.len());
        for part in bytes.utf8_chunks() {
            out.extend_from_slice(redactor.redact_text(part.valid()).as_bytes());
            out.extend_from_slice(part.invalid());
        }
        out
    })
}

fn build_redactor(setup: &Setup) -> Redactor {
    // If a name is in two files, both values are secrets.
    Redactor::new(setup.env.iter(), read_secrets(setup).0.into_iter())
}

/// Every pair of the user's secrets files, and complaints about unreadable files. A later file
/// takes precedence.
pub(crate) fn read_secrets(setup: &Setup) -> (Vec<(String, String)>, Vec<Complaint>) {
    let mut pairs = Vec::new();
    let mut complaints = Vec::new();
    for path in setup.secrets_files().into_iter().rev() {
        match read_text(&path) {
            Ok(text) => pairs.extend(parse_secret_pairs(&text.unwrap_or_default())),
            Err(complaint) => complaints.push(complaint),
        }
    }
    (pairs, complaints)
}

/// Parses `NAME=value` lines without quotes and comments.
fn parse_secret_pairs(text: &str) -> Vec<(String, String)> {
    let pair = |line: &str| {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').filter(|_| !line.starts_with('#'))?;
        let value = value.trim().trim_matches(['"', '\'']);
        Some((name.trim().to_owned(), value.to_owned()))
    };
    text.lines().filter_map(pair).collect()
}
