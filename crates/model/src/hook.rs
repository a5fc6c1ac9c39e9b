//! A hook as written (`Draft`) and as it can run (`Hook`). A hook that cannot run stays in the list
//! with its reason.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::Limits;
use crate::complaint::{Complaint, SourceSpan, SpannedText};
use crate::condition::Condition;
use crate::description::Description;
use crate::dialect::{Dialect, HookFormat};
use crate::event::Event;
use crate::failure_verdict::FailureVerdict;
use crate::matcher::{Matcher, MatcherText, NAME_SEPARATOR};
use crate::moment::{Moment, to_snake_case};
use crate::pattern::Pattern;
use crate::spec::EventSpec;

/// The event of a hook that receives all events of its dialect.
pub const ANY: &str = "*";

/// A hook as written in a file, with source spans.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Draft {
    /// The native event.
    pub event: String,
    /// Its place.
    pub source: Source,
    /// The name that its author gave it.
    pub name: Option<String>,
    /// Selects events of that name.
    pub matcher: MatcherText,
    /// The condition (`when:`).
    pub when: Option<SpannedText>,
    /// The name of its action.
    pub action: String,
    /// The action's own fields, as written.
    pub config: Value,
    /// Limits and failure verdicts.
    pub policy: HookPolicy,
    /// Moves it before (lower) or after its neighbours.
    pub priority: i64,
    /// Why it cannot run, if it cannot.
    pub disabled: Option<Disabled>,
    /// The location of the hook that replaces it, as long as that hook runs.
    pub replaced_by: Option<String>,
    /// Whether a gate denies when this hook gives no answer, also without `--strict`.
    pub strict: bool,
    /// Whether it runs at most once in a session.
    pub once: bool,
    /// Status text for the user while it runs.
    pub status: Option<String>,
    /// Of several selected hooks with the same key only the first runs.
    pub dedup_key: Option<String>,
    /// A regular expression of its action, with the name of its field.
    pub pattern: Option<(String, SpannedText)>,
    /// Whether this is the entry by which a host calls gambrel, and not a hook.
    pub calls_gambrel: bool,
}

/// The hooks of configuration files as written, and the mistakes in them.
pub type LoadedDrafts = (Vec<Draft>, Vec<Complaint>);

/// Why a hook cannot run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disabled {
    /// Whether somebody switched it off, or it is broken.
    pub kind: DisabledKind,
    /// The reason.
    pub why: String,
}

/// The kinds of disabled hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DisabledKind {
    /// Switched off by a setting.
    Off,
    /// Cannot run as written. At a gate this fails `--strict`.
    Broken,
}

impl Disabled {
    /// A hook that a setting switches off.
    pub fn off(why: impl Into<String>) -> Self {
        Self { kind: DisabledKind::Off, why: why.into() }
    }

    /// A hook that cannot run as written.
    pub fn broken(why: impl Into<String>) -> Self {
        Self { kind: DisabledKind::Broken, why: why.into() }
    }

    /// Whether a setting switches it off.
    pub fn is_off(&self) -> bool {
        self.kind == DisabledKind::Off
    }
}

impl Draft {
    /// Hashes the definition without its location.
    pub fn hash_into(&self, take: &mut impl FnMut(&[u8])) {
        hash_part(Some(&self.event), take);
        hash_part(self.name.as_deref(), take);
        match &self.matcher {
            // The same as their text, which is not written.
            MatcherText::Names(names) => {
                hash_part(Some(names.first().map_or("", String::as_str)), take);
                for name in names.iter().skip(1) {
                    take(NAME_SEPARATOR.as_bytes());
                    take(name.as_bytes());
                }
            }
            MatcherText::Pattern(pattern) => hash_part(Some(&pattern.text), take),
            MatcherText::Invalid(text) => hash_part(Some(text), take),
            MatcherText::All => hash_part(None, take),
        }
        hash_part(self.when.as_ref().map(|when| when.text.as_str()), take);
        take(self.action.as_bytes());
        take(&self.priority.to_le_bytes());
        hash_value(&self.config, take);
    }
}

/// Hashes a part with a separator, so that two parts never hash like one.
fn hash_part(part: Option<&str>, take: &mut impl FnMut(&[u8])) {
    take(&[u8::from(part.is_some()), 0]);
    take(part.unwrap_or_default().as_bytes());
}

/// Hashes the decimal digits of a number, without a text of them.
fn hash_whole_number(whole: u64, take: &mut impl FnMut(&[u8])) {
    let mut digits = [b'0'; MAX_DIGIT_COUNT];
    let (mut rest, mut first) = (whole, MAX_DIGIT_COUNT);
    loop {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return take(&digits[first..]);
        }
    }
}

/// The most decimal digits of a `u64`.
const MAX_DIGIT_COUNT: usize = 20;

