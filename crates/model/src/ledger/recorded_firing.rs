//! Reads a firing from its journal records, also from those of earlier versions.

use serde_json::{Map, Value, json};

use super::journal::{FiringPhase, FiringRecord, FiringState};
use crate::dialect::Dialect;

/// The key of the working folder, in every native event that has one.
pub const CWD_KEY: &str = "cwd";

/// What the ledger writes in place of a secret.
const REDACTED_MARK: &str = "[redacted:";
/// What the journal writes in place of a word that a hook removed.
pub const REMOVED_MARK: &str = "[removed]";

/// A firing as the journal has it.
#[derive(Debug, Clone)]
pub struct RecordedFiring<'r> {
    record: &'r FiringRecord,
    fields: Value,
}

/// The event of a recorded firing.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedEvent {
    /// The caller's dialect.
    pub from: String,
    /// The native event's name.
    pub name: String,
    /// The payload.
    pub native: Value,
    /// How the payload differs from what the caller sent; empty if it does not.
    pub differences: Vec<String>,
}

impl<'r> RecordedFiring<'r> {
    /// Joins the fields of all records of a firing.
    pub fn new(record: &'r FiringRecord) -> Self {
        let own = record.records.iter().filter(|one| one.step != FiringPhase::Late);
        let fields = own.filter_map(|one| one.body.as_object()).flatten();
        let fields: Map<_, _> = fields.map(|(key, field)| (key.clone(), field.clone())).collect();
        Self { record, fields: Value::Object(fields) }
    }

    /// A field of its records; null if it has none.
    pub fn field(&self, key: &str) -> &Value {
        &self.fields[key]
    }

    /// A text of its records; empty if it has none.
    pub fn text(&self, key: &str) -> &str {
        self.fields[key].as_str().unwrap_or_default()
    }

    /// A list of its records; empty if it has none.
    pub fn list(&self, key: &str) -> &[Value] {
        self.fields[key].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// What became of it: `running`, `finished` or `interrupted`.
    pub fn state_word(&self) -> &'static str {
        match self.record.state {
            FiringState::Running => "running",
            FiringState::Finished => "finished",
            FiringState::Interrupted => "interrupted",
        }
    }

