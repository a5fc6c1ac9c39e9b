//! The picture of a run: the fold of its log into stages, iterations and hooks.

use gambrel_model::{
    IterationTimeline, RunSummary, RunTimeline, StageTimeline, TimelineHook, TimelineNote,
};
use serde_json::Value;

use crate::log_line::{LogKind, LogLine};
use crate::plan::Plan;

/// Builds the picture of a run. `status` is the word for how it stands.
pub fn build_timeline(plan: &Plan, lines: &[LogLine], status: &str) -> RunTimeline {
    let mut fold = TimelineFold { plan, timeline: RunTimeline::default() };
    for line in lines {
        fold.apply(line);
    }
    let mut timeline = fold.timeline;
    let last = lines.last();
    let stage = last.and_then(|line| plan.nodes.get(line.cursor.node()));
    timeline.ended = last.map_or(0, |line| line.ms);
    timeline.summary = RunSummary {
        session: plan.session.name.clone(),
        pipeline: plan.pipeline.name.clone(),
        status: status.to_owned(),
        began: lines.first().map_or(0, |line| line.ms),
        stage: stage.map(|node| node.id.clone()).unwrap_or_default(),
        iteration: last.map_or(0, |line| line.cursor.iteration),
        revision: lines.len() as u64,
    };
    timeline
}

struct TimelineFold<'p> {
    plan: &'p Plan,
    timeline: RunTimeline,
}

impl TimelineFold<'_> {
    fn apply(&mut self, line: &LogLine) {
        match line.kind {
            LogKind::NodeStart => drop(self.stage_of(line)),
            LogKind::IterationStart => self.start_iteration(line),
            LogKind::HookComplete => self.add_hook(line),
            LogKind::NodeComplete => {
                let reason = text_of(&line.data, "reason");
                self.stage_of(line).reason = reason;
            }
            LogKind::Error => self.add_note(line, &text_of(&line.data, "message"), true),
            LogKind::Recovered => self.add_note(line, "started again", false),
            LogKind::Failed => self.add_run_note(line, "failed", true),
            LogKind::Cancelled => self.add_run_note(line, "cancelled", true),
            LogKind::Paused => self.add_run_note(line, "paused", false),
            LogKind::Unpaused => self.add_run_note(line, "went on", false),
            LogKind::Resumed => {
                self.end_agent(line);
                self.add_run_note(line, "resumed", false);
            }
            LogKind::AgentStart
            | LogKind::AgentEnd
            | LogKind::Stop
            | LogKind::IterationComplete
            | LogKind::IterationHooksDone => self.apply_to_iteration(line),
            _ => {}
        }
    }

    /// The stage of a line. One that was started again by a new process is the same.
    fn stage_of(&mut self, line: &LogLine) -> &mut StageTimeline {
        let node = self.plan.nodes.get(line.cursor.node());
        let id = node.map(|node| node.id.clone()).unwrap_or_default();
        let stages = &mut self.timeline.stages;
        let known = stages.iter().position(|stage| stage.id == id);
        let index = known.unwrap_or_else(|| {
            let agent = node.map(|node| node.provider.spec.clone()).unwrap_or_default();
            stages.push(StageTimeline { id, agent, ..StageTimeline::default() });
            stages.len() - 1
        });
        &mut stages[index]
    }

    fn start_iteration(&mut self, line: &LogLine) {
        let iteration = IterationTimeline {
            number: line.cursor.iteration,
            attempt: line.cursor.attempt,
            began: line.ms,
            ended: line.ms,
            ..IterationTimeline::default()
        };
        self.stage_of(line).iterations.push(iteration);
    }

    /// The iteration of a line; `None` outside of iterations.
    fn iteration_of(&mut self, line: &LogLine) -> Option<&mut IterationTimeline> {
        let last = self.stage_of(line).iterations.last_mut()?;
        (last.number == line.cursor.iteration).then_some(last)
    }

    fn apply_to_iteration(&mut self, line: &LogLine) {
        let Some(iteration) = self.iteration_of(line) else { return };
        iteration.ended = line.ms;
        match line.kind {
            LogKind::AgentStart => {
                iteration.agent_spans.push((line.ms, line.ms));
                iteration.is_agent_working = true;
            }
            LogKind::AgentEnd => self.end_agent(line),
            LogKind::Stop => {
                let text = describe_stop(line);
                self.add_note(line, &text, false);
            }
            LogKind::IterationComplete => {
                iteration.decision = text_of(&line.data, "decision");
                iteration.reason = text_of(&line.data, "reason");
                iteration.summary = text_of(&line.data["history"], "summary");
            }
            _ => {
                if let Some(commit) = line.data["commit"].as_str() {
                    let text = format!("committed {commit}");
                    self.add_note(line, &text, false);
                }
            }
        }
    }

    fn end_agent(&mut self, line: &LogLine) {
        let Some(iteration) = self.iteration_of(line) else { return };
        if let Some(span) = iteration.agent_spans.last_mut().filter(|_| iteration.is_agent_working)
        {
            // A process that was killed has left no line: the next one says nothing about its end.
            span.1 = if line.kind == LogKind::AgentEnd { line.ms } else { span.0 };
        }
        iteration.is_agent_working = false;
    }

    fn add_hook(&mut self, line: &LogLine) {
        let hook = read_hook(line);
        match self.iteration_of(line) {
            Some(iteration) => {
                iteration.ended = line.ms;
                iteration.hooks.push(hook);
            }
            None => self.stage_of(line).hooks.push(hook),
        }
    }

    fn add_note(&mut self, line: &LogLine, text: &str, is_trouble: bool) {
        let note = TimelineNote { at: line.ms, text: text.to_owned(), is_trouble };
        match self.iteration_of(line) {
            Some(iteration) => iteration.notes.push(note),
            None => self.timeline.notes.push(note),
        }
    }

    fn add_run_note(&mut self, line: &LogLine, text: &str, is_trouble: bool) {
        let note = TimelineNote { at: line.ms, text: text.to_owned(), is_trouble };
        self.timeline.notes.push(note);
    }
}

