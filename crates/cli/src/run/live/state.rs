//! What the live view knows: the fold of what the run and its hooks report.

use std::collections::VecDeque;
use std::time::Instant;

use gambrel::FiringProgress;
use gambrel_model::{Decision, Event, Moment, Ticket};
use gambrel_runner::{LogKind, LogLine, Plan, RunState, RunStatus, RunUpdate};

use crate::approvals::tickets::describe_question;

/// How many blocked calls are kept.
const MAX_BLOCKED_COUNT: usize = 3;

/// The state of the view.
#[derive(Default)]
pub struct LiveState {
    /// The session.
    pub session: String,
    /// The nodes of the plan.
    pub stages: Vec<LiveStage>,
    /// The index of the current node.
    pub node: usize,
    /// When the run began or went on.
    pub began: Option<Instant>,
    /// When the agent began its turn, while it works.
    pub agent_began: Option<Instant>,
    /// Whether the agent receives the final messages, after the last stage.
    pub is_delivering: bool,
    /// Whether a user holds the run.
    pub is_paused: bool,
    /// The agent's last line.
    pub words: String,
    /// Hooks that run now.
    pub hooks: Vec<RunningHook>,
    /// Blocked calls, newest last.
    pub blocked: VecDeque<(String, String)>,
    /// Questions that wait: id and what they are about.
    pub questions: Vec<(String, String)>,
    /// How many tool calls hooks have judged, and how many of them they have blocked.
    pub calls: (usize, usize),
}

/// One node of the plan.
#[derive(Default)]
pub struct LiveStage {
    /// Its id.
    pub id: String,
    /// Its maximum of iterations, if it has one.
    pub max: Option<u32>,
    /// The current or last iteration.
    pub iteration: u32,
    /// Where it is.
    pub status: StageProgress,
}

/// Where a node is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StageProgress {
    /// Not begun.
    #[default]
    Waiting,
    /// It runs.
    Running,
    /// It is complete.
    Complete,
    /// It has failed.
    Failed,
}

/// A hook that runs.
pub struct RunningHook {
    key: (String, String),
    /// Its title.
    pub title: String,
    /// Its product.
    pub product: &'static str,
    /// When it began.
    pub began: Instant,
}

impl LiveState {
    /// Starts with a plan, and with what an earlier process did.
    pub fn begin(&mut self, plan: &Plan, earlier: Option<&RunState>) {
        self.session.clone_from(&plan.session.name);
        self.began = Some(Instant::now());
        let stage = |(index, node): (usize, &gambrel_runner::PlanNode)| {
            let known = earlier.and_then(|run| run.stages.iter().find(|s| s.index == index));
            let done = |entry: &&gambrel_runner::HistoryEntry| entry.stage == node.id;
            let last = earlier.and_then(|run| run.history.iter().rev().find(done));
            LiveStage {
                id: node.id.clone(),
                max: node.termination.limit(),
                iteration: last.map_or(0, |entry| entry.iteration),
                status: known.map_or(StageProgress::Waiting, |stage| match stage.status {
                    RunStatus::Complete => StageProgress::Complete,
                    _ => StageProgress::Waiting,
                }),
            }
        };
        self.stages = plan.nodes.iter().enumerate().map(stage).collect();
    }

    /// The node and iteration whose agent works.
    pub fn place(&self) -> Option<(usize, u32)> {
        let stage = self.stages.get(self.node)?;
        (stage.iteration > 0).then_some((self.node, stage.iteration))
    }

    /// The ids of open questions.
    pub fn question_ids(&self) -> Vec<String> {
        self.questions.iter().map(|(id, _)| id.clone()).collect()
    }

    /// Adds a question that waits.
    pub fn add_question(&mut self, ticket: &Ticket) {
        if !self.questions.iter().any(|(id, _)| *id == ticket.id) {
            self.questions.push((ticket.id.clone(), describe_question(ticket)));
        }
    }

    /// Removes questions that no longer wait.
    pub fn remove_questions(&mut self, ids: &[String]) {
        self.questions.retain(|(id, _)| !ids.contains(id));
    }

    /// Takes over what the run reports.
    pub fn apply(&mut self, update: &RunUpdate<'_>) {
        match update {
            RunUpdate::Line(line) => self.apply_line(line),
            RunUpdate::Question(ticket) => self.add_question(ticket),
            RunUpdate::Notice(_) | RunUpdate::Waiting(_) => {}
        }
    }

    fn apply_line(&mut self, line: &LogLine) {
        self.node = line.cursor.node();
        match line.kind {
            LogKind::Delivery => {
                self.is_delivering = true;
                self.agent_began = Some(Instant::now());
            }
            LogKind::Delivered => {
                self.is_delivering = false;
                self.agent_began = None;
            }
            _ => {}
        }
        let Some(stage) = self.stages.get_mut(self.node) else { return };
        match line.kind {
            LogKind::NodeStart => stage.status = StageProgress::Running,
            LogKind::IterationStart => {
                stage.iteration = line.cursor.iteration;
                stage.status = StageProgress::Running;
                self.words.clear();
            }
            LogKind::AgentStart => self.agent_began = Some(Instant::now()),
            LogKind::AgentEnd | LogKind::IterationComplete | LogKind::Error => {
                self.agent_began = None;
            }
            LogKind::NodeComplete => stage.status = StageProgress::Complete,
            LogKind::Failed => stage.status = StageProgress::Failed,
            LogKind::Paused => self.is_paused = true,
            LogKind::Unpaused => self.is_paused = false,
            _ => {}
        }
    }

    /// Takes over what hooks do.
    pub fn observe(&mut self, progress: &FiringProgress<'_>) {
        match progress {
            FiringProgress::HooksStarted(event, hooks) => {
                let running = hooks.iter().map(|hook| RunningHook {
                    key: (event.id.clone(), hook.id.clone()),
                    title: hook.title(),
                    product: hook.dialect.product(),
                    began: Instant::now(),
                });
                self.hooks.extend(running);
            }
            FiringProgress::HooksEnded(event, hooks) => self.hooks.retain(|running| {
                let (firing, hook) = &running.key;
                *firing != event.id || !hooks.iter().any(|ended| ended.id == *hook)
            }),
            FiringProgress::Decided(event, decision) => self.count_call(event, decision),
            _ => {}
        }
    }

    fn count_call(&mut self, event: &Event, decision: &Decision) {
        if !matches!(event.moment, Moment::ToolBefore | Moment::ToolPermission) {
            return;
        }
        self.calls.0 += 1;
        if !decision.for_caller.ruling.is_refusal() {
            return;
        }
        self.calls.1 += 1;
        let reasons: Vec<&str> =
            decision.for_caller.reasons.iter().map(|reason| reason.text.as_str()).collect();
        self.blocked.push_back((describe_call(event), reasons.join("; ")));
        if self.blocked.len() > MAX_BLOCKED_COUNT {
            self.blocked.pop_front();
        }
    }
}

/// A tool call in short: its command or file, else its tool.
fn describe_call(event: &Event) -> String {
    let Some(tool) = &event.facts.tool else { return String::new() };
    let argument = ["command", "path", "url"].iter().find_map(|key| tool.args[*key].as_str());
    argument.map_or_else(|| tool.name.clone(), str::to_owned)
}
