//! The JSON that a hook may print: checked against its schema and turned into a verdict. Exit codes
//! are not known here.

use gambrel_model::{Audience, EventSpec, Powers, Ruling, Slot, Tool, Verdict};
use serde_json::{Map, Value, json};

use super::events::{Voice, discards, voice};
use super::result::heard;
use super::schema;
use super::tools::TOOLS;

/// The fields of an object.
pub type Object = Map<String, Value>;

/// What stands in for a reason that a hook did not give.
pub const BLOCKED: &str = "Blocked by hook";
const STOPPED: &str = "Stopped by hook";

/// Where rewrites go that only this dialect knows.
pub const OWN_SLOT: &str = "claude.";

/// Paths to watch: every hook's.
pub const WATCH: &str = "watchPaths";
/// Lasting permissions: of everybody who allows.
pub const PERMISSIONS: &str = "updatedPermissions";

/// Where a new worktree is.
pub const WORKTREE: &str = "worktreePath";
/// Another input as the hook gave it, beside its neutral form.
pub const INPUT: &str = "updatedInput";

/// The longest context for a classifier, in characters.
const CLASSIFIER: usize = 2_000;

/// Fields of an event's own output that have a neutral meaning.
const NEUTRAL: [&str; 7] = [
    "hookEventName",
    "permissionDecision",
    "permissionDecisionReason",
    INPUT,
    "additionalContext",
    "updatedToolOutput",
    "decision",
];

/// Who answers: its event's row, and the event and the tool by the names that the hook was given.
pub struct Speaker<'s> {
    /// The row of the hook's event.
    pub row: &'s EventSpec,
    /// The event's name; events of a later day share one row.
    pub name: &'s str,
    /// The tool that the hook was asked about.
    pub tool: Option<&'s str>,
}

/// The verdict of an answer, or what is wrong with it.
pub fn answer(speaker: &Speaker<'_>, fields: &Object) -> Result<Verdict, String> {
    if let Some(why) = schema::misfit(speaker.row, speaker.name, fields) {
        return Err(why);
    }
    let mut verdict = universal(speaker.row, fields);
    if let Some(own) = object(fields, "hookSpecificOutput") {
        verdict = verdict.then(specific(speaker, own));
    }
    // An input that may not be used is not rewritten.
    if verdict.ruling.refuses() {
        verdict.patch.remove(&Slot::Input);
        verdict.patch.remove(&own_slot(INPUT));
    }
    Ok(verdict)
}

fn universal(row: &EventSpec, fields: &Object) -> Verdict {
    let reason = text(fields, "reason");
    let mut verdict = Verdict::default();
    if flag(fields, "continue") == Some(false) {
        verdict = verdict.then(halted(row, text(fields, "stopReason")));
    }
    let plain = matches!(voice(row), Voice::Block | Voice::Permission);
    verdict = verdict.then(match text(fields, "decision") {
        Some("block") if plain => ruled(row, Ruling::Deny, reason.unwrap_or(BLOCKED)),
        Some("block") => noticed(row, &format!("`decision` has no effect at {}", row.name)),
        Some("approve") if plain => ruled(row, Ruling::Allow, reason.unwrap_or_default()),
        _ => Verdict::default(),
    });
    if let Some(message) = text(fields, "systemMessage").filter(|message| !message.is_empty()) {
        verdict = verdict.then(noticed(row, message));
    }
    match text(fields, "terminalSequence").filter(|_| !discards(row)) {
        Some(sequence) if is_harmless(sequence) => {
            verdict.with_rewrite(own_slot("terminalSequence"), json!(sequence))
        }
        Some(_) => verdict.then(noticed(row, "a hook's `terminalSequence` was dropped")),
        None => verdict,
    }
}

/// `continue: false`. Where the event can refuse nothing the ruling is left in, so that what the
/// contract allows is settled in one place, which records the loss and tells the person. Where it
/// can refuse, a ruling that is dropped later would take the refusal beside it along.
fn halted(row: &EventSpec, reason: Option<&str>) -> Verdict {
    if row.hook_powers.contains(Powers::HALT)
        || row.hook_powers.contains(Powers::DENY)
        || !row.hook_powers.contains(Powers::MESSAGE_USER)
    {
        return ruled(row, Ruling::Halt, reason.unwrap_or(STOPPED));
    }
    let event = if row.name.is_empty() { "this event" } else { row.name };
    let wish = format!("a hook asked to stop the session, which {event} cannot do");
    let text = reason.map_or_else(|| wish.clone(), |reason| format!("{wish}: {reason}"));
    Verdict::with_ruling(Ruling::Halt, text)
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
        let ends = [("\u{7}", 1), ("\u{1b}\\", 2)];
        let ends = ends.iter().filter_map(|(end, length)| Some((inside.find(end)?, *length)));
        let Some((at, length)) = ends.min() else { return false };
        let plain = !inside[..at].chars().any(char::is_control);
        if !plain || !["0", "1", "2", "9", "99", "777"].contains(&number) {
            return false;
        }
        rest = &inside[at + length..];
    }
    true
}

