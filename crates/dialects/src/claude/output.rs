//! The JSON that a hook may print: recognised, checked, and turned into a verdict. Exit codes are
//! not known here.

use gambrel_model::{Ear, EventSpec, Powers, Ruling, Slot, Tool, Verdict};
use serde_json::{Map, Value, json};

use super::events::{Voice, voice};
use super::result::heard;
use super::tools::TOOLS;

/// The fields of an object.
pub type Object = Map<String, Value>;

/// What stands in for a reason that a hook did not give.
pub const BLOCKED: &str = "Blocked by hook";
const STOPPED: &str = "Stopped by hook";

/// Where rewrites go that only this dialect knows.
pub const OWN_SLOT: &str = "claude.";

/// The longest context for a classifier, in characters.
const CLASSIFIER: usize = 2_000;

/// Fields of an event's own output that have a neutral meaning.
const NEUTRAL: [&str; 7] = [
    "hookEventName",
    "permissionDecision",
    "permissionDecisionReason",
    "updatedInput",
    "additionalContext",
    "updatedToolOutput",
    "decision",
];

/// Who answers: its event's row, and the tool by the name that the hook was given.
pub struct Speaker<'s> {
    /// The row of the hook's event.
    pub row: &'s EventSpec,
    /// The tool that the hook was asked about.
    pub tool: Option<&'s str>,
}

/// The verdict of an answer, or what is wrong with it.
pub fn answer(speaker: &Speaker<'_>, fields: &Object) -> Result<Verdict, String> {
    let mut verdict = universal(speaker.row, fields)?;
    if let Some(own) = object(fields, "hookSpecificOutput")? {
        let name = text(own, "hookEventName")?.ok_or("`hookEventName` is missing")?;
        if name != speaker.row.name {
            return Err(format!("`hookEventName` is `{name}`, not `{}`", speaker.row.name));
        }
        verdict = verdict.then(specific(speaker, own)?);
    }
    // An input that may not be used is not rewritten.
    if verdict.ruling.refuses() {
        verdict.patch.remove(&Slot::Input);
    }
    Ok(verdict)
}

fn universal(row: &EventSpec, fields: &Object) -> Result<Verdict, String> {
    let goes_on = flag(fields, "continue")?;
    flag(fields, "suppressOutput")?;
    let stop_reason = text(fields, "stopReason")?;
    let reason = text(fields, "reason")?;
    let decision = word(fields, "decision", &["approve", "block"])?;
    let message = text(fields, "systemMessage")?;
    let sequence = text(fields, "terminalSequence")?;
    let mut verdict = Verdict::default();
    if goes_on == Some(false) {
        verdict = verdict.then(ruled(row, Ruling::Halt, stop_reason.unwrap_or(STOPPED)));
    }
    let plain = matches!(voice(row), Voice::Block | Voice::Permission);
    verdict = verdict.then(match decision {
        Some("block") if plain => ruled(row, Ruling::Deny, reason.unwrap_or(BLOCKED)),
        Some("block") => noticed(row, &format!("`decision` has no effect at {}", row.name)),
        Some("approve") if plain => ruled(row, Ruling::Allow, reason.unwrap_or_default()),
        _ => Verdict::default(),
    });
    if let Some(message) = message.filter(|message| !message.is_empty()) {
        verdict = verdict.then(noticed(row, message));
    }
    if let Some(sequence) = sequence {
        verdict = match is_harmless(sequence) {
            true => verdict.patching(own_slot("terminalSequence"), json!(sequence)),
            false => verdict.then(noticed(row, "a hook's `terminalSequence` was dropped")),
        };
    }
    Ok(verdict)
}

/// Titles and notices of a terminal (OSC 0, 1, 2, 9, 99, 777) and the bell; nothing else.
fn is_harmless(sequence: &str) -> bool {
    let mut rest = sequence;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('\u{7}') {
            rest = after;
            continue;
        }
        let Some(inside) = rest.strip_prefix("\u{1b}]") else { return false };
        let number = inside.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        let end = inside.find('\u{7}').map(|at| (at, 1));
        let end = end.or_else(|| inside.find("\u{1b}\\").map(|at| (at, 2)));
        let Some((at, length)) = end else { return false };
        let plain = !inside[..at].chars().any(char::is_control);
        if !plain || !["0", "1", "2", "9", "99", "777"].contains(&number) {
            return false;
        }
        rest = &inside[at + length..];
    }
    true
}

fn specific(speaker: &Speaker<'_>, own: &Object) -> Result<Verdict, String> {
    let row = speaker.row;
    let mut verdict = match voice(row) {
        Voice::Permission => permission(speaker, own)?,
        Voice::Request => request(speaker, own)?,
        Voice::Action => action(row, own)?,
        Voice::Exit | Voice::Block => Verdict::default(),
    };
    let context = text(own, "additionalContext")?.filter(|text| !text.is_empty());
    if let Some(context) = context.filter(|_| row.may.has(Powers::TELL)) {
        verdict = verdict.saying(Ear::Agent, context);
    }
    let output = own.get("updatedToolOutput").filter(|_| row.slots.contains(&Slot::Output));
    if let Some(output) = output.filter(|output| !output.is_null()) {
        let rewrite = json!({"content": heard(output).content, "native": output});
        verdict = verdict.patching(Slot::Output, rewrite);
    }
    // What is null is not said.
    let said =
        |(name, value): &(&String, &Value)| !NEUTRAL.contains(&name.as_str()) && !value.is_null();
    for (name, value) in own.iter().filter(said) {
        let mut value = value.clone();
        if let Some(text) = value.as_str().filter(|_| name == "classifierContext") {
            value = json!(text.chars().take(CLASSIFIER).collect::<String>());
        }
        verdict = verdict.patching(own_slot(name), value);
    }
    Ok(verdict)
}