fn hash_value(value: &Value, take: &mut impl FnMut(&[u8])) {
    match value {
        Value::Null => take(b"n"),
        Value::Bool(flag) => take(if *flag { b"t" } else { b"f" }),
        Value::Number(number) => match number.as_u64() {
            Some(whole) => hash_whole_number(whole, take),
            None => take(number.to_string().as_bytes()),
        },
        Value::String(text) => {
            take(b"\"");
            take(&text.len().to_le_bytes());
            take(text.as_bytes());
        }
        Value::Array(items) => {
            take(b"[");
            items.iter().for_each(|item| hash_value(item, take));
            take(b"]");
        }
        Value::Object(fields) => {
            take(b"{");
            for (key, value) in fields {
                take(key.as_bytes());
                take(b":");
                hash_value(value, take);
            }
            take(b"}");
        }
    }
}

/// The location of a hook.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// File and position.
    pub spot: SourceSpan,
    /// Whose hook it is.
    pub scope: Scope,
    /// The folder that relative paths of its definition belong to.
    pub base: PathBuf,
}

impl Source {
    /// `path:line`, as lists and trails show it.
    pub fn location(&self) -> String {
        match self.spot.line {
            0 => self.spot.path.display().to_string(),
            line => format!("{}:{line}", self.spot.path.display()),
        }
    }
}

/// Whose hook it is; decides whether it needs trust.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The machine's administrator.
    Managed,
    /// The user, by a file at home or by name on the command line.
    User,
    /// The project's shared files.
    #[default]
    Project,
    /// The project's file that is not shared.
    Local,
}

impl Scope {
    /// Whether hooks of this scope run without being trusted first.
    pub fn is_own(self) -> bool {
        matches!(self, Self::Managed | Self::User)
    }
}

/// Limits of a hook, and the verdicts to use when it fails, times out or is rejected. A policy is a
/// value; no code branches on its name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HookPolicy {
    /// Timeout, retries, kill grace and blocking mode of its calls.
    pub limits: Limits,
    /// Whether its output goes to the agent.
    pub forwards_output: bool,
    /// The verdict on failure; empty texts are filled in when it happens.
    pub on_failure: FailureVerdict,
    /// The verdict on timeout.
    pub on_timeout: FailureVerdict,
    /// The verdict when the user rejects.
    #[serde(default)]
    pub on_reject: FailureVerdict,
    /// How often in a row it may refuse the same subject.
    pub max_refusals_in_row: Option<u64>,
}

/// A hook as it can run.
#[derive(Clone)]
pub struct Hook {
    /// Opaque, and stable while its definition and its place are unchanged.
    pub id: String,
    /// Its dialect.
    pub dialect: &'static Dialect,
    /// The half of its dialect that runs it.
    pub format: &'static dyn HookFormat,
    /// The event specs with its event name, or the unnamed spec if its name is not in the table.
    pub specs: Vec<&'static EventSpec>,
    /// Compiled.
    pub matcher: Matcher,
    /// Parsed.
    pub when: Option<Condition>,
    /// As it was written.
    pub draft: Draft,
}

impl Hook {
    /// Builds a hook from a draft. A part that cannot be parsed disables the hook and adds a
    /// complaint.
    pub fn from_draft(
        dialect: &'static Dialect,
        mut draft: Draft,
    ) -> (Option<Self>, Vec<Complaint>) {
        let mut complaints = Vec::new();
        let Some(format) = dialect.hooks else { return (None, complaints) };
        let mut rows = format.draft_specs(dialect.events(), &draft);
        if rows.is_empty() {
            rows.extend(dialect.events().iter().filter(|row| row.name.is_empty()));
        }
        if rows.is_empty() {
            let spot = draft.source.spot.clone();
            let message = format!("{} has no event `{}`", dialect.name, draft.event);
            return (None, vec![Complaint::error(spot, message)]);
        }
        let matcher = Matcher::from(&draft.matcher);
        let when = draft.when.as_ref().and_then(|quoted| match Condition::parse(&quoted.text) {
            Ok(condition) => Some(condition),
            Err(error) => {
                let complaint = Complaint::error(quoted.span_at(error.offset), &error.message);
                complaints.push(Complaint { help: error.help, ..complaint });
                draft.disabled.get_or_insert_with(|| {
                    Disabled::broken(format!("its condition: {}", error.message))
                });
                None
            }
        });
        let id = hook_identity(dialect.name, &draft);
        (Some(Self { id, dialect, format, specs: rows, matcher, when, draft }), complaints)
    }

