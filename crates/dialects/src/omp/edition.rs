//! The two editions of oh-my-pi: `hooks`, its documented runner, and `extensions`, its current
//! runner. The user's setting selects a module's edition; a caller sends its own in the event.

use gambrel_model::{Event, Hook};
use serde_json::Value;

use crate::event_parts::text_field;

/// The newer edition; the default is `hooks`.
pub const EXTENSIONS: &str = "extensions";
/// The field of an event with the caller's edition.
pub const EDITION_FIELD: &str = "edition";
/// The edition of modules, and of callers that do not send one.
const EDITION_VARIABLE: &str = "GAMBREL_OMP_EDITION";

/// Whether a module runs by the rules of the newer edition.
pub fn is_extensions(hook: &Hook) -> bool {
    hook.draft.config[EDITION_FIELD] == EXTENSIONS
}

/// Whether a caller uses the newer edition, by its payload, else by the setting.
pub fn payload_is_extensions(native: &Value, setting: Option<&str>) -> bool {
    let named =
        text_field(native, EDITION_FIELD).or_else(|| text_field(native.get("ctx")?, EDITION_FIELD));
    named.as_deref().or(setting) == Some(EXTENSIONS)
}

/// Whether the caller of an event uses the newer edition.
pub fn caller_is_extensions(event: &Event) -> bool {
    payload_is_extensions(&event.native, edition_setting(&event.context.env))
}

/// The setting in the environment.
pub fn edition_setting(env: &std::collections::BTreeMap<String, String>) -> Option<&str> {
    env.get(EDITION_VARIABLE).map(String::as_str)
}
