//! A hook as a person wrote it (`Draft`) and as it can run (`Hook`). Building never stops at a
//! bad entry: what cannot run is kept, with the reason, so that it is never silently absent.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::Limits;
use crate::complaint::{Complaint, SourceSpan, SpannedText};
use crate::condition::Condition;
use crate::dialect::Dialect;
use crate::event::Event;
use crate::matcher::{Matcher, MatcherText};
use crate::moment::{Moment, to_snake_case};
use crate::pattern::Pattern;
use crate::spec::EventSpec;
use crate::verdict::Verdict;

/// The event of a hook that hears all of its dialect's.
pub const ANY: &str = "*";

/// A hook as it was written: text with its places, and what the dialect understood of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// The native event that it hangs on.
    pub event: String,
    /// Where it was found.
    pub source: Source,
    /// What its author called it.
    #[serde(default)]
    pub name: Option<String>,
    /// Which events of that name it is for.
    #[serde(default)]
    pub matcher: MatcherText,
    /// Under which condition.
    #[serde(default)]
    pub when: Option<SpannedText>,
    /// The word of the action that runs it.
    pub action: String,
    /// The action's own fields, as written.
    pub config: Value,
    /// What the author promised about waiting and failing.
    pub policy: HookPolicy,
    /// Moves it before (lower) or after its neighbours.
    #[serde(default)]
    pub priority: i64,
    /// Why it cannot run, if it cannot.
    #[serde(default)]
    pub disabled: Option<String>,
    /// Where the hook stands that takes its place, as long as that one runs.
    #[serde(default)]
    pub replaced_by: Option<String>,
    /// Whether it counts as a refusal at a gate when it could not be asked, whoever fires it.
    #[serde(default)]
    pub strict: bool,
    /// Whether it runs at most once in a session.
    #[serde(default)]
    pub once: bool,
    /// What a person is shown while it runs.
    #[serde(default)]
    pub status: Option<String>,
    /// Of several selected hooks with the same key only the first runs.
    #[serde(default)]
    pub dedup_key: Option<String>,
    /// A regular expression that its action uses, and the field it stands in.
    #[serde(default)]
    pub pattern: Option<(String, SpannedText)>,
    /// Whether it is no hook, but the entry by which a host calls gambrel.
    #[serde(default)]
    pub calls_gambrel: bool,
}

impl Draft {
    /// What its author wrote, without its place, piece by piece: what makes it the hook that it is.
    pub fn hash_into(&self, take: &mut dyn FnMut(&[u8])) {
        let matcher = self.matcher.words();
        let when = self.when.as_ref().map(|when| when.text.as_str());
        for part in [Some(self.event.as_str()), self.name.as_deref(), matcher.as_deref(), when] {
            // A mark between the pieces, so that none can pass for two.
            take(&[u8::from(part.is_some()), 0]);
            take(part.unwrap_or_default().as_bytes());
        }
        take(self.action.as_bytes());
        take(&self.priority.to_le_bytes());
        hash_value(&self.config, take);
    }
}

