//! The names of sessions and nodes.

use gambrel_model::iso_time;
use gambrel_model::text::{sanitize_name, truncate_chars};

/// The most characters of a session's name.
pub const MAX_SESSION_CHARS: usize = 64;

/// A time as part of a name: `20261118-083000`.
pub fn time_in_name(ms: u64) -> String {
    iso_time(ms, false).replace(['-', ':', 'Z'], "").replace('T', "-")
}

/// Whether a text can be the name of a session.
pub fn is_session_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !name.is_empty() && name.len() <= MAX_SESSION_CHARS && name.chars().all(is_plain)
}

/// A name with only the characters that a folder and a session may have.
pub fn clean_name(name: &str) -> String {
    let name = sanitize_name(&truncate_chars(name, MAX_SESSION_CHARS, ""));
    if name.is_empty() { "stage".to_owned() } else { name }
}
