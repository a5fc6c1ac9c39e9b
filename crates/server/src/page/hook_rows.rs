//! Hooks that ran, with their decisions in colour. Those without any are folded: they rarely matter.

use gambrel_model::TimelineHook;
use maud::{Markup, html};

use super::text::{clean_line, clean_text, mark_controls};

/// How many hooks of one part are shown.
const MAX_HOOK_COUNT: usize = 200;

/// The rows of some hooks; `id` is unique on the page.
pub(super) fn hook_rows(id: &str, hooks: &[TimelineHook]) -> Markup {
    let shown = hooks.iter().take(MAX_HOOK_COUNT);
    let (spoke, silent): (Vec<_>, Vec<_>) = shown.partition(|hook| has_decision(hook));
    let hidden = hooks.len().saturating_sub(MAX_HOOK_COUNT);
    html! {
        @if !spoke.is_empty() { ul.hooks { @for hook in &spoke { (hook_row(hook)) } } }
        @if !silent.is_empty() {
            details id={ "silent-" (id) } {
                summary { (count_text(silent.len(), "hook")) " without objection" }
                ul.hooks { @for hook in &silent { (hook_row(hook)) } }
            }
        }
        @if hidden > 0 { p.quiet { "and " (count_text(hidden, "more hook")) } }
    }
}

/// `1 hook`, `2 hooks`.
pub(super) fn count_text(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// The CSS class of a ruling or state.
pub(super) fn verdict_class(verdict: &str) -> &'static str {
    match verdict {
        "allow" => "approved",
        "ask" | "defer" | "running" => "open",
        "deny" | "halt" | "interrupted" => "rejected",
        _ => "over",
    }
}

/// A ruling in words.
pub(super) fn verdict_text(verdict: &str) -> String {
    match verdict {
        "" | "silent" => "no objection".to_owned(),
        other => clean_line(other),
    }
}

/// A ruling in its colour. A rewrite without a ruling has one of its own.
pub(super) fn verdict_chip(ruling: &str, rewrote: &[String]) -> Markup {
    let rewrites = format!("rewrote {}", clean_line(&rewrote.join(", ")));
    let is_silent = matches!(ruling, "" | "silent");
    html! {
        @if rewrote.is_empty() || !is_silent {
            span.state.(verdict_class(ruling)) { (verdict_text(ruling)) }
        }
        @if !rewrote.is_empty() { " " span.state.open { (rewrites) } }
    }
}

fn has_decision(hook: &TimelineHook) -> bool {
    !hook.decision_words().is_empty() || !hook.why.is_empty()
}

fn hook_row(hook: &TimelineHook) -> Markup {
    html! {
        li {
            @if hook.is_unanswered && matches!(hook.verdict.as_str(), "" | "silent") {
                span.state.open { "no answer" }
            } @else {
                (verdict_chip(&hook.verdict, &hook.rewrote))
            }
            " " strong { (clean_line(&hook.title)) } " "
            span.quiet { (clean_line(&hook.product)) " · " (clean_line(&hook.moment)) " · " (hook.ms) " ms" }
            @if !hook.call.is_empty() {
                " " code { (mark_controls(&clean_line(&hook.call))) }
            }
            @if !hook.why.is_empty() { p.reason { (clean_text(&hook.why)) } }
        }
    }
}
