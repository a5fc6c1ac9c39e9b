//! The tokens and the cost that an agent reports. A value that cannot be right is a warning and
//! counts as not reported. It must not know where a report comes from.

use gambrel_model::text::truncate_chars;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// The most tokens of one report. More is a mistake of the agent.
const MAX_TOKENS: u64 = 1_000_000_000_000;
/// The highest cost of one report, in US dollars. More is a mistake of the agent.
const MAX_COST_USD: f64 = 1_000_000.0;
const NANOS_PER_USD: f64 = 1e9;
/// The most characters of a wrong value in a warning.
const MAX_SHOWN_CHARS: usize = 40;

/// An amount in US dollars, counted in billionths so that sums are exact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsdAmount(u64);

impl UsdAmount {
    /// The amount; `None` if it is negative, not a number or too high.
    pub fn from_usd(usd: f64) -> Option<Self> {
        let is_possible = (0.0..=MAX_COST_USD).contains(&usd);
        is_possible.then(|| Self::round_usd(usd))
    }

    /// The nearest amount, also above the limit of one report.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast to an integer stays in its range"
    )]
    fn round_usd(usd: f64) -> Self {
        Self((usd * NANOS_PER_USD).round() as u64)
    }

    /// The amount as a number of dollars.
    #[expect(clippy::cast_precision_loss, reason = "it is shown, not counted on")]
    pub fn to_usd(self) -> f64 {
        self.0 as f64 / NANOS_PER_USD
    }
}

impl Serialize for UsdAmount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.to_usd())
    }
}

impl<'de> Deserialize<'de> for UsdAmount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A sum that gambrel wrote may be higher than one report.
        Ok(Self::round_usd(f64::deserialize(deserializer)?))
    }
}

/// What an agent reports about itself. Absent is not reported, which differs from zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentUsage {
    /// Tokens that the model read, also from its cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens that the model wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<UsdAmount>,
    /// How often the model answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_turns: Option<u64>,
}

impl AgentUsage {
    /// Whether nothing is reported.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds another report.
    pub fn add(&mut self, other: &Self) {
        self.input_tokens = add_counts(self.input_tokens, other.input_tokens);
        self.output_tokens = add_counts(self.output_tokens, other.output_tokens);
        self.model_turns = add_counts(self.model_turns, other.model_turns);
        let nanos = |amount: UsdAmount| amount.0;
        let cost = add_counts(self.cost_usd.map(nanos), other.cost_usd.map(nanos));
        self.cost_usd = cost.map(UsdAmount);
    }

    /// All tokens; `None` if none are reported.
    pub fn all_tokens(&self) -> Option<u64> {
        add_counts(self.input_tokens, self.output_tokens)
    }
}

fn add_counts(first: Option<u64>, second: Option<u64>) -> Option<u64> {
    match (first, second) {
        (Some(first), Some(second)) => Some(first.saturating_add(second)),
        (first, second) => first.or(second),
    }
}

/// A report, and what is wrong with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageReport {
    /// The values that can be right.
    pub usage: AgentUsage,
    /// One text for each other value.
    pub warnings: Vec<String>,
}

impl UsageReport {
    /// Adds another report.
    pub fn add(&mut self, other: Self) {
        self.usage.add(&other.usage);
        self.warnings.extend(other.warnings);
    }
}

/// Reads the values of one report.
pub(crate) struct UsageReader<'s> {
    source: &'s str,
    warnings: Vec<String>,
}

impl<'s> UsageReader<'s> {
    /// A reader for a source, which its warnings name.
    pub fn new(source: &'s str) -> Self {
        Self { source, warnings: Vec::new() }
    }

    /// The report with some values.
    pub fn finish(self, usage: AgentUsage) -> UsageReport {
        UsageReport { usage, warnings: self.warnings }
    }

