//! Reads `guardrails` of a stage or a node: the limits at which a stage completes.

use gambrel_document::DocumentFields;
use gambrel_model::text::split_words;
use gambrel_model::{Complaint, SourceSpan};

use crate::plan::NodeProvider;
use crate::usage::UsdAmount;
use crate::usage_format::UsageFormat;

/// The keys of `guardrails`.
pub const GUARDRAIL_KEYS: &str = "max_runtime_seconds max_cost max_tokens";
const REPORT_HELP: &str = "`claude -p --output-format json` or `stream-json` prints tokens and \
     cost, `codex exec --json` prints tokens; any agent may write `usage` to result.json";

/// `guardrails` as written: every key may be absent.
#[derive(Debug, Clone, Default)]
pub struct WrittenGuardrails {
    /// Seconds after which the agent is ended.
    pub max_runtime_seconds: Option<f64>,
    max_cost: Option<(f64, SourceSpan)>,
    max_tokens: Option<(u64, SourceSpan)>,
}

impl WrittenGuardrails {
    /// Reads the map under `guardrails`.
    pub fn read(fields: &mut DocumentFields<'_>) -> Self {
        let node = fields.read_map("guardrails", "write `guardrails: {max_cost: 5}`");
        let read = |inner: &mut DocumentFields<'_>| {
            inner.warn_unknown_keys(&split_words(GUARDRAIL_KEYS));
            let runtime = inner.read_seconds("max_runtime_seconds");
            Self {
                max_runtime_seconds: runtime.map(|limit| limit.as_secs_f64()),
                max_cost: read_cost(inner),
                max_tokens: read_tokens(inner),
            }
        };
        node.map(|node| fields.read_inner(node, read)).unwrap_or_default()
    }

    /// This with the keys of another one in place of its own.
    #[must_use]
    pub fn overridden_by(self, other: Self) -> Self {
        Self {
            max_runtime_seconds: other.max_runtime_seconds.or(self.max_runtime_seconds),
            max_cost: other.max_cost.or(self.max_cost),
            max_tokens: other.max_tokens.or(self.max_tokens),
        }
    }

    /// The highest cost, in US dollars.
    pub fn cost_limit(&self) -> Option<f64> {
        self.max_cost.as_ref().map(|(limit, _)| *limit)
    }

    /// The most tokens.
    pub fn token_limit(&self) -> Option<u64> {
        self.max_tokens.as_ref().map(|(limit, _)| *limit)
    }

    /// Warns of limits on what the agent does not print.
    pub fn warn_unreported(&self, provider: &NodeProvider) -> Vec<Complaint> {
        let format = UsageFormat::of_agent(&provider.spec);
        let cost = self.max_cost.as_ref().filter(|_| !format.is_some_and(UsageFormat::has_cost));
        let tokens = self.max_tokens.as_ref().filter(|_| format.is_none());
        let warning = |key: &str, what: &str, span: &SourceSpan| {
            let message = format!(
                "`{key}` counts what the agent reports, and `{}` prints no {what}",
                provider.name
            );
            Complaint::warning(span.clone(), message).with_help(REPORT_HELP)
        };
        let cost = cost.map(|(_, span)| warning("max_cost", "cost", span));
        let tokens = tokens.map(|(_, span)| warning("max_tokens", "tokens", span));
        cost.into_iter().chain(tokens).collect()
    }
}

fn read_cost(fields: &mut DocumentFields<'_>) -> Option<(f64, SourceSpan)> {
    let node = fields.node("max_cost")?;
    let written = node.to_value().as_f64().filter(|limit| *limit > 0.0);
    let limit = written.filter(|limit| UsdAmount::from_usd(*limit).is_some());
    if limit.is_none() {
        let message = "`max_cost` should be a number of US dollars above 0, up to 1000000";
        fields.add_error("max_cost", message, "write a number like 2.5");
    }
    Some((limit?, fields.span_of(node)))
}

fn read_tokens(fields: &mut DocumentFields<'_>) -> Option<(u64, SourceSpan)> {
    let node = fields.node("max_tokens")?;
    let limit = node.to_value().as_u64().filter(|limit| *limit > 0);
    if limit.is_none() {
        let message = "`max_tokens` should be a whole number from 1";
        fields.add_error("max_tokens", message, "write a number like 200000");
    }
    Some((limit?, fields.span_of(node)))
}
