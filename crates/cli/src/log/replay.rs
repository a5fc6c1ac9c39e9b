//! `gambrel replay`: what the hooks of today decide about recorded events.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{ArgGroup, Args};
use gambrel::{DIALECTS, Decision, Gambrel, NOT_REPLAYED};
use gambrel_model::Step;
use gambrel_model::ledger::{FiringQuery, FiringRecord, RecordedEvent, RecordedFiring};
use gambrel_model::text::join_lines;
use serde_json::{Value, json};

use super::line::{describe_rewrites, is_own_slot};
use super::summary::summarize_event;
use super::{find_firing, import_spool, open_journal};
use crate::args::Sources;
use crate::printer::{self, decision_table};
use crate::{open, trust};

/// Arguments of `replay`.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("recorded").args(["id", "session"]).required(true),
    after_help = "Trusted rules run, and at gates modules and the commands that the gate waits for.
Webhooks, pipelines, MCP tools, models, background commands, and modules and commands
at other events are listed as not replayed. Sessions, tickets and boards stay as they
are; commands see GAMBREL_REPLAY=1.

Examples:
  gambrel replay last                  try the newest recorded event again
  gambrel replay --session S           list the decisions of a session that would change
  gambrel replay 3f21c0 --hook new.ts  try a new module on a recorded event"
)]
pub struct ReplayArgs {
    /// Replay this firing: an id of `gambrel log`, a unique beginning of it, or `last`.
    pub id: Option<String>,
    /// Replay all firings of this session, and print the decisions that change.
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// Print the results as JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub sources: Sources,
}

/// Replays one firing, or a session.
pub fn run(folder: Option<PathBuf>, args: &ReplayArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(open::build_setup(folder, Some(&args.sources))?);
    let state_dir = create_private_dir()?;
    let trial = gambrel.for_trial(&state_dir);
    let result = match (&args.id, &args.session) {
        (Some(id), _) => replay_firing(&gambrel, &trial, id, args.json),
        (None, session) => {
            replay_session(&gambrel, &trial, session.as_deref().unwrap_or_default(), args.json)
        }
    };
    // A folder that cannot be removed stays in the temporary folder.
    let _left = std::fs::remove_dir_all(&state_dir);
    result.map(|()| 0)
}

/// The state folder for commands of gambrel that hooks start. Its name cannot be guessed.
fn create_private_dir() -> anyhow::Result<PathBuf> {
    let path = std::env::temp_dir().join(format!("gambrel-replay-{}", gambrel::fresh_key()?));
    DirBuilder::new().mode(0o700).create(&path).with_context(|| path.display().to_string())?;
    Ok(path)
}

fn replay_firing(
    gambrel: &Gambrel,
    trial: &Gambrel,
    id: &str,
    as_json: bool,
) -> anyhow::Result<()> {
    let firing = find_firing(gambrel, id)?;
    let Some(replay) = Replay::run(trial, &firing)? else {
        bail!("the event of this firing is not in the journal: an older version recorded it");
    };
    match as_json {
        true => printer::print_json(&replay.to_json()),
        false => printer::print(&replay.format()),
    }
    Ok(())
}

fn replay_session(
    gambrel: &Gambrel,
    trial: &Gambrel,
    session: &str,
    as_json: bool,
) -> anyhow::Result<()> {
    let ledger = open_journal(gambrel)?;
    import_spool(ledger);
    let query = FiringQuery { session: Some(session.to_owned()), limit: usize::MAX, after: None };
    let firings = ledger.firings(&query)?;
    if firings.is_empty() {
        bail!("no firings of session `{session}`: see `gambrel log`");
    }
    let mut replays = Vec::new();
    let mut unrecorded = 0;
    for firing in &firings {
        match Replay::run(trial, firing) {
            Ok(Some(replay)) => replays.push(replay),
            Ok(None) => unrecorded += 1,
            // One event that is not whole must not hide the others.
            Err(error) => {
                printer::warn(&format!("gambrel: {error:#}"));
                unrecorded += 1;
            }
        }
    }
    let changed: Vec<&Replay<'_>> = replays.iter().filter(|replay| replay.is_changed()).collect();
    if as_json {
        printer::print_json(&json!({
            "session": session, "replayed": replays.len(), "unrecorded": unrecorded,
            "changed": changed.iter().map(|replay| replay.to_json()).collect::<Vec<_>>(),
        }));
        return Ok(());
    }
    for replay in &changed {
        printer::print(&replay.format_change());
    }
    printer::print(&format_count(&replays, changed.len(), unrecorded));
    printer::print(&trust::waiting_line(count_waiting(gambrel, &replays)));
    Ok(())
}