fn permission(speaker: &Speaker<'_>, own: &Object) -> Result<Verdict, String> {
    let row = speaker.row;
    let reason = text(own, "permissionDecisionReason")?.unwrap_or_default();
    let words = [Ruling::Allow, Ruling::Ask, Ruling::Defer, Ruling::Deny]
        .map(|ruling| (ruling.word(), ruling))
        .into_iter()
        .filter(|(_, ruling)| row.may.has(ruling.power()));
    let (names, rulings): (Vec<_>, Vec<_>) = words.unzip();
    let said = word(own, "permissionDecision", &names)?;
    let ruling = said.and_then(|said| names.iter().position(|name| *name == said));
    let verdict = match ruling.map(|at| rulings[at]) {
        Some(Ruling::Deny) if reason.is_empty() => ruled(row, Ruling::Deny, BLOCKED),
        Some(ruling) => ruled(row, ruling, reason),
        None => Verdict::default(),
    };
    with_input(verdict, speaker, own)
}

fn request(speaker: &Speaker<'_>, own: &Object) -> Result<Verdict, String> {
    let Some(decision) = object(own, "decision")? else { return Ok(Verdict::default()) };
    let message = text(decision, "message")?.filter(|text| !text.is_empty());
    let interrupt = flag(decision, "interrupt")? == Some(true);
    let verdict = match word(decision, "behavior", &["allow", "deny"])? {
        Some("allow") => {
            let allowed = ruled(speaker.row, Ruling::Allow, "");
            with_input(allowed, speaker, decision)?
        }
        Some(_) => {
            let ruling = if interrupt { Ruling::Halt } else { Ruling::Deny };
            ruled(speaker.row, ruling, message.unwrap_or(BLOCKED))
        }
        None => return Err("`behavior` is missing".into()),
    };
    Ok(match decision.get("updatedPermissions") {
        Some(permissions) => verdict.patching(own_slot("updatedPermissions"), permissions.clone()),
        None => verdict,
    })
}

/// The answer itself stays in this dialect's own slots.
fn action(row: &EventSpec, own: &Object) -> Result<Verdict, String> {
    Ok(match word(own, "action", &["accept", "decline", "cancel"])? {
        Some("decline" | "cancel") => ruled(row, Ruling::Deny, BLOCKED),
        _ => Verdict::default(),
    })
}

fn with_input(verdict: Verdict, speaker: &Speaker<'_>, from: &Object) -> Result<Verdict, String> {
    let input = object(from, "updatedInput")?.filter(|_| speaker.row.slots.contains(&Slot::Input));
    Ok(match (input, speaker.tool) {
        (Some(input), Some(name)) => {
            let tool = Tool::from_native(TOOLS, name, &Value::Object(input.clone()));
            verdict.patching(Slot::Input, tool.args)
        }
        _ => verdict,
    })
}

/// A ruling where the event allows it; else a refusal is words for the person.
pub fn ruled(row: &EventSpec, ruling: Ruling, text: &str) -> Verdict {
    match row.may.has(ruling.power()) {
        true if text.is_empty() => Verdict { ruling, ..Verdict::default() },
        true => Verdict::ruled(ruling, text),
        false if ruling.refuses() && !text.is_empty() => noticed(row, text),
        false => Verdict::default(),
    }
}

/// Words for the person, where the event shows any.
pub fn noticed(row: &EventSpec, text: &str) -> Verdict {
    match row.may.has(Powers::SHOW) {
        true => Verdict::says(Ear::Person, text),
        false => Verdict::default(),
    }
}

/// The slot of a field that only this dialect knows.
pub fn own_slot(field: &str) -> Slot {
    Slot::Native(format!("{OWN_SLOT}{field}"))
}

fn text<'a>(fields: &'a Object, key: &str) -> Result<Option<&'a str>, String> {
    match fields.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{key}` is not a text")),
    }
}

fn word<'a>(fields: &'a Object, key: &str, words: &[&str]) -> Result<Option<&'a str>, String> {
    match text(fields, key)? {
        Some(said) if !words.contains(&said) => {
            Err(format!("`{key}` is one of {}, not `{said}`", words.join(", ")))
        }
        said => Ok(said),
    }
}

fn flag(fields: &Object, key: &str) -> Result<Option<bool>, String> {
    match fields.get(key) {
        None => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err(format!("`{key}` is not true or false")),
    }
}

fn object<'a>(fields: &'a Object, key: &str) -> Result<Option<&'a Object>, String> {
    match fields.get(key) {
        None => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(_) => Err(format!("`{key}` is not an object")),
    }
}
