//! Notices for the user: hooks that were skipped or gave no answer, configuration mistakes, and
//! events that the host does not report. Each is shown once per session and state, at events whose
//! reply the host shows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gambrel_model::{
    Audience, Complaint, Decision, Dialect, Disabled, End, Event, EventSpec, Hook, MatcherText,
    Message, Moment, MomentKind, Powers, Scope, Severity, Step, Verdict,
};

use crate::firing::Firing;
use crate::trust::{Trust, TrustMode};
use crate::undelivered::GAMBREL;
use crate::{Engine, Loaded};

/// Maximum number of notices of one kind; the rest is counted.
const MAX_NOTICE_COUNT: usize = 5;

/// Maximum number of notices that one firing records as shown.
const MAX_MARK_COUNT: usize = 200;
/// Maximum number of hooks in one line.
const MAX_NAME_COUNT: usize = 20;

/// One notice, with the session flag that marks it as shown.
struct Notice {
    key: String,
    text: String,
    /// Title and skip reason, to join several hooks in one line.
    skip: Option<(String, String)>,
}

impl Notice {
    fn new(what: &str, state: &str, text: String) -> Self {
        Self { key: format!("told:{what}:{state}"), text, skip: None }
    }
}

impl Firing<'_, '_> {
    /// Adds the notices. If this reply cannot show a failure, it is stored for a later event; a
    /// lasting state is found again.
    pub(crate) fn add_notices(&mut self) {
        let failures = self.failure_notices();
        if !self.event.spec.caller_powers.contains(Powers::MESSAGE_USER) {
            self.keep_for_later(failures);
            return;
        }
        // Shown every time, because the session flags cannot be read.
        for why in &self.event.session_errors {
            self.add_user_message(format!("gambrel cannot read the state of this session: {why}"));
        }
        let mut notices = failures;
        if self.event.kind() == MomentKind::Gate {
            let skipped = self.skipped.iter().filter(|(hook, _)| !self.has_complaint(hook));
            notices.extend(skipped.map(|(hook, why)| skip_notice(hook, why)));
        }
        if self.event.moment == Moment::SessionStart {
            let skipped = skipped_anywhere(self.engine, self.event.dialect);
            let skipped = skipped.into_iter().filter(|(hook, _)| !self.has_complaint(hook));
            notices.extend(skipped.map(|(hook, why)| skip_notice(&hook, &why)));
            notices.extend(self.uncovered_notice());
            notices.extend(self.trust_all_notice());
        }
        if shows_warnings(self.event) {
            notices.extend(self.complaint_notices());
            notices.extend(self.warning_notices());
        }
        let fresh = self.not_yet_reported(notices);
        // A project must not make the session file grow.
        let marked = fresh.iter().take(MAX_MARK_COUNT);
        self.decision.session_flags.extend(marked.map(|notice| notice.key.clone()));
        let lines = join_skips(fresh);
        let hidden = lines.len().saturating_sub(MAX_NOTICE_COUNT);
        for text in lines.into_iter().take(MAX_NOTICE_COUNT) {
            self.add_user_message(text);
        }
        if hidden > 0 {
            self.add_user_message(format!(
                "gambrel: {hidden} more: run `gambrel check` and `gambrel list`"
            ));
        }
    }

    /// Whether a complaint already reports the hook.
    fn has_complaint(&self, hook: &Hook) -> bool {
        let spot = &hook.draft.source.spot;
        let same = |c: &Complaint| c.severity == Severity::Error && c.spot.path == spot.path;
        hook.draft.disabled.is_some() && self.decision.complaints.iter().any(same)
    }

    fn add_user_message(&mut self, text: String) {
        self.verdict.messages.push(own_message(text));
    }

    /// Notices that the session has not seen. A caller without session names sees them every time.
    fn not_yet_reported(&self, notices: Vec<Notice>) -> Vec<Notice> {
        let named = !self.event.session.is_empty();
        let mut keys = BTreeSet::new();
        let is_known =
            |notice: &Notice| named && self.event.session_counts.contains_key(&notice.key);
        let fresh = notices.into_iter().filter(|notice| !is_known(notice));
        fresh.filter(|notice| keys.insert(notice.key.clone())).collect()
    }

    fn keep_for_later(&mut self, failures: Vec<Notice>) {
        for notice in self.not_yet_reported(failures) {
            self.later_notices.push(own_message(notice.text));
            self.decision.session_flags.push(notice.key);
        }
    }