/// How many hooks of the session's project wait for trust, and were left out because of that.
fn count_waiting(gambrel: &Gambrel, replays: &[Replay<'_>]) -> usize {
    let event = replays.last().map(|replay| &replay.event);
    let receive = |event: &RecordedEvent| {
        gambrel.receive(&event.from, event.native.to_string().as_bytes()).ok()
    };
    let loaded = event.and_then(receive).map(|event| gambrel.load_hooks(Some(&event)));
    loaded.map_or(0, |loaded| trust::count_waiting(gambrel, &loaded))
}

/// The counts: how many decisions change, and what could not be replayed in full.
fn format_count(replays: &[Replay<'_>], changed: usize, unrecorded: usize) -> String {
    let plural = |count: usize, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    };
    let mut text = format!(
        "{} replayed, {}",
        plural(replays.len(), "firing", "firings"),
        plural(changed, "decision changes", "decisions change"),
    );
    let incomplete = replays.iter().filter(|replay| !replay.event.differences.is_empty()).count();
    if incomplete > 0 {
        text += &format!("; {} recorded in part", plural(incomplete, "event is", "events are"));
    }
    if unrecorded > 0 {
        text += &format!("; {} not recorded", plural(unrecorded, "event is", "events are"));
    }
    text + "\n"
}

/// A recorded firing, and what today's hooks decide about its event.
struct Replay<'f> {
    firing: &'f FiringRecord,
    recorded: RecordedFiring<'f>,
    event: RecordedEvent,
    decision: Decision,
}

impl<'f> Replay<'f> {
    /// `None` if the journal does not have the event.
    fn run(trial: &Gambrel, firing: &'f FiringRecord) -> anyhow::Result<Option<Self>> {
        let recorded = RecordedFiring::new(firing);
        let Some(event) = recorded.event(DIALECTS) else { return Ok(None) };
        let native = event.native.to_string();
        let received = match trial.receive(&event.from, native.as_bytes()) {
            Ok(received) => received,
            Err(complaint) => bail!("{}: {}", firing.short_id(), complaint.message),
        };
        let hosted = *recorded.field("hosted") == true;
        let decision = trial.fire_again(received, hosted).decision;
        Ok(Some(Self { firing, recorded, event, decision }))
    }

    fn ruling_before(&self) -> &str {
        self.recorded.text("ruling")
    }