/// Why the agent works on, from the line of a stop that hooks refused.
pub fn describe_stop(line: &LogLine) -> String {
    let reasons = line.data["reasons"].as_array().into_iter().flatten();
    let reasons: Vec<&str> = reasons.filter_map(Value::as_str).collect();
    let reasons = reasons.join("; ");
    let colon = if reasons.is_empty() { "" } else { ": " };
    format!("kept going by a hook{colon}{reasons}")
}

/// The hook of a line.
pub fn read_hook(line: &LogLine) -> TimelineHook {
    let data = &line.data;
    TimelineHook {
        title: text_of(data, "title"),
        product: text_of(data, "dialect"),
        moment: text_of(data, "moment"),
        verdict: text_of(data, "verdict"),
        rewrote: serde_json::from_value(data["rewrote"].clone()).unwrap_or_default(),
        is_unanswered: data["unanswered"] == true,
        ms: data["ms"].as_u64().unwrap_or(0),
        why: text_of(data, "why"),
        tool: text_of(data, "tool"),
        call: text_of(data, "call"),
    }
}

fn text_of(data: &Value, key: &str) -> String {
    data[key].as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::build_timeline;
    use crate::cursor::Cursor;
    use crate::log_line::{LogKind, LogLine};
    use crate::plan::Plan;

    fn plan() -> Plan {
        serde_json::from_value(json!({
            "version": 1, "source": {"path": "", "sha256": ""},
            "session": {"name": "night", "created_at": "", "inputs": []},
            "pipeline": {"name": "release", "kind": "pipeline"},
            "nodes": [],
        }))
        .unwrap_or_else(|error| panic!("{error}"))
    }

    fn line(ms: u64, kind: LogKind, iteration: u32, data: Value) -> LogLine {
        let cursor = Cursor { node_path: "0".into(), iteration, attempt: 1, ..Cursor::default() };
        LogLine { ts: String::new(), ms, kind, session: "night".into(), cursor, data }
    }

    #[test]
    fn folds_iterations_hooks_and_agent_spans() {
        let hook = json!({"title": "guard", "dialect": "claude", "moment": "tool.before",
            "verdict": "deny", "ms": 4, "why": "no", "tool": "shell", "call": "rm -rf /"});
        let lines = [
            line(1, LogKind::SessionStart, 0, json!({"pipeline": "release"})),
            line(2, LogKind::HookComplete, 0, json!({"title": "begin"})),
            line(3, LogKind::NodeStart, 0, Value::Null),
            line(4, LogKind::IterationStart, 1, Value::Null),
            line(5, LogKind::AgentStart, 1, Value::Null),
            line(9, LogKind::HookComplete, 1, hook),
            line(9, LogKind::AgentEnd, 1, Value::Null),
            line(
                10,
                LogKind::IterationComplete,
                1,
                json!({"decision": "stop", "reason": "done", "history": {"summary": "did it"}}),
            ),
            line(12, LogKind::IterationStart, 2, Value::Null),
            line(13, LogKind::AgentStart, 2, Value::Null),
            line(20, LogKind::Resumed, 2, Value::Null),
        ];
        let timeline = build_timeline(&plan(), &lines, "running");
        let [stage] = timeline.stages.as_slice() else { panic!("{timeline:?}") };
        assert_eq!(stage.hooks[0].title, "begin");
        let [first, second] = stage.iterations.as_slice() else { panic!("{stage:?}") };
        assert_eq!((first.agent_spans.as_slice(), first.ended), ([(5, 9)].as_slice(), 10));
        assert_eq!((first.hooks[0].call.as_str(), first.summary.as_str()), ("rm -rf /", "did it"));
        assert_eq!(second.agent_spans, [(13, 13)], "the end of a killed agent is not known");
        assert!(!second.is_agent_working);
        assert_eq!(timeline.notes[0].text, "resumed");
        assert_eq!((timeline.summary.revision, timeline.summary.iteration), (11, 2));
    }
}