    /// Hooks that crashed, timed out or failed to start, unless they sent a message themselves.
    fn failure_notices(&self) -> Vec<Notice> {
        let says = self.verdict.messages.iter().filter(|say| say.to == Audience::User);
        let speaking: BTreeSet<&str> = says.map(|say| say.hook.as_str()).collect();
        let silent = self.failed.iter().filter(|(step, _)| !speaking.contains(step.hook.as_str()));
        let gate = self.event.kind() == MomentKind::Gate;
        silent.filter_map(|(step, why)| failure_notice(step, why, gate)).collect()
    }

    /// Configuration mistakes.
    fn complaint_notices(&self) -> Vec<Notice> {
        let is_reported = |c: &&Complaint| c.severity == Severity::Error || c.reported_by_fire;
        let wrong = self.decision.complaints.iter().filter(is_reported);
        let notice = |complaint: &Complaint| {
            let spot = &complaint.spot;
            let place = match spot.line {
                0 => spot.path.display().to_string(),
                line => format!("{}:{line}", spot.path.display()),
            };
            let help = complaint.help.as_ref().map(|help| format!(" ({help})"));
            let text =
                format!("gambrel: {place}: {}{}", complaint.message, help.unwrap_or_default());
            Notice::new(&place, &complaint.message, text)
        };
        wrong.map(notice).collect()
    }

    /// Failures of the environment: an unreadable trust store, an unwritable journal.
    fn warning_notices(&self) -> Vec<Notice> {
        let notice = |text: &String| Notice::new("trouble", text, format!("gambrel: {text}"));
        self.decision.warnings.iter().map(notice).collect()
    }

    /// Project hooks that run only because of an environment variable.
    fn trust_all_notice(&self) -> Option<Notice> {
        let options = &self.engine.options;
        let by = options.trusts_all_by.filter(|by| by.starts_with("GAMBREL_"))?;
        let hooks = self.engine.loaded.hooks.iter();
        let count = hooks.filter(|hook| !hook.draft.source.scope.is_own()).count();
        let which = match count {
            0 => return None,
            1 => "the 1 hook of this project".to_owned(),
            count => format!("all {count} hooks of this project"),
        };
        let text = format!("gambrel: {by} is set, so {which} may run, trusted or not");
        Some(Notice::new("trusts-all", by, text))
    }

    /// Events for which hooks exist and which the host does not report to gambrel.
    fn uncovered_notice(&self) -> Option<Notice> {
        if !self.engine.options.hosted {
            return None;
        }
        let text = describe_uncovered(&self.engine.loaded, self.event.dialect)?;
        Some(Notice::new("uncovered", &text, text.clone()))
    }
}

/// Adds a warning that came after the other notices. The user sees it at the same events and as
/// often as those.
pub(crate) fn add_late_warning(event: &Event, decision: &mut Decision, text: String) {
    if decision.warnings.contains(&text) {
        return;
    }
    let Notice { key, text: shown, .. } = Notice::new("trouble", &text, format!("gambrel: {text}"));
    decision.warnings.push(text);
    let is_known = !event.session.is_empty() && event.session_counts.contains_key(&key);
    if !shows_warnings(event) || is_known {
        return;
    }
    let more = Verdict::with_only_message(Audience::User, shown).attributed_to(GAMBREL);
    decision.merged = std::mem::take(&mut decision.merged).then(more.clone());
    decision.for_caller =
        std::mem::take(&mut decision.for_caller).then(more.degrade_for(event.spec).now);
    decision.session_flags.push(key);
}

/// A message of gambrel itself for the user.
fn own_message(text: String) -> Message {
    Message::new(Audience::User, text, GAMBREL)
}

/// Whether the reply to this event shows complaints and warnings.
fn shows_warnings(event: &Event) -> bool {
    let is_shown = event.kind() == MomentKind::Gate || event.moment == Moment::SessionStart;
    is_shown && event.spec.caller_powers.contains(Powers::MESSAGE_USER)
}

/// Describes events with hooks for which the host has no gambrel entry, and the command that adds
/// them. `None` if the host has no entries at all, because it may call gambrel in another way.
pub fn describe_uncovered(loaded: &Loaded, host: &'static Dialect) -> Option<String> {
    let events = uncovered_events(loaded, host);
    if events.is_empty() || !loaded.host_entries.iter().any(|(d, _)| d.name == host.name) {
        return None;
    }
    let names: Vec<&str> = events.iter().map(|row| row.name).collect();
    Some(format!(
        "hooks for {} do not run, because {} has no entry that calls gambrel: run `gambrel install {}{}`",
        names.join(", "),
        if names.len() == 1 { "this event" } else { "these events" },
        host.name,
        install_flag(loaded, host),
    ))
}

