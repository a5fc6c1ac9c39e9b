//! Fills the strings of a JSON value. The shape and the keys are the author's and never change.

use serde_json::Value;

use super::{Style, expand_plain};
use crate::json_texts::map_texts;

/// Fills every string value; structure, keys, numbers and booleans stay as they are.
pub fn expand_json(value: &Value, style: Style, lookup: &dyn Fn(&str) -> Option<String>) -> Value {
    map_texts(value, &|text| expand_plain(text, style, lookup))
}
