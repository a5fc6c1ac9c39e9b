//! The counts of a run as text.

use gambrel_runner::RunCounts;

use crate::printer::format_quantity;

/// The counts in one line: what nobody reported is left out.
pub fn describe_counts(counts: &RunCounts) -> String {
    let mut parts = vec![format_quantity(counts.turns, "turn")];
    let calls = format_quantity(counts.sum.tool_calls, "tool call");
    parts.push(match counts.sum.blocked_calls {
        0 => calls,
        blocked => format!("{calls} ({blocked} blocked)"),
    });
    parts.push(format!("{:.1} s", counts.wall_seconds));
    parts.extend(tokens_text(counts).map(|tokens| format!("{tokens} tokens")));
    parts.extend(cost_text(counts));
    parts.join(", ")
}

/// All tokens, if the agent reports them.
pub fn tokens_text(counts: &RunCounts) -> Option<String> {
    counts.sum.usage.all_tokens().map(|tokens| tokens.to_string())
}

/// The cost, if the agent reports it.
pub fn cost_text(counts: &RunCounts) -> Option<String> {
    counts.sum.usage.cost_usd.map(|cost| format!("${:.4}", cost.to_usd()))
}