/// The file with the existing entries.
fn install_flag(loaded: &Loaded, host: &Dialect) -> &'static str {
    let own = loaded.host_entries.iter().filter(|(dialect, _)| dialect.name == host.name);
    let scopes: Vec<Scope> = own.map(|(_, draft)| draft.source.scope).collect();
    match () {
        () if scopes.contains(&Scope::Project) => "",
        () if scopes.contains(&Scope::Local) => " --local",
        () => " --user",
    }
}

/// The host's events that hooks of other dialects receive and no entry reports.
pub fn uncovered_events(loaded: &Loaded, host: &'static Dialect) -> Vec<&'static EventSpec> {
    let covered = |row: &EventSpec| {
        let mut entries = loaded.host_entries.iter();
        entries.any(|(dialect, draft)| {
            let whole = draft.matcher == MatcherText::All && draft.disabled.is_none();
            dialect.name == host.name && draft.event == row.name && whole
        })
    };
    hooked_events(loaded, host).into_iter().filter(|row| !covered(row)).collect()
}

/// The host's events that hooks of other dialects receive.
pub fn hooked_events(loaded: &Loaded, host: &'static Dialect) -> Vec<&'static EventSpec> {
    let waits = |row: &&EventSpec| {
        let foreign = loaded.hooks.iter().filter(|hook| hook.dialect.name != host.name);
        let mut ready = foreign.filter(|hook| hook.draft.disabled.is_none());
        ready.any(|hook| hook.spec_for(host.name, row.name, &row.moment).is_some())
    };
    let rows = host.events().iter().filter(|row| !row.name.is_empty() && row.reportable);
    rows.filter(waits).collect()
}

fn skip_notice(hook: &Hook, why: &str) -> Notice {
    let name = format!("{} ({})", hook.title(), hook.draft.source.location());
    let notice = Notice::new(&hook.id, why, format!("gambrel skips {name}: {why}"));
    Notice { skip: Some((name, why.to_owned())), ..notice }
}

/// The lines to show; hooks with the same skip reason share one.
fn join_skips(notices: Vec<Notice>) -> Vec<String> {
    let mut lines: Vec<(String, Vec<String>, String)> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for Notice { text, skip, .. } in notices {
        let Some((name, why)) = skip else {
            lines.push((String::new(), Vec::new(), text));
            continue;
        };
        match places.get(&why) {
            Some(place) => lines[*place].1.push(name),
            None => {
                places.insert(why.clone(), lines.len());
                lines.push((why, vec![name], text));
            }
        }
    }
    let line = |(why, names, text): (String, Vec<String>, String)| match names.len() {
        0 | 1 => text,
        count => format!("gambrel skips {count} hooks, {why}: {}", list_names(&names)),
    };
    lines.into_iter().map(line).collect()
}

fn list_names(names: &[String]) -> String {
    let shown = names.iter().take(MAX_NAME_COUNT).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAME_COUNT) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Every hook that cannot run in this session, with the reason.
fn skipped_anywhere(engine: &Engine<'_>, caller: &'static Dialect) -> Vec<(Arc<Hook>, String)> {
    let options = &engine.options;
    if options.trust == TrustMode::None {
        return Vec::new();
    }
    let hosted = |hook: &Hook| options.hosted && hook.dialect.name == caller.name;
    let wanted = |hook: &Hook| {
        options.only.is_empty() || options.only.iter().any(|o| o == hook.dialect.name)
    };
    let hooks = engine.loaded.hooks.iter().filter(|hook| !hosted(hook) && wanted(hook));
    let entries = engine.trust_store.trust_entries().unwrap_or_default();
    let skipped = |hook: &Arc<Hook>| {
        let trust = Trust::for_hook(hook, &engine.loaded, &entries, options.trust);
        let disabled = hook.draft.disabled.as_ref();
        if disabled.is_some_and(Disabled::is_off) {
            return None;
        }
        let broken = disabled.map(|disabled| disabled.why.clone());
        let why = trust.skip_reason().map(str::to_owned).or(broken)?;
        Some((Arc::clone(hook), why))
    };
    hooks.filter_map(skipped).collect()
}

fn failure_notice(step: &Step, why: &str, gate: bool) -> Option<Notice> {
    let end = &step.outcome.as_ref()?.end;
    // An exit code is an answer, except the codes by which a shell reports that nothing ran.
    // Unreadable output counts where an answer is expected.
    let is_failure = match end {
        End::Exited(code) => [126, 127, 130, 255].contains(code) || (gate && *code == 0),
        _ => true,
    };
    if !is_failure {
        return None;
    }
    let text = format!("gambrel: {} ({}) gave no answer: {why}", step.title, step.source);
    Some(Notice::new(&step.hook, end.trail_word(), text))
}
