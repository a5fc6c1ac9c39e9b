//! Context that is too long for the agent's window: the beginning goes to the agent, the whole
//! into a file that the engine writes. Reasons are not cut.

use std::path::PathBuf;

use gambrel_model::{Audience, Captured, Event, Hook, SideEffect, Verdict};

use super::stdout::trimmed;

/// The longest context that is told in full, in characters.
const MOST: usize = 10_000;
/// How much of a longer one is told.
const PREVIEW: usize = 2_000;

/// The same verdict with long context in files. Without a folder for them nothing is cut.
pub fn spill(mut verdict: Verdict, event: &Event, hook: &Hook) -> Verdict {
    let long = |text: &str| text.len() > MOST && text.chars().nth(MOST).is_some();
    let context = |ear: Audience| matches!(ear, Audience::AgentNow | Audience::AgentNextTurn);
    let says = verdict.messages.iter_mut().filter(|say| context(say.to) && long(&say.text));
    for (nth, say) in says.enumerate() {
        let Some(folder) = state_folder(event) else { break };
        let folder = folder.join("tool-results");
        let suffix = if nth == 0 { String::new() } else { format!("-{}", nth + 1) };
        let path =
            folder.join(format!("hook-{}-{}{suffix}.txt", plain(&event.id), plain(&hook.id)));
        let preview: String = say.text.chars().take(PREVIEW).collect();
        let characters = say.text.chars().count();
        let told = format!("{preview}\n… ({characters} characters; all of it: {})", path.display());
        let text = std::mem::replace(&mut say.text, told);
        verdict.side_effects.push(SideEffect::WriteFile { path, text });
    }
    verdict
}

/// The beginning of an output that was too large to keep, and where more of it is.
pub fn beginning(output: &Captured) -> String {
    let head = String::from_utf8_lossy(&output.bytes);
    let preview: String = trimmed(&head).chars().take(PREVIEW).collect();
    let rest = match &output.spill {
        Some(path) if output.partial => format!("the most that is kept: {}", path.display()),
        Some(path) => format!("all of it: {}", path.display()),
        None => "the rest is not kept".to_owned(),
    };
    format!("{preview}\n… ({} bytes; {rest})", output.total)
}

/// The folder in which the ledger is.
pub fn state_folder(event: &Event) -> Option<PathBuf> {
    let var = |name: &str| event.env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let absolute = |name: &str| var(name).filter(|path| path.is_absolute());
    let own = var("GAMBREL_STATE_DIR").map(|dir| event.project.join(dir));
    let standard = || absolute("XDG_STATE_HOME").map(|dir| dir.join("gambrel"));
    let home = || absolute("HOME").map(|dir| dir.join(".local/state/gambrel"));
    own.or_else(standard).or_else(home)
}

/// A file's name for a session: legible, and another for one of the same name in another project.
pub fn session_name(event: &Event) -> String {
    let hash = event.session_key().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let legible: String = plain(&event.session).chars().take(40).collect();
    format!("{legible}-{hash:016x}")
}

/// A piece of a file's name.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}
