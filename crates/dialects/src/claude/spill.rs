//! Shortens context that is too long for the agent: the agent receives the beginning, and the
//! engine writes the whole text to a file. Reasons are not shortened.

use std::path::PathBuf;

use gambrel_model::text::{sanitize_name_with, truncate_chars};
use gambrel_model::{Audience, Captured, Event, Hook, SideEffect, Verdict};

use super::stdout::trim_javascript;

/// Maximum length of context that the agent receives in full.
const MAX_CONTEXT_CHARS: usize = 10_000;
/// Length of the beginning of a longer context.
const PREVIEW_CHARS: usize = 2_000;

/// Moves long context into files. Without a state folder, nothing is shortened.
pub fn spill_context(mut verdict: Verdict, event: &Event, hook: &Hook) -> Verdict {
    let long = |text: &str| {
        text.len() > MAX_CONTEXT_CHARS && text.chars().nth(MAX_CONTEXT_CHARS).is_some()
    };
    let context = |to: Audience| matches!(to, Audience::AgentNow | Audience::AgentNextTurn);
    let messages =
        verdict.messages.iter_mut().filter(|message| context(message.to) && long(&message.text));
    for (nth, message) in messages.enumerate() {
        let Some(folder) = state_folder(event) else { break };
        let folder = folder.join("tool-results");
        let suffix = if nth == 0 { String::new() } else { format!("-{}", nth + 1) };
        let path = folder.join(format!(
            "hook-{}-{}{suffix}.txt",
            sanitize_name_with(&event.id, '_'),
            sanitize_name_with(&hook.id, '_')
        ));
        let preview: String = message.text.chars().take(PREVIEW_CHARS).collect();
        let characters = message.text.chars().count();
        let shortened =
            format!("{preview}\n… ({characters} characters; all of it: {})", path.display());
        let text = std::mem::replace(&mut message.text, shortened);
        verdict.side_effects.push(SideEffect::WriteFile { path, text });
    }
    verdict
}

/// The beginning of an output that is larger than the capture limit, and the path of its spill.
pub fn output_beginning(output: &Captured) -> String {
    let head = String::from_utf8_lossy(&output.bytes);
    let preview: String = trim_javascript(&head).chars().take(PREVIEW_CHARS).collect();
    let rest = match &output.spill {
        Some(path) if output.partial => format!("the part that was kept: {}", path.display()),
        Some(path) => format!("all of it: {}", path.display()),
        None => "the rest is not kept".to_owned(),
    };
    format!("{preview}\n… ({} bytes; {rest})", output.total)
}

/// The state folder, which contains the ledger.
pub fn state_folder(event: &Event) -> Option<PathBuf> {
    let var = |name: &str| {
        event.context.env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    };
    let absolute = |name: &str| var(name).filter(|path| path.is_absolute());
    let own = var("GAMBREL_STATE_DIR").map(|dir| event.project.join(dir));
    let standard = || absolute("XDG_STATE_HOME").map(|dir| dir.join("gambrel"));
    let home = || absolute("HOME").map(|dir| dir.join(".local/state/gambrel"));
    own.or_else(standard).or_else(home)
}

/// A file name for a session. Sessions with the same name in different projects get different
/// names.
pub fn session_name(event: &Event) -> String {
    let hash = event.session_key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let legible = sanitize_name_with(&truncate_chars(&event.session, 40, ""), '_');
    format!("{legible}-{hash:016x}")
}
