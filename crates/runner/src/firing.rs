//! Fires the hooks of a run: the event, its key, and what the decision means for the run.

use gambrel_model::{Audience, Decision, Ruling, Step};
use serde_json::{Value, json};

use crate::context::{FiringRequest, RunError, RunUpdate};
use crate::drive::Driver;

/// A firing of the run.
pub(crate) struct RunFiring {
    /// The neutral moment.
    pub moment: &'static str,
    /// Which hooks of an end run: `all`, `veto` or `notify`.
    pub pass: &'static str,
    /// The last part of the key.
    pub key: String,
    /// Facts besides the variables.
    pub facts: Value,
}

impl RunFiring {
    /// A firing of all hooks of a moment.
    pub fn of(moment: &'static str) -> Self {
        Self { moment, pass: "all", key: moment.to_owned(), facts: json!({}) }
    }
}

/// A decision, and the lines about the hooks that ran for it.
pub(crate) struct RunDecision {
    /// The decision.
    pub decision: Decision,
    /// One value for each hook that ran.
    pub hooks: Vec<Value>,
}

impl RunDecision {
    /// Whether a hook stops the run.
    pub fn is_halt(&self) -> bool {
        self.decision.for_caller.ruling == Ruling::Halt
    }

    /// Whether a hook refuses.
    pub fn is_refusal(&self) -> bool {
        self.decision.for_caller.ruling.is_refusal()
    }

    /// Messages for the agent.
    pub fn agent_messages(&self) -> Vec<String> {
        let verdict = &self.decision.for_caller;
        verdict.messages_for(Audience::AgentNow).map(str::to_owned).collect()
    }
}

/// A firing with its event and key.
pub(crate) struct PreparedFiring<'p> {
    /// The neutral moment.
    pub moment: &'static str,
    /// The key.
    pub key: String,
    /// The event.
    pub request: FiringRequest<'p>,
}

impl<'r> Driver<'r> {
    /// Fires an event at the current position. Messages for the user are passed on.
    pub(crate) fn fire(&mut self, firing: RunFiring) -> Result<RunDecision, RunError> {
        let prepared = self.prepare_firing(firing);
        let decision = (self.context.fire)(&prepared.request).map_err(RunError::Firing)?;
        Ok(self.conclude_firing(prepared.moment, &prepared.key, decision))
    }

    /// The event and key of a firing at the current position.
    pub(crate) fn prepare_firing(&self, firing: RunFiring) -> PreparedFiring<'r> {
        let cursor = &self.state.cursor;
        let key = cursor.firing_key(&self.folder.path, &self.plan.session.run_id, &firing.key);
        let mut facts = firing.facts;
        facts["iteration"] = json!(cursor.iteration);
        facts["stage"] = json!(self.node().id);
        facts["vars"] = self.view().variable_facts(cursor);
        let event = json!({
            "moment": firing.moment, "session": self.plan.session.name,
            "cwd": self.context.project, "run_dir": self.folder.path,
            "pass": firing.pass, "firing_key": key, "facts": facts,
        });
        let (plan, node) = (self.plan, self.node());
        let request = FiringRequest {
            event,
            agent: &node.provider.spec,
            stage_file: node.hook_file.as_ref(),
            pipeline_file: plan.pipeline.hook_file.as_ref(),
        };
        PreparedFiring { moment: firing.moment, key, request }
    }

    /// Reads a decision: messages for the user are passed on, and hooks that ended get their lines.
    pub(crate) fn conclude_firing(
        &mut self,
        moment: &'static str,
        key: &str,
        decision: Decision,
    ) -> RunDecision {
        for notice in decision.for_caller.messages_for(Audience::User) {
            (self.on_update)(RunUpdate::Notice(notice));
        }
        // A hook that stops the run has not finished: it is asked again.
        let stops = |step: &&Step| {
            step.verdict == Ruling::Halt
                || (step.verdict == Ruling::Deny && moment == "iteration.start")
        };
        let is_new = |step: &&Step| {
            !self.state.finished_hooks.contains(&(key.to_owned(), step.hook.clone()))
        };
        let ended = decision.trail.iter().filter(|step| step.outcome.is_some());
        let hooks = ended.filter(|step| !stops(step)).filter(is_new).map(|step| {
            json!({
                "firing_key": key, "moment": moment, "hook": step.hook,
                "title": step.title, "dialect": step.dialect, "verdict": step.verdict.as_str(),
                "ms": step.outcome.as_ref().map_or(0, |outcome| outcome.elapsed.as_millis()),
            })
        });
        let hooks = hooks.collect();
        RunDecision { decision, hooks }
    }
}
