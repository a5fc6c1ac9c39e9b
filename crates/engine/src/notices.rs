//! What the user must be told beside the hooks' own answers: hooks that were skipped or gave no
//! answer, mistakes in the configuration, and events that the host does not report. Each is told once
//! per session and state, at events whose reply the host shows.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use gambrel_model::{
    Audience, Complaint, Dialect, End, EventSpec, Hook, MatcherText, Message, Moment, MomentKind,
    Powers, Scope, Severity, Step,
};

use crate::firing::Firing;
use crate::select::is_switched_off;
use crate::trust::{Trust, TrustMode};
use crate::{Engine, Loaded};

/// So many notices of one kind are told one by one; the rest is a number.
const MAX_NOTICE_COUNT: usize = 5;

/// So many notices are remembered as told by one firing.
const MAX_MARK_COUNT: usize = 200;
/// So many hooks are named in one line.
const MAX_NAME_COUNT: usize = 20;

/// One thing to tell, and the name under which the session remembers that it was told.
struct Notice {
    key: String,
    text: String,
    /// What several of them are told by in one line: the hook's name, and why it is skipped.
    skip: Option<(String, String)>,
}

impl Notice {
    fn new(what: &str, state: &str, text: String) -> Self {
        Self { key: format!("told:{what}:{state}"), text, skip: None }
    }
}

