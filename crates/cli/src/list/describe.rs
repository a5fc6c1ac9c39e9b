//! Shows a hook before it runs, in the words of its dialect.

use gambrel::model::Hook;

use crate::printer;

/// The summary on one short line, after the hook's name.
pub fn summary_line(hook: &Hook, width: usize) -> String {
    let what = hook.describe().summary;
    match &hook.draft.name {
        Some(name) if !what.ends_with(name.as_str()) => {
            printer::truncate_line(&format!("{name}: {what}"), width)
        }
        _ => printer::truncate_line(&what, width),
    }
}
