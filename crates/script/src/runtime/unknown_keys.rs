//! Warns about result keys that the caller does not read, such as `blok` for `block`. The request
//! lists the known keys; without such a list nothing is checked.

use std::collections::BTreeSet;

use gambrel_model::complaint::nearest_word;
use serde_json::{Value, json};

use crate::request::{KnownKeys, ModuleRequest};

/// Adds a warning to the effects of an answer for every unknown key in its results.
pub fn warn_unknown_keys(request: &ModuleRequest<'_>, answer: &mut Value) {
    if request.known_keys().all(|keys| keys.is_none()) {
        return;
    }
    let mut messages = BTreeSet::new();

    for (at, (event, keys)) in request.events().zip(request.known_keys()).enumerate() {
        let Some(keys) = keys else { continue };
        let round = if at == 0 { &*answer } else { &answer["then"][at - 1] };

        let results = round["results"].as_array().into_iter().flatten();
        for key in results.filter_map(Value::as_object).flat_map(|result| result.keys()) {
            messages.extend(unknown_key_warning(event, key, &keys));
        }
    }

    if messages.is_empty() {
        return;
    }
    if let Some(effects) = answer["effects"].as_array_mut() {
        let warning = |message| json!({"type": "warning", "message": message});
        effects.extend(messages.into_iter().map(warning));
    }
}

fn unknown_key_warning(event: &str, key: &str, keys: &KnownKeys<'_>) -> Option<String> {
    if keys.names.contains(&key) {
        return None;
    }

    let warning = format!("a handler of {event} answered with the unknown key `{key}`");
    match nearest_word(key, keys.names.iter().copied()) {
        Some(near) => Some(format!("{warning} (did you mean `{near}`?)")),
        None => (!keys.open).then_some(warning),
    }
}