    /// The map `usage`; an empty one where it is absent.
    pub fn read_map(&mut self, value: Option<&Value>) -> Map<String, Value> {
        match value {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(map)) => map.clone(),
            Some(other) => {
                self.warn("usage", other, "a map");
                Map::new()
            }
        }
    }

    /// A number of tokens or turns.
    pub fn read_count(&mut self, key: &str, value: Option<&Value>) -> Option<u64> {
        let value = value.filter(|value| !value.is_null())?;
        let count = value.as_u64().or_else(|| whole_number(value.as_f64()?));
        let count = count.filter(|count| *count <= MAX_TOKENS);
        if count.is_none() {
            self.warn(key, value, &format!("a whole number from 0 to {MAX_TOKENS}"));
        }
        count
    }

    /// A cost in US dollars.
    pub fn read_cost(&mut self, key: &str, value: Option<&Value>) -> Option<UsdAmount> {
        let value = value.filter(|value| !value.is_null())?;
        let cost = value.as_f64().and_then(UsdAmount::from_usd);
        if cost.is_none() {
            self.warn(key, value, &format!("a number from 0 to {MAX_COST_USD}"));
        }
        cost
    }

    fn warn(&mut self, key: &str, value: &Value, wanted: &str) {
        let shown = truncate_chars(&value.to_string(), MAX_SHOWN_CHARS, "…");
        let source = self.source;
        let text = format!("{source}: `{key}` is {shown}, not {wanted}, and is not counted");
        self.warnings.push(text);
    }
}

/// A number without a fraction, which JSON may write as `12.0`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
#[expect(clippy::cast_precision_loss, reason = "the limit is far below 2^53")]
fn whole_number(number: f64) -> Option<u64> {
    let is_whole = number.fract() == 0.0 && (0.0..=MAX_TOKENS as f64).contains(&number);
    is_whole.then_some(number as u64)
}

/// Reads `usage` of a file that an agent wrote: `input_tokens`, `output_tokens`, `cost_usd`.
pub fn read_usage(source: &str, value: Option<&Value>) -> UsageReport {
    let mut reader = UsageReader::new(source);
    let map = reader.read_map(value);
    let usage = AgentUsage {
        input_tokens: reader.read_count("usage.input_tokens", map.get("input_tokens")),
        output_tokens: reader.read_count("usage.output_tokens", map.get("output_tokens")),
        cost_usd: reader.read_cost("usage.cost_usd", map.get("cost_usd")),
        model_turns: None,
    };
    reader.finish(usage)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{AgentUsage, UsdAmount, read_usage};

    #[test]
    fn adds_costs_exactly() {
        let tenth = json!({"cost_usd": 0.1, "input_tokens": 3});
        let mut sum = AgentUsage::default();
        for _ in 0..3 {
            sum.add(&read_usage("status.json", Some(&tenth)).usage);
        }
        assert_eq!(json!(sum), json!({"input_tokens": 9, "cost_usd": 0.3}));
        let again: AgentUsage = serde_json::from_value(json!(sum)).unwrap();
        assert_eq!(again, sum);
    }

    #[test]
    fn ignores_impossible_values_with_a_warning() {
        let wrong = [
            json!(-1),
            json!(1.5),
            json!("12"),
            json!(true),
            json!([]),
            json!(1e300),
            json!(u64::MAX),
        ];
        for value in wrong {
            let report = read_usage(
                "result.json",
                Some(&json!({"input_tokens": value, "output_tokens": 7.0})),
            );
            assert_eq!(report.usage.input_tokens, None, "{value}");
            assert_eq!(report.usage.output_tokens, Some(7), "{value}");
            assert_eq!(report.warnings.len(), 1, "{value}");
            assert!(report.warnings[0].starts_with("result.json: `usage.input_tokens` is "));
        }
        for value in [json!(-0.01), json!("1"), json!(1e7), json!({})] {
            let report = read_usage("result.json", Some(&json!({"cost_usd": value})));
            assert!(report.usage.is_empty() && report.warnings.len() == 1, "{value}");
        }
        let report = read_usage("result.json", Some(&json!([1])));
        assert!(report.usage.is_empty() && report.warnings.len() == 1);
        assert_eq!(read_usage("result.json", None), super::UsageReport::default());
        assert_eq!(UsdAmount::from_usd(f64::NAN), None);
    }
}
