//! The two editions of oh-my-pi: `hooks`, its documented runner, and `extensions`, which it runs
//! now. The user's setting selects a module's edition; a caller names its own in the event.

use gambrel_model::{Event, Hook};
use serde_json::Value;

use crate::payload::text;

/// The newer edition; the default is `hooks`.
pub const EXTENSIONS: &str = "extensions";
/// The field of an event in which a caller names its edition.
pub const FIELD: &str = "edition";
/// The setting by which modules run, and callers that do not say.
const SETTING: &str = "GAMBREL_OMP_EDITION";

/// Whether a module is run by the rules of the newer edition.
pub fn is_newer(hook: &Hook) -> bool {
    hook.draft.config[FIELD] == EXTENSIONS
}

/// Whether a caller takes what only the newer edition can say: by the event that it sends, else by
/// the setting.
pub fn speaks_newer(native: &Value, setting: Option<&str>) -> bool {
    let said = text(native, FIELD).or_else(|| text(native.get("ctx")?, FIELD));
    said.as_deref().or(setting) == Some(EXTENSIONS)
}

/// The same of an event that was understood.
pub fn hears_newer(event: &Event) -> bool {
    speaks_newer(&event.native, setting(&event.env))
}

/// What the surroundings say.
pub fn setting(env: &std::collections::BTreeMap<String, String>) -> Option<&str> {
    env.get(SETTING).map(String::as_str)
}