    /// Outcomes of detached hooks that ended after the firing.
    pub fn late_outcomes(&self) -> Vec<&'r Value> {
        let late = self.record.records.iter().filter(|one| one.step == FiringPhase::Late);
        late.map(|one| &one.body).collect()
    }

    /// Failures of the environment, also those of detached hooks.
    pub fn troubles(&self) -> Vec<&Value> {
        let late = self.late_outcomes().into_iter();
        let late = late.filter_map(|body| body["troubles"].as_array()).flatten();
        self.list("troubles").iter().chain(late).collect()
    }

    /// The event, if the journal has its payload.
    pub fn event(&self, dialects: &[&Dialect]) -> Option<RecordedEvent> {
        let (from, name) = (self.text("from"), self.text("event"));
        let dialect = dialects.iter().find(|dialect| dialect.name == from)?;
        let mut native = self.field("native").as_object()?.clone();
        // The record has these fields anyway, so they are left out of the payload.
        let properties = &dialect.properties;
        let session = self.record.session.as_str();
        add_if_absent(&mut native, properties.event_keys, name);
        add_if_absent(&mut native, properties.session_keys, session);
        add_if_absent(&mut native, &[CWD_KEY], self.text("cwd"));
        let native = Value::Object(native);
        let differences = self.find_differences(&native);
        Some(RecordedEvent { from: from.to_owned(), name: name.to_owned(), native, differences })
    }

    fn find_differences(&self, native: &Value) -> Vec<String> {
        let text = native.to_string();
        let list = |key: &str| {
            let pointers = self.list(key).iter().filter_map(Value::as_str);
            pointers.map(|at| at.trim_start_matches('/').replace('/', ".")).collect::<Vec<_>>()
        };
        let mut differences: Vec<String> =
            list("cut").iter().map(|field| format!("`{field}` is cut")).collect();
        let left_out = list("left_out");
        let without = left_out.iter().map(|field| match field.as_str() {
            "" => "it is left out".to_owned(),
            field => format!("`{field}` is left out"),
        });
        differences.extend(without);
        if text.contains(REDACTED_MARK) {
            differences.push("secrets are redacted".to_owned());
        }
        if text.contains(REMOVED_MARK) {
            differences.push("words that a hook removed are left out".to_owned());
        }
        differences
    }

    /// The firing as `log --json` and `show --json` print it.
    pub fn to_json(&self) -> Value {
        let or = |key: &str, default: Value| match self.field(key) {
            Value::Null => default,
            field => field.clone(),
        };
        let ruling = self.field("ruling").clone();
        let mut json = json!({
            "id": self.record.id, "at": self.record.at, "session": self.record.session,
            "state": self.state_word(),
            "from": self.field("from"), "hosted": or("hosted", json!(false)),
            "event": self.field("event"), "moment": self.field("moment"),
            "tool": self.field("tool"), "cwd": self.field("cwd"),
            "trusts_all_by": self.field("trusts_all_by"),
            "ruling": ruling, "said": or("said", ruling.clone()),
            "troubles": self.troubles(), "late": self.late_outcomes(),
        });
        for key in ["reasons", "says", "trail", "losses"] {
            let empty = if ruling.is_null() { Value::Null } else { json!([]) };
            json[key] = or(key, empty);
        }
        for key in ["rewrites", "native", "cut", "left_out"] {
            json[key] = self.field(key).clone();
        }
        json
    }
}

/// Adds a text under the first of these keys, if the object has none of them.
fn add_if_absent(object: &mut Map<String, Value>, keys: &[&str], text: &str) {
    let is_there = keys.iter().any(|key| object.contains_key(*key));
    if let Some(key) = keys.first().filter(|_| !is_there && !text.is_empty()) {
        object.insert((*key).to_owned(), text.into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::RecordedFiring;
    use crate::ledger::{FiringPhase, FiringRecord, FiringState, JournalRecord, ProcessOrigin};

    fn firing(bodies: &[(FiringPhase, Value)]) -> FiringRecord {
        let record = |(step, body): &(FiringPhase, Value)| JournalRecord {
            id: "1-a".into(),
            at: 1,
            step: *step,
            session: "s".into(),
            origin: ProcessOrigin::default(),
            body: body.clone(),
        };
        FiringRecord {
            seq: 1,
            id: "1-a".into(),
            at: 1,
            session: "s".into(),
            state: FiringState::Finished,
            records: bodies.iter().map(record).collect(),
        }
    }

    #[test]
    fn reads_records_of_earlier_versions() {
        let old = firing(&[
            (FiringPhase::Accepted, json!({"hosted": true, "from": "claude", "tool": null})),
            (FiringPhase::Started, json!({"hooks": ["h"]})),
            (FiringPhase::Finished, json!({"ruling": "deny", "said": "ask", "reasons": []})),
        ]);
        let json = RecordedFiring::new(&old).to_json();
        assert_eq!(json["hosted"], true);
        assert_eq!((&json["ruling"], &json["said"]), (&json!("deny"), &json!("ask")));
        assert_eq!((&json["trail"], &json["native"]), (&json!([]), &Value::Null));
    }

    #[test]
    fn fills_in_fields_that_are_left_out() {
        let new = firing(&[(FiringPhase::Finished, json!({"from": "x", "ruling": "silent"}))]);
        let json = RecordedFiring::new(&new).to_json();
        assert_eq!((&json["hosted"], &json["said"]), (&json!(false), &json!("silent")));
        assert_eq!((&json["reasons"], &json["troubles"]), (&json!([]), &json!([])));
    }
}
