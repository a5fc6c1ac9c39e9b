//! Fires the hooks of a run: the event, its key, and what the decision means for the run.

use gambrel_model::text::truncate_chars;
use gambrel_model::{Audience, Decision, End, Ruling, Slot, Step, TimelineHook, ToolResult};
use serde_json::{Value, json};

use crate::context::{FiringRequest, RunError, RunUpdate};
use crate::drive::Driver;
use crate::permissions::shorten_call;

/// The most characters of what a hook did in the log.
const MAX_WHY_CHARS: usize = 600;

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
    /// Whether the agent reads the output of its tool as hooks rewrite it.
    pub accepts_output: bool,
}

impl RunFiring {
    /// A firing of all hooks of a moment.
    pub fn of(moment: &'static str) -> Self {
        let key = moment.to_owned();
        Self { moment, pass: "all", key, facts: json!({}), accepts_output: false }
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

    /// The output of a tool as hooks rewrote it.
    pub fn rewritten_output(&self) -> Option<String> {
        let output = self.decision.for_caller.patch.get(&Slot::Output)?;
        let blocks = output.get("content")?.as_array()?.clone();
        Some(ToolResult { content: blocks, ..ToolResult::default() }.joined_text())
    }

    /// Messages for the agent.
    pub fn agent_messages(&self) -> Vec<String> {
        let verdict = &self.decision.for_caller;
        verdict.messages_for(Audience::AgentNow).map(str::to_owned).collect()
    }
}

/// What a firing is about.
#[derive(Debug, Clone)]
pub struct FiringName {
    /// The neutral moment.
    pub moment: &'static str,
    /// The key.
    pub key: String,
    /// The tool and its call in short, if it is about one.
    pub call: Option<(String, String)>,
}

/// A firing with its event and key.
pub(crate) struct PreparedFiring<'p> {
    /// What it is about.
    pub name: FiringName,
    /// The event.
    pub request: FiringRequest<'p>,
}

impl<'r> Driver<'r> {
    /// Fires an event at the current position. Messages for the user are passed on.
    pub(crate) fn fire(&mut self, firing: RunFiring) -> Result<RunDecision, RunError> {
        let prepared = self.prepare_firing(firing);
        let decision = (self.context.fire)(&prepared.request).map_err(RunError::Firing)?;
        Ok(self.conclude_firing(&prepared.name, decision))
    }

    /// The event and key of a firing at the current position.
    pub(crate) fn prepare_firing(&self, firing: RunFiring) -> PreparedFiring<'r> {
        let cursor = &self.state.cursor;
        let key = cursor.firing_key(&self.folder.path, &self.plan.session.run_id, &firing.key);
        let mut facts = firing.facts;
        let call = describe_call(&facts["tool"]);
        facts["iteration"] = json!(cursor.iteration);
        facts["stage"] = json!(self.node().id);
        facts["vars"] = self.view().variable_facts(cursor);
        let event = json!({
            "moment": firing.moment, "session": self.plan.session.name,
            "cwd": self.context.project, "run_dir": self.folder.path,
            "pass": firing.pass, "firing_key": key, "facts": facts,
            "accepts_output": firing.accepts_output,
        });
        let (plan, node) = (self.plan, self.node());
        let request = FiringRequest {
            event,
            agent: &node.provider.spec,
            stage_file: node.hook_file.as_ref(),
            pipeline_file: plan.pipeline.hook_file.as_ref(),
        };
        PreparedFiring { name: FiringName { moment: firing.moment, key, call }, request }
    }

    /// Reads a decision: messages for the user are passed on, and hooks that ended get their lines.
    pub(crate) fn conclude_firing(&mut self, name: &FiringName, decision: Decision) -> RunDecision {
        let FiringName { moment, key, call } = name;
        for notice in decision.for_caller.messages_for(Audience::User) {
            (self.on_update)(RunUpdate::Notice(notice));
        }
        // A hook that stops the run has not finished: it is asked again.
        let stops = |step: &&Step| {
            step.verdict == Ruling::Halt
                || (step.verdict == Ruling::Deny && *moment == "iteration.start")
        };
        let is_new =
            |step: &&Step| !self.state.finished_hooks.contains(&(key.clone(), step.hook.clone()));
        // A module without a handler for the event had nothing to do.
        let has_ended = |step: &&Step| {
            step.outcome.as_ref().is_some_and(|outcome| outcome.end != End::NotApplicable)
        };
        let ended = decision.trail.iter().filter(has_ended);
        let hooks = ended.filter(|step| !stops(step)).filter(is_new).map(|step| {
            let mut line = json!({
                "firing_key": key, "moment": moment, "hook": step.hook,
                "title": step.title, "dialect": step.dialect, "verdict": step.verdict.as_str(),
                "ms": step.outcome.as_ref().map_or(0, |outcome| outcome.elapsed.as_millis()),
            });
            let slots: Vec<String> = step.rewrote.iter().cloned().map(String::from).collect();
            let rewrote = TimelineHook::name_rewrites(slots.iter().map(String::as_str));
            if !rewrote.is_empty() {
                line["rewrote"] = json!(rewrote);
            }
            let end = step.outcome.as_ref().map(|outcome| outcome.end.trail_word());
            if end.is_some_and(End::is_without_answer) {
                line["unanswered"] = json!(true);
            }
            if !step.why.is_empty() {
                line["why"] = json!(truncate_chars(&step.why, MAX_WHY_CHARS, "…"));
            }
            if let Some((tool, call)) = call {
                (line["tool"], line["call"]) = (json!(tool), json!(call));
            }
            line
        });
        let hooks = hooks.collect();
        RunDecision { decision, hooks }
    }
}

/// The name of a tool and its call in short; `None` without a tool.
fn describe_call(tool: &Value) -> Option<(String, String)> {
    let name = [&tool["name"], &tool["kind"]].into_iter().find_map(Value::as_str)?;
    Some((name.to_owned(), shorten_call(&tool["args"])))
}
