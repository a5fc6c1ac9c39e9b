//! The leader of a pi-teams team: fires the hooks of idle members and applies quality gates to the
//! files of the team.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use gambrel_dialects::teams::gate::GateEvent;
use gambrel_dialects::teams::leader::IdleReport;
use gambrel_dialects::teams::{TEAM_SOURCE, TEAMS, failure_summary, read_policy};
use gambrel_engine::{FireResult, now_ms};
use gambrel_ledger::TeamDir;
use gambrel_model::ledger::{RunLock, WatchTarget};
use gambrel_model::{
    Complaint, Decision, LedgerError, LedgerErrorKind, ProcessOrigin, QualityGateResult,
    SideEffect, Step, TeamFacts,
};
use serde_json::Value;

use crate::app::Gambrel;
use crate::quality_gate::apply_gate;

/// How often a waiting process looks at a lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(100);
/// The longest wait for the hooks of other members.
const TURN_TIMEOUT: Duration = Duration::from_secs(3_600);

/// One hook of an idle member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamHookResult {
    /// The hook's title.
    pub title: String,
    /// Why it failed; `None` if it passed.
    pub failure: Option<String>,
    /// How long it ran.
    pub elapsed_ms: u64,
}

/// One event of a report.
struct TeamEvent<'t> {
    team: &'t TeamDir,
    report: &'t IdleReport,
    name: &'t str,
    is_about_task: bool,
    is_repeatable: bool,
}

/// What the leader did for an idle member.
#[derive(Debug, Default)]
pub struct IdleResult {
    /// The hooks that ran, in order.
    pub hooks: Vec<TeamHookResult>,
    /// Lines for the user.
    pub notices: Vec<String>,
    /// Whether a hook failed or refused.
    pub has_failed: bool,
}

/// Why the leader could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    /// A file of the team, or the ledger, failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The hooks could not be fired.
    #[error("{0}")]
    Firing(Complaint),
}

// For the command line of the workspace, in inner types that may change.
#[doc(hidden)]
impl Gambrel {
    /// Fires the hooks of an idle member, one event after the other. Only one process at a time does
    /// this for a team. If `is_repeatable`, a report that is handled again runs no hook again.
    pub fn handle_idle(
        &self,
        team: &TeamDir,
        report: &IdleReport,
        is_repeatable: bool,
    ) -> Result<IdleResult, TeamError> {
        let deadline = Some(Instant::now() + TURN_TIMEOUT);
        let _turn = self.wait_for_lock(&format!("team-turn:{}", team.dir.display()), deadline)?;
        let mut done = IdleResult::default();
        for (event, is_about_task) in report.events() {
            let task = match report.task.as_ref().filter(|_| is_about_task) {
                Some(id) => read_task(team, id, &mut done.notices),
                None => Value::Null,
            };
            let about = TeamEvent { team, report, name: event, is_about_task, is_repeatable };
            self.fire_team_event(&about, &task, &mut done)?;
        }
        Ok(done)
    }

    /// Waits until this process is the leader of a team.
    pub fn lead_team(&self, team: &TeamDir) -> Result<RunLock, TeamError> {
        Ok(self.wait_for_lock(&leader_lock(team), None)?)
    }

    /// Who leads a team, if somebody does.
    pub fn team_leader(&self, team: &TeamDir) -> Option<ProcessOrigin> {
        let taken =
            self.ledger().acquire_lock(&leader_lock(team), &ProcessOrigin::of_this_process());
        match taken.err()?.kind {
            LedgerErrorKind::Locked(owner) => Some(owner),
            _ => None,
        }
    }

    fn wait_for_lock(&self, name: &str, end: Option<Instant>) -> Result<RunLock, LedgerError> {
        let owner = ProcessOrigin::of_this_process();
        loop {
            match self.ledger().acquire_lock(name, &owner) {
                Err(LedgerError { kind: LedgerErrorKind::Locked(_), .. })
                    if end.is_none_or(|end| Instant::now() < end) =>
                {
                    let soon = Instant::now() + LOCK_INTERVAL;
                    self.ledger().wait_for_change(WatchTarget::Lock(name), soon);
                }
                done => return done,
            }
        }
    }