    /// The event spec under which this hook receives an event.
    pub fn event_spec_for(&self, event: &Event) -> Option<&'static EventSpec> {
        self.spec_for(event.dialect.name, event.spec.name, &event.moment)
    }

    /// By name for the caller's own dialect, by moment for all others. A `*` hook also receives
    /// events that its dialect does not know.
    pub fn spec_for(&self, from: &str, name: &str, moment: &Moment) -> Option<&'static EventSpec> {
        let own = from == self.dialect.name;
        let hears = |row: &&&'static EventSpec| match row.name {
            "" => self.waits_for(moment, own && name.is_empty()),
            _ => row.moment == *moment && (!own || row.name == name),
        };
        self.specs.iter().find(hears).copied()
    }

    /// Whether the hook receives an event that its dialect does not know. A `*` hook receives all
    /// events of its own dialect, and only the shared moments of other dialects.
    fn waits_for(&self, moment: &Moment, own: bool) -> bool {
        let Moment::Other(name) = moment else { return false };
        if self.draft.event == ANY { own } else { self.moment_name() == *name }
    }

    /// The name of its moment.
    pub fn moment_name(&self) -> String {
        let event = self.draft.event.as_str();
        match self.specs.first() {
            _ if event == ANY => ANY.to_owned(),
            Some(row) if !row.name.is_empty() => row.moment.name().to_owned(),
            _ => to_snake_case(event.strip_prefix("on_").unwrap_or(event)),
        }
    }

    /// Compiles the matcher and returns its error.
    pub fn matcher_complaint(&self) -> Option<Complaint> {
        let why = self.matcher.pattern_error()?;
        let spot = match &self.draft.matcher {
            MatcherText::Pattern(quoted) => quoted.spot.clone(),
            _ => self.draft.source.spot.clone(),
        };
        Some(invalid_matcher(spot, why.last_line()))
    }

    /// Compiles the action's pattern and returns its error.
    pub fn pattern_complaint(&self) -> Option<Complaint> {
        let (field, pattern) = self.draft.pattern.as_ref()?;
        let why = Pattern::compile(&pattern.text).err()?;
        let message = format!("`{field}` is not a valid regular expression: {}", why.last_line());
        Some(Complaint::error(pattern.spot.clone(), message))
    }

    /// The session flag of a `once` hook.
    pub fn once_key(&self) -> Option<String> {
        self.draft.once.then(|| format!("once:{}", self.id))
    }

    /// The hook in words.
    pub fn describe(&self) -> Description {
        self.format.describe(&self.draft)
    }

    /// What it is: the author's word for it, such as `prompt`, else the name of its action.
    pub fn kind(&self) -> String {
        match self.describe().kind {
            "" => self.draft.action.clone(),
            kind => kind.to_owned(),
        }
    }

    /// Its title: its name, else the beginning of its command.
    pub fn title(&self) -> String {
        self.draft.name.clone().unwrap_or_else(|| self.describe().title)
    }

    /// The name that its author wrote. A module has that of its file instead.
    pub fn author_name(&self) -> Option<&str> {
        let file = self.draft.source.spot.path.file_name();
        self.draft.name.as_deref().filter(|name| file.is_none_or(|file| file != *name))
    }
}

/// The complaint about an invalid matcher.
pub fn invalid_matcher(spot: SourceSpan, why: &str) -> Complaint {
    Complaint::error(spot, format!("the matcher is not a valid regular expression: {why}"))
        .with_help("the hook is skipped until this is put right")
}

/// FNV-1a over the definition and its file. It has no array index, so a change of another hook does
/// not change the id.
fn hook_identity(dialect: &str, draft: &Draft) -> String {
    let mut sum = Fnv(0xcbf2_9ce4_8422_2325);
    sum.write_bytes(dialect.as_bytes());
    sum.write_bytes(draft.source.spot.path.as_os_str().as_encoded_bytes());
    draft.hash_into(&mut |part| sum.write_bytes(part));
    let mut id = String::with_capacity(dialect.len() + 1 + ID_DIGIT_COUNT);
    id.push_str(dialect);
    id.push('-');
    // Written by hand, because formatting costs more than the hash.
    let digits = (0..ID_DIGIT_COUNT).rev().map(|at| (sum.0 >> (16 + 4 * at)) & 0xf);
    id.extend(digits.filter_map(|digit| char::from_digit(digit as u32, 16)));
    id
}

/// The number of hexadecimal digits of an id.
const ID_DIGIT_COUNT: usize = 12;

/// An incremental hash.
struct Fnv(u64);

impl Fnv {
    fn write_bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_hash_like_their_text() {
        for number in [0, 7, 10, 1_234_567_890, u64::MAX] {
            let mut hashed = Vec::new();
            hash_value(&Value::from(number), &mut |part| hashed.extend_from_slice(part));
            assert_eq!(String::from_utf8(hashed).unwrap(), number.to_string());
        }
    }
}
