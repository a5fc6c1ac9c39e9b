//! A unified diff with its lines in colour.

use maud::{Markup, html};

/// The lines of a diff. The sign at the beginning stays, so that colour is not all that tells them
/// apart.
pub(super) fn diff_block(path: &str, diff: &str) -> Markup {
    html! {
        pre.diff tabindex="0" aria-label={ "Changes of " (path) } {
            @for line in diff.lines() { span.(line_class(line)) { (line) "\n" } }
        }
    }
}

fn line_class(line: &str) -> &'static str {
    match line.as_bytes().first() {
        Some(b'+') => "added",
        Some(b'-') => "removed",
        Some(b'@') => "hunk",
        _ => "same",
    }
}