fn hash_value(value: &Value, take: &mut dyn FnMut(&[u8])) {
    match value {
        Value::Null => take(b"n"),
        Value::Bool(flag) => take(if *flag { b"t" } else { b"f" }),
        Value::Number(number) => take(number.to_string().as_bytes()),
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

/// Where a hook was found.
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

/// Whose hook it is: what decides whether it needs trust.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The machine's administrator.
    Managed,
    /// The user, by a file at home or by name on the command line.
    User,
    /// The project: anybody who can change the repository.
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

/// What the author promised about waiting and failing. Failure policy is a value: nobody branches
/// on a policy's name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HookPolicy {
    /// Whether anybody waits for it.
    pub blocking: bool,
    /// How long one attempt may take.
    pub timeout: Duration,
    /// How long what it leaves running may go on, where nobody waits as long as that for the hook.
    #[serde(default)]
    pub leftover_timeout: Option<Duration>,
    /// Between the polite signal and the last one.
    pub kill_grace: Duration,
    /// Attempts after the first.
    pub retries: u32,
    /// Between two attempts.
    pub retry_delay: Duration,
    /// Whether its words go to the agent.
    pub forwards_output: bool,
    /// What its failure means; words are filled in when it happens.
    pub on_failure: Verdict,
    /// What its lateness means.
    pub on_timeout: Verdict,
    /// What a person's no means.
    #[serde(default)]
    pub on_reject: Verdict,
    /// How often in a row it may refuse the same end.
    pub max_refusals_in_row: Option<u64>,
}

impl HookPolicy {
    /// What they mean for one call.
    pub fn limits(&self) -> Limits {
        Limits {
            timeout: self.timeout,
            leftover_timeout: self.leftover_timeout,
            kill_grace: self.kill_grace,
            retries: self.retries,
            retry_delay: self.retry_delay,
            blocking: self.blocking,
            budget: None,
        }
    }
}

impl Default for HookPolicy {
    fn default() -> Self {
        Self {
            blocking: true,
            timeout: Duration::from_secs(60),
            leftover_timeout: None,
            kill_grace: Duration::from_millis(300),
            retries: 0,
            retry_delay: Duration::ZERO,
            forwards_output: false,
            on_failure: Verdict::default(),
            on_timeout: Verdict::default(),
            on_reject: Verdict::default(),
            max_refusals_in_row: None,
        }
    }
}

/// A hook as it can run.
#[derive(Clone)]
pub struct Hook {
    /// Opaque, and stable while its definition and its place are unchanged.
    pub id: String,
    /// Whose contract it follows.
    pub dialect: &'static dyn Dialect,
    /// The rows of its dialect that bear its event's name; for a name that is not in its table,
    /// the row without one.
    pub specs: Vec<&'static EventSpec>,
    /// Compiled.
    pub matcher: Matcher,
    /// Parsed.
    pub when: Option<Condition>,
    /// As it was written.
    pub draft: Draft,
}

impl Hook {
    /// Makes a draft ready to run. A part that cannot be understood makes the hook idle, with the
    /// reason, and leaves a complaint.
    pub fn build(
        dialect: &'static dyn Dialect,
        mut draft: Draft,
    ) -> (Option<Self>, Vec<Complaint>) {
        let mut complaints = Vec::new();
        let mut rows = dialect.draft_specs(&draft);
        if rows.is_empty() {
            rows.extend(dialect.events().iter().filter(|row| row.name.is_empty()));
        }
        if rows.is_empty() {
            let spot = draft.source.spot.clone();
            let message = format!("{} has no event `{}`", dialect.name(), draft.event);
            return (None, vec![Complaint::error(spot, message)]);
        }
        let matcher = Matcher::from(&draft.matcher);
        let when = draft.when.as_ref().and_then(|quoted| match Condition::parse(&quoted.text) {
            Ok(condition) => Some(condition),
            Err(error) => {
                let complaint = Complaint::error(quoted.span_at(error.offset), &error.message);
                complaints.push(match &error.help {
                    Some(help) => complaint.with_help(help),
                    None => complaint,
                });
                draft.disabled.get_or_insert_with(|| format!("its condition: {}", error.message));
                None
            }
        });
        let id = hook_identity(dialect.name(), &draft);
        (Some(Self { id, dialect, specs: rows, matcher, when, draft }), complaints)
    }

    /// The row under which this hook hears an event, if it does.
    pub fn event_spec_for(&self, event: &Event) -> Option<&'static EventSpec> {
        self.spec_for(event.dialect.name(), event.spec.name, &event.moment)
    }

    /// By name for the caller's own dialect, by moment for all others. What their dialect does not
    /// know is heard by those who hear everything.
    pub fn spec_for(&self, from: &str, name: &str, moment: &Moment) -> Option<&'static EventSpec> {
        let own = from == self.dialect.name();
        let hears = |row: &&&'static EventSpec| match row.name {
            "" => self.waits_for(moment, own && name.is_empty()),
            _ => row.moment == *moment && (!own || row.name == name),
        };
        self.specs.iter().find(hears).copied()
    }

    /// Whether an event that its dialect has no name for is meant. Who hears everything hears
    /// what its own callers say, not what others have for themselves.
    fn waits_for(&self, moment: &Moment, own: bool) -> bool {
        let Moment::Other(name) = moment else { return false };
        if self.draft.event == ANY { own } else { self.moment() == *name }
    }

    /// The name of the moment that it hangs on.
    pub fn moment(&self) -> String {
        let event = self.draft.event.as_str();
        match self.specs.first() {
            _ if event == ANY => ANY.to_owned(),
            Some(row) if !row.name.is_empty() => row.moment.name().to_owned(),
            _ => to_snake_case(event.strip_prefix("on_").unwrap_or(event)),
        }
    }

    /// What is wrong with its matcher. Compiles it.
    pub fn matcher_complaint(&self) -> Option<Complaint> {
        let why = self.matcher.pattern_error()?;
        let spot = match &self.draft.matcher {
            MatcherText::Pattern(quoted) => quoted.spot.clone(),
            _ => self.draft.source.spot.clone(),
        };
        Some(invalid_matcher(spot, last_line(why)))
    }

    /// What is wrong with the pattern of its action. Compiles it.
    pub fn pattern_complaint(&self) -> Option<Complaint> {
        let (field, pattern) = self.draft.pattern.as_ref()?;
        let why = Pattern::compile(&pattern.text).err()?;
        let message = format!("`{field}` is not a valid regular expression: {}", last_line(&why));
        Some(Complaint::error(pattern.spot.clone(), message))
    }

    /// The name under which its session remembers that it has run, if it does so only once.
    pub fn once_key(&self) -> Option<String> {
        self.draft.once.then(|| format!("once:{}", self.id))
    }

    /// What a person calls it: its name, else the head of what it runs.
    pub fn title(&self) -> String {
        self.draft.name.clone().unwrap_or_else(|| {
            let text = ["command", "url", "pipeline", "path", "tool", "prompt"]
                .iter()
                .find_map(|key| {
                    self.draft.config.get(key)?.as_str().filter(|t| !t.trim().is_empty())
                })
                .unwrap_or(&self.draft.action);
            text.chars().take(60).collect()
        })
    }
}

/// What is said of a matcher that cannot be understood.
pub fn invalid_matcher(spot: SourceSpan, why: &str) -> Complaint {
    Complaint::error(spot, format!("the matcher is not a valid regular expression: {why}"))
        .with_help("the hook is skipped until this is put right")
}

/// The last line of a regex engine's message says what is wrong.
pub fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or(text)
}

/// FNV-1a over the definition and its file: no array index, so that a neighbour's change does not
/// rename a hook.
fn hook_identity(dialect: &str, draft: &Draft) -> String {
    let mut sum = Fnv(0xcbf2_9ce4_8422_2325);
    sum.write_bytes(dialect.as_bytes());
    sum.write_bytes(draft.source.spot.path.as_os_str().as_encoded_bytes());
    draft.hash_into(&mut |part| sum.write_bytes(part));
    format!("{dialect}-{:012x}", sum.0 >> 16)
}

/// A hash that takes its input as it comes.
struct Fnv(u64);

impl Fnv {
    fn write_bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