impl Firing<'_, '_> {
    /// Adds what the user must be told. What this event's reply cannot show is kept for a later one
    /// if it happened now, and found again if it is a state.
    pub(crate) fn add_notices(&mut self) {
        let failures = self.failure_notices();
        if !self.event.spec.caller_powers.contains(Powers::MESSAGE_USER) {
            self.keep_for_later(failures);
            return;
        }
        // Not once only: whether it was told is what cannot be learned.
        for why in std::mem::take(&mut self.unknown) {
            self.add_user_message(format!(
                "gambrel does not know what this session is to be told: {why}"
            ));
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
        if matches!(self.event.kind(), MomentKind::Gate)
            || self.event.moment == Moment::SessionStart
        {
            notices.extend(self.complaint_notices());
            notices.extend(self.warning_notices());
        }
        let fresh = self.not_yet_reported(notices);
        // The session's file must not grow with what a project brings along.
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

    /// Whether what is wrong with a hook is told by a complaint.
    fn has_complaint(&self, hook: &Hook) -> bool {
        let spot = &hook.draft.source.spot;
        let same = |c: &Complaint| c.severity == Severity::Error && c.spot.path == spot.path;
        hook.draft.disabled.is_some() && self.decision.complaints.iter().any(same)
    }

    fn add_user_message(&mut self, text: String) {
        self.verdict.messages.push(Message {
            to: Audience::User,
            text,
            hook: "gambrel".to_owned(),
        });
    }

    /// Those that the session was not told yet, each once. A caller that does not name its session
    /// is told every time: nobody knows where one of its sessions ends.
    fn not_yet_reported(&self, notices: Vec<Notice>) -> Vec<Notice> {
        let named = !self.event.session.is_empty();
        let mut keys = BTreeSet::new();
        let told = |notice: &Notice| named && self.event.session_counts.contains_key(&notice.key);
        let fresh = notices.into_iter().filter(|notice| !told(notice));
        fresh.filter(|notice| keys.insert(notice.key.clone())).collect()
    }

    fn keep_for_later(&mut self, failures: Vec<Notice>) {
        for notice in self.not_yet_reported(failures) {
            let text = notice.text;
            self.owed.push(Message { to: Audience::User, text, hook: "gambrel".to_owned() });
            self.decision.session_flags.push(notice.key);
        }
    }

    /// Hooks that ran and crashed, timed out or could not be started, unless they say so themselves.
    fn failure_notices(&self) -> Vec<Notice> {
        let says = self.verdict.messages.iter().filter(|say| say.to == Audience::User);
        let speaking: HashSet<&str> = says.map(|say| say.hook.as_str()).collect();
        let silent = self.failed.iter().filter(|(step, _)| !speaking.contains(step.hook.as_str()));
        let gate = self.event.kind() == MomentKind::Gate;
        silent.filter_map(|(step, why)| failure_notice(step, why, gate)).collect()
    }

    /// Mistakes in the configuration: what they concern does not run.
    fn complaint_notices(&self) -> Vec<Notice> {
        let is_told = |c: &&Complaint| c.severity == Severity::Error || c.reported_by_fire;
        let wrong = self.decision.complaints.iter().filter(is_told);
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

    /// What the machine refused: trust that cannot be read, a journal that cannot be written.
    fn warning_notices(&self) -> Vec<Notice> {
        let notice = |text: &String| Notice::new("trouble", text, format!("gambrel: {text}"));
        self.decision.warnings.iter().map(notice).collect()
    }

    /// Hooks of the project that run only because the environment says so.
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

/// A sentence about events for which hooks exist here and for which the host has no entry of
/// gambrel's, with the command that adds them. `None` where there are none, and where the host has
/// no entries at all: then it may call gambrel in another way, or not at all.
pub fn describe_uncovered(loaded: &Loaded, host: &'static dyn Dialect) -> Option<String> {
    let events = uncovered_events(loaded, host);
    if events.is_empty() || !loaded.host_entries.iter().any(|(d, _)| d.name() == host.name()) {
        return None;
    }
    let names: Vec<&str> = events.iter().map(|row| row.name).collect();
    Some(format!(
        "hooks for {} do not run, because {} has no entry that calls gambrel: run `gambrel install {}{}`",
        names.join(", "),
        if names.len() == 1 { "this event" } else { "these events" },
        host.name(),
        install_flag(loaded, host),
    ))
}

/// Where the entries are that are there: the missing ones belong beside them.
fn install_flag(loaded: &Loaded, host: &dyn Dialect) -> &'static str {
    let own = loaded.host_entries.iter().filter(|(dialect, _)| dialect.name() == host.name());
    let scopes: Vec<Scope> = own.map(|(_, draft)| draft.source.scope).collect();
    match () {
        () if scopes.contains(&Scope::Project) => "",
        () if scopes.contains(&Scope::Local) => " --local",
        () => " --user",
    }
}

/// The host's events that a hook of another dialect waits for and that no entry reports to gambrel.
pub fn uncovered_events(loaded: &Loaded, host: &'static dyn Dialect) -> Vec<&'static EventSpec> {
    let covered = |row: &EventSpec| {
        let mut entries = loaded.host_entries.iter();
        entries.any(|(dialect, draft)| {
            let whole = draft.matcher == MatcherText::All && draft.disabled.is_none();
            dialect.name() == host.name() && draft.event == row.name && whole
        })
    };
    hooked_events(loaded, host).into_iter().filter(|row| !covered(row)).collect()
}

/// The host's events that a hook of another dialect waits for.
pub fn hooked_events(loaded: &Loaded, host: &'static dyn Dialect) -> Vec<&'static EventSpec> {
    let waits = |row: &&EventSpec| {
        let foreign = loaded.hooks.iter().filter(|hook| hook.dialect.name() != host.name());
        let mut ready = foreign.filter(|hook| hook.draft.disabled.is_none());
        ready.any(|hook| hook.spec_for(host.name(), row.name, &row.moment).is_some())
    };
    let rows = host.events().iter().filter(|row| !row.name.is_empty() && host.is_reportable(row));
    rows.filter(waits).collect()
}

fn skip_notice(hook: &Hook, why: &str) -> Notice {
    let name = format!("{} ({})", hook.title(), hook.draft.source.location());
    let notice = Notice::new(&hook.id, why, format!("gambrel skips {name}: {why}"));
    Notice { skip: Some((name, why.to_owned())), ..notice }
}

/// The lines to tell: hooks that are skipped for the same reason share one.
fn join_skips(notices: Vec<Notice>) -> Vec<String> {
    let mut lines: Vec<(String, Vec<String>, String)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
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

/// Every hook that no event of the session will run as things stand, and why.
fn skipped_anywhere(engine: &Engine<'_>, caller: &'static dyn Dialect) -> Vec<(Arc<Hook>, String)> {
    let options = &engine.options;
    if options.trust == TrustMode::None {
        return Vec::new();
    }
    let hosted = |hook: &Hook| options.hosted && hook.dialect.name() == caller.name();
    let wanted = |hook: &Hook| {
        options.only.is_empty() || options.only.iter().any(|o| o == hook.dialect.name())
    };
    let hooks = engine.loaded.hooks.iter().filter(|hook| !hosted(hook) && wanted(hook));
    let entries = engine.ledger.trust().unwrap_or_default();
    let skipped = |hook: &Arc<Hook>| {
        let trust = Trust::for_hook(hook, &engine.loaded, &entries, options.trust);
        let broken = hook.draft.disabled.as_ref().filter(|why| !is_switched_off(why));
        let why = trust.skip_reason().map(str::to_owned).or_else(|| broken.cloned())?;
        let off = hook.draft.disabled.as_ref().is_some_and(|why| is_switched_off(why));
        (!off).then(|| (Arc::clone(hook), why))
    };
    hooks.filter_map(skipped).collect()
}

fn failure_notice(step: &Step, why: &str, gate: bool) -> Option<Notice> {
    let end = &step.outcome.as_ref()?.end;
    // An exit code is an answer, except those by which shells say that nothing ran. Output that
    // cannot be read matters where something waits for the answer.
    let told = match end {
        End::Exited(code) => [126, 127, 130, 255].contains(code) || (gate && *code == 0),
        _ => true,
    };
    if !told {
        return None;
    }
    let text = format!("gambrel: {} ({}) gave no answer: {why}", step.title, step.source);
    Some(Notice::new(&step.hook, end.word(), text))
}