fn specific(speaker: &Speaker<'_>, own: &Object) -> Verdict {
    let row = speaker.row;
    let mut verdict = match voice(row) {
        Voice::Permission => permission(speaker, own),
        Voice::Request => request(speaker, own),
        Voice::Action => action(row, own),
        Voice::Exit | Voice::Block => Verdict::default(),
    };
    let context = text(own, "additionalContext").filter(|text| !text.is_empty());
    if let Some(context) = context.filter(|_| row.hook_powers.contains(Powers::MESSAGE_AGENT)) {
        verdict = verdict.with_message(Audience::AgentNow, context);
    }
    // Where the event has no output to rewrite, the loss is recorded and told.
    if let Some(output) = own.get("updatedToolOutput").filter(|output| !output.is_null()) {
        let rewrite = json!({"content": heard(output).content, "native": output});
        verdict = verdict.with_rewrite(Slot::Output, rewrite);
    }
    // What is null is not said.
    let said =
        |(name, value): &(&String, &Value)| !NEUTRAL.contains(&name.as_str()) && !value.is_null();
    for (name, value) in own.iter().filter(said) {
        verdict = match (name.as_str(), value) {
            (WATCH, Value::Array(_)) => verdict.with_rewrite(own_list(WATCH), value.clone()),
            ("classifierContext", Value::String(text)) => {
                let cut: String = text.chars().take(CLASSIFIER).collect();
                verdict.with_rewrite(own_slot(name), json!(cut))
            }
            _ => verdict.with_rewrite(own_slot(name), value.clone()),
        };
    }
    verdict
}

fn permission(speaker: &Speaker<'_>, own: &Object) -> Verdict {
    let row = speaker.row;
    let reason = text(own, "permissionDecisionReason").unwrap_or_default();
    let said = text(own, "permissionDecision");
    let known = [Ruling::Allow, Ruling::Ask, Ruling::Defer, Ruling::Deny];
    let verdict = match known.into_iter().find(|ruling| said == Some(ruling.word())) {
        Some(Ruling::Deny) if reason.is_empty() => ruled(row, Ruling::Deny, BLOCKED),
        Some(ruling) => ruled(row, ruling, reason),
        None => Verdict::default(),
    };
    with_input(verdict, speaker, own)
}

fn request(speaker: &Speaker<'_>, own: &Object) -> Verdict {
    let Some(decision) = object(own, "decision") else { return Verdict::default() };
    if text(decision, "behavior") == Some("allow") {
        let allowed = with_input(ruled(speaker.row, Ruling::Allow, ""), speaker, decision);
        return match decision.get(PERMISSIONS) {
            Some(more) => allowed.with_rewrite(own_list(PERMISSIONS), more.clone()),
            None => allowed,
        };
    }
    let message = text(decision, "message").filter(|text| !text.is_empty());
    let interrupts = flag(decision, "interrupt") == Some(true);
    let ruling = if interrupts { Ruling::Halt } else { Ruling::Deny };
    ruled(speaker.row, ruling, message.unwrap_or(BLOCKED))
}

/// The answer itself stays in this dialect's own slots.
fn action(row: &EventSpec, own: &Object) -> Verdict {
    match text(own, "action") {
        Some("decline" | "cancel") => ruled(row, Ruling::Deny, BLOCKED),
        _ => Verdict::default(),
    }
}

fn with_input(verdict: Verdict, speaker: &Speaker<'_>, from: &Object) -> Verdict {
    let input = object(from, INPUT).filter(|_| speaker.row.rewritable.contains(&Slot::Input));
    match (input, speaker.tool) {
        (Some(input), Some(name)) => {
            let given = Value::Object(input.clone());
            let tool = Tool::from_native(TOOLS, name, &given);
            verdict.with_rewrite(Slot::Input, tool.args).with_rewrite(own_slot(INPUT), given)
        }
        _ => verdict,
    }
}

/// A ruling where the event allows it; else a refusal is words for the person.
pub fn ruled(row: &EventSpec, ruling: Ruling, text: &str) -> Verdict {
    match row.hook_powers.contains(ruling.power()) {
        true if text.is_empty() => Verdict { ruling, ..Verdict::default() },
        true => Verdict::with_ruling(ruling, text),
        false if ruling.refuses() && !text.is_empty() => noticed(row, text),
        false => Verdict::default(),
    }
}

/// Words for the person, where the event shows any.
pub fn noticed(row: &EventSpec, text: &str) -> Verdict {
    match row.hook_powers.contains(Powers::MESSAGE_USER) {
        true => Verdict::with_only_message(Audience::User, text),
        false => Verdict::default(),
    }
}

/// The slot of a field that only this dialect knows.
pub fn own_slot(field: &str) -> Slot {
    Slot::Native(format!("{OWN_SLOT}{field}"))
}

/// The slot of a list to which every hook adds.
pub fn own_list(field: &str) -> Slot {
    Slot::List(format!("{OWN_SLOT}{field}"))
}

// Of the right kind where the schema knows them; elsewhere anything, which then is not there.

fn text<'a>(fields: &'a Object, key: &str) -> Option<&'a str> {
    fields.get(key)?.as_str()
}

fn flag(fields: &Object, key: &str) -> Option<bool> {
    fields.get(key)?.as_bool()
}

fn object<'a>(fields: &'a Object, key: &str) -> Option<&'a Object> {
    fields.get(key)?.as_object()
}