    fn fire_team_event(
        &self,
        event: &TeamEvent<'_>,
        task: &Value,
        done: &mut IdleResult,
    ) -> Result<(), TeamError> {
        let TeamEvent { team, report, .. } = event;
        let facts = team_facts(team);
        let native = report.build_event(&facts, event.name, task).to_string();
        let mut received =
            self.receive(TEAMS.name, native.as_bytes()).map_err(TeamError::Firing)?;
        let mut key = report.dedupe_key(&facts, event.name);
        match event.is_repeatable {
            true => received.parsed.firing_key = Some(key.clone()),
            // A report from the command line is a new one each time.
            false => key.push_str(&format!(":{}", received.context.id)),
        }
        let loaded = self.load_hooks_with(Some(&received), &[team_source(team)]);
        let options = self.setup().options.clone();
        let FireResult { decision, reply, .. } = self.fire_with_options(received, &loaded, options);
        let has_failed = reply.exit != 0;
        done.has_failed |= has_failed;
        describe_trail(&decision, done);

        let gates = match event.is_about_task {
            true => self.gate_results(event, &decision, has_failed),
            false => Vec::new(),
        };
        for result in gates {
            let about = GateEvent {
                result: &result,
                key: &key,
                at: now_ms(),
                member: Some(&report.member),
                lead: &team.lead,
                is_before_completion: false,
            };
            let known = team.parse_task(task);
            let effects = apply_gate((*team, &team.id), about, known.as_ref())?;
            done.notices.extend(effects.notices);
        }
        self.mark_delivered(&decision)?;
        Ok(())
    }

    /// The results of the gates of an event. A refusal by a hook of another product is a failed gate,
    /// too.
    fn gate_results(
        &self,
        event: &TeamEvent<'_>,
        decision: &Decision,
        has_failed: bool,
    ) -> Vec<QualityGateResult> {
        let mut results = own_results(decision);
        if has_failed && results.iter().all(|result| result.failure.is_none()) {
            let reasons = decision.merged.ruling_reasons().join("\n");
            let failure = reasons.lines().next().unwrap_or("refused").to_owned();
            let other = QualityGateResult {
                hook: format!("on_{}", event.name),
                policy: read_policy(&self.setup().search_roots(None), &event.team.hooks),
                stderr: reasons,
                ..results.pop().unwrap_or_default()
            };
            results = vec![QualityGateResult { failure: Some(failure), ..other }];
        }
        results
    }
}

/// The results of quality gates in a decision.
pub(crate) fn own_results(decision: &Decision) -> Vec<QualityGateResult> {
    let effects = decision.merged.side_effects.iter();
    let result = |effect: &SideEffect| match effect {
        SideEffect::QualityGate(result) => Some(result.clone()),
        _ => None,
    };
    effects.filter_map(result).collect()
}

/// The folder of a team as a source of hooks.
pub(crate) fn team_source(team: &TeamDir) -> (String, PathBuf) {
    (TEAM_SOURCE.to_owned(), team.dir.clone())
}

/// What hooks learn about a team.
pub(crate) fn team_facts(team: &TeamDir) -> TeamFacts {
    TeamFacts {
        id: team.id.clone(),
        dir: team.dir.clone(),
        list: team.list.clone(),
        style: team.style.clone(),
    }
}

fn leader_lock(team: &TeamDir) -> String {
    format!("team:{}", team.dir.display())
}

/// The task of an event, read again. Null if it was removed or is damaged.
fn read_task(team: &TeamDir, id: &str, notices: &mut Vec<String>) -> Value {
    match team.read_task(id) {
        Ok(task) => task.unwrap_or_default(),
        Err(error) => {
            notices.push(error.to_string());
            Value::Null
        }
    }
}

/// Adds the hooks that ran, and the reasons of those of pi-teams that did not.
fn describe_trail(decision: &Decision, done: &mut IdleResult) {
    let add_hook = |step: &Step| {
        let outcome = step.outcome.as_ref()?;
        let is_failed = step.ok == Some(false) || step.verdict.is_refusal();
        Some(TeamHookResult {
            title: step.title.clone(),
            failure: is_failed.then(|| failure_summary(outcome)),
            elapsed_ms: u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX),
        })
    };
    done.hooks.extend(decision.trail.iter().filter_map(add_hook));
    let is_skipped = |step: &&Step| step.outcome.is_none() && step.dialect == TEAMS.name;
    let skipped = decision.trail.iter().filter(is_skipped);
    done.notices.extend(skipped.map(|step| format!("{} did not run: {}", step.title, step.why)));
    done.notices.extend(decision.warnings.iter().cloned());
    done.notices.extend(decision.complaints.iter().map(ToString::to_string));
}