    fn ruling_now(&self) -> &'static str {
        self.decision.merged.ruling.as_str()
    }

    /// Hooks that match and were left out, with the reason.
    fn left_out(&self) -> impl Iterator<Item = (&Step, &str)> {
        let steps = self.decision.trail.iter();
        steps.filter_map(|step| Some((step, step.why.strip_prefix(NOT_REPLAYED)?)))
    }

    /// The title of the hook that made the recorded ruling, if it is not replayed.
    fn missing_judge(&self) -> Option<&str> {
        let reasons = self.recorded.list("reasons").iter();
        let mut judges = reasons
            .filter(|reason| reason["ruling"].as_str() == Some(self.ruling_before()))
            .filter_map(|reason| reason["hook"].as_str());
        let judge = judges.find(|judge| self.left_out().any(|(step, _)| step.hook == *judge))?;
        let step = self.decision.trail.iter().find(|step| step.hook == judge);
        step.map(|step| step.title.as_str())
    }

    /// Whether the decision is another one. The ruling of a hook that is not replayed says nothing.
    fn is_changed(&self) -> bool {
        if self.ruling_before().is_empty() {
            return false;
        }
        let has_ruling =
            self.ruling_before() != self.ruling_now() && self.missing_judge().is_none();
        has_ruling || self.is_rewritten_anew()
    }

    /// Whether the input is rewritten in another way. An output is recorded as hooks left it.
    fn is_rewritten_anew(&self) -> bool {
        let before = &self.recorded.field("rewrites")["input"]["after"];
        let is_whole = self.event.differences.is_empty();
        let patch = json!(self.decision.merged.patch);
        is_whole && *before != patch["input"]
    }

    /// Why the decisions cannot be compared.
    fn find_obstacle(&self) -> Option<String> {
        if let Some(judge) = self.missing_judge() {
            return Some(format!("{} is not replayed", printer::truncate_line(judge, 60)));
        }
        let rewrites = self.recorded.field("rewrites").as_object();
        let mut slots = rewrites.into_iter().flat_map(|slots| slots.keys());
        let has_other = slots.any(|slot| slot != "input" && !is_own_slot(slot));
        let is_lost = has_other && !self.event.differences.is_empty() && !self.is_changed();
        is_lost.then(|| "the record has no text from before the rewrite".to_owned())
    }

    fn to_json(&self) -> Value {
        let entry = |(step, why): (&Step, &str)| json!({"hook": step.hook, "title": step.title, "why": why});
        json!({
            "id": self.firing.id, "event": self.event.name, "from": self.event.from,
            "about": summarize_event(&self.recorded).map(|summary| summary.text),
            "differences": self.event.differences,
            "recorded": {"ruling": self.ruling_before(), "reasons": self.recorded.list("reasons")},
            "replayed": self.decision.to_json(),
            "not_replayed": self.left_out().map(entry).collect::<Vec<_>>(),
            "comparable": self.find_obstacle().is_none(),
            "changed": self.is_changed(),
        })
    }

    /// What the event is: its name, its tool and what the tool does.
    fn event_line(&self) -> String {
        let about = summarize_event(&self.recorded).map(|summary| summary.text);
        let parts = [
            self.firing.short_id(),
            self.event.name.clone(),
            self.recorded.text("tool").to_owned(),
            join_lines(&about.unwrap_or_default()),
        ];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        printer::truncate_line(&parts.join(" "), 100)
    }

    fn first_reason(&self) -> String {
        let reasons = self.recorded.list("reasons");
        let text = reasons.iter().find_map(|reason| reason["text"].as_str()).unwrap_or_default();
        printer::truncate_line(text, 100)
    }

    fn format(&self) -> String {
        let mut text = format!("{}\n", self.event_line());
        for difference in &self.event.differences {
            text += &format!("  recorded in part: {}\n", printer::single_line(difference));
        }
        text += &decision_table::format_trail(&self.decision);
        text += &decision_table::format_verdict(&self.decision);
        let before = match (self.ruling_before(), self.first_reason()) {
            ("", _) => "none: it was interrupted".to_owned(),
            (ruling, reason) if reason.is_empty() => ruling.to_owned(),
            (ruling, reason) => format!("{ruling}: {reason}"),
        };
        text += &self.format_rewrites();
        let rewrote = describe_rewrites(&self.recorded).map(|text| format!(", {text}"));
        text += &format!("  recorded: {before}{}\n", rewrote.unwrap_or_default());
        text + &self.format_conclusion()
    }

    /// What hooks would put in place of the input and other parts of the event.
    fn format_rewrites(&self) -> String {
        let patch = json!(self.decision.merged.patch);
        let slots = patch.as_object().into_iter().flatten().filter(|(slot, _)| !is_own_slot(slot));
        let line = |(slot, value): (&String, &Value)| {
            let value = printer::truncate_line(&value.to_string(), 100);
            format!("    rewrites {slot}: {value}\n")
        };
        slots.map(line).collect()
    }

    fn format_conclusion(&self) -> String {
        match self.find_obstacle() {
            Some(obstacle) => format!("  not comparable: {obstacle}\n"),
            None if self.is_changed() && self.ruling_before() == self.ruling_now() => {
                "  changed: the input is rewritten in another way\n".to_owned()
            }
            None if self.is_changed() => {
                format!("  changed: {} -> {}\n", self.ruling_before(), self.ruling_now())
            }
            None => "  unchanged\n".to_owned(),
        }
    }

    /// The change in two lines.
    fn format_change(&self) -> String {
        let explain = |ruling: &str, reason: &str| match reason {
            "" => ruling.to_owned(),
            reason => format!("{ruling} ({})", printer::truncate_line(reason, 100)),
        };
        let now = self.decision.merged.ruling_reasons().first().map_or("", |reason| *reason);
        let rulings = match self.ruling_before() == self.ruling_now() {
            true => "the input is rewritten in another way".to_owned(),
            false => format!(
                "{} -> {}",
                explain(self.ruling_before(), &self.first_reason()),
                explain(self.ruling_now(), now)
            ),
        };
        format!("{}\n  {rulings}\n", self.event_line())
    }
}
