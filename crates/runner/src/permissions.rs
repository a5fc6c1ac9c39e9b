//! Tool calls of an agent: hooks decide, a person answers where they ask, and hooks see the result.

use std::path::Path;
use std::time::{Duration, Instant};

use gambrel_model::ledger::WatchTarget;
use gambrel_model::text::truncate_chars;
use gambrel_model::{
    Answer, AnswerEffects, Decision, FileChange, Ledger, LedgerError, QuestionContext, Ruling,
    Ticket,
};
use serde_json::{Value, json};

use crate::agent::{ToolUse, ToolUseEnd};
use crate::board_tools::{self, refusal_text};
use crate::context::{RunError, RunUpdate};
use crate::drive::Driver;
use crate::firing::{RunDecision, RunFiring};
use crate::plan::PermissionDefault;

/// How long a question about a tool call waits for its answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);
/// Between two looks at whether a signal asked the run to end.
const INTERRUPT_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// The most characters of a tool's arguments in a title.
const MAX_TITLE_ARGS: usize = 120;

/// What a decision about a tool call means, with its reasons.
pub(crate) enum ToolRuling {
    /// It may run.
    Allow,
    /// A person is asked.
    Ask(ToolQuestion),
    /// It may not run.
    Deny(String),
    /// It may not run, and the run stops.
    Halt(String),
}

/// What a person is told about a tool call beside the call.
#[derive(Default)]
pub(crate) struct ToolQuestion {
    /// The name of the hook that asks, if its author gave it one.
    pub name: Option<String>,
    /// Why it asks.
    pub reason: String,
}

/// Whether a question has an answer.
pub(crate) enum QuestionState {
    /// It waits.
    Open,
    /// It has an answer, or will have none.
    Over(Option<Answer>),
}

impl Driver<'_> {
    /// Fires the hooks before and after a tool call of a scripted agent.
    pub(crate) fn use_tool(&mut self, tool: &ToolUse, number: u32) -> ToolUseEnd {
        let id = format!("{}/{number}", self.state.cursor.turn);
        let tool = &ToolUse { id: id.clone(), key: id, ..tool.clone() };
        let refusal = match self.fire_tool_before(tool) {
            Ok(refusal) => refusal,
            Err(error) => Some(error.to_string()),
        };
        self.turn_counts.tool_calls += 1;
        if let Some(reason) = refusal {
            self.turn_counts.blocked_calls += 1;
            return ToolUseEnd::Refused(reason);
        }
        let mut ended = tool.clone();
        match self.call_board(&tool.tool, &tool.args) {
            Some(Ok(output)) => {
                for message in board_tools::list_messages(&output) {
                    (self.on_update)(RunUpdate::Notice(message));
                }
                ended.output = Some(output.to_string());
            }
            Some(Err(error)) => ended.error = Some(refusal_text(&error)),
            None => {}
        }
        let rewritten = self.fire_tool_end(&ended).unwrap_or_else(|error| {
            (self.on_update)(RunUpdate::Notice(&error.to_string()));
            None
        });
        match (ended.error.filter(|_| tool.error.is_none()), rewritten) {
            (Some(reason), _) => ToolUseEnd::Refused(reason),
            (None, Some(output)) => ToolUseEnd::Rewritten(output),
            (None, None) => ToolUseEnd::Ran,
        }
    }

    fn fire_tool_before(&mut self, tool: &ToolUse) -> Result<Option<String>, RunError> {
        let fired = self.fire(tool_firing("tool.before", tool))?;
        match self.rule_tool(fired) {
            ToolRuling::Allow => Ok(None),
            ToolRuling::Ask(question) => self.ask_user(tool, &question),
            ToolRuling::Deny(reason) | ToolRuling::Halt(reason) => Ok(Some(reason)),
        }
    }

    /// What the decision about a tool call means: the plan decides where no hook does.
    pub(crate) fn rule_tool(&mut self, fired: RunDecision) -> ToolRuling {
        self.tool_hooks.extend(fired.hooks);
        let reason = join_reasons(&fired.decision);
        match (fired.decision.for_caller.ruling, self.plan.permissions) {
            (Ruling::Allow, _) | (Ruling::Silent, PermissionDefault::Allow) => ToolRuling::Allow,
            (Ruling::Ask, _) | (Ruling::Silent, PermissionDefault::Ask) => {
                let name = asking_hook(&fired.decision);
                ToolRuling::Ask(ToolQuestion { name, reason })
            }
            (Ruling::Silent, PermissionDefault::Deny) => {
                ToolRuling::Deny("`permissions: deny` of the plan".to_owned())
            }
            (Ruling::Halt, _) => {
                self.tool_halt = Some(fired.decision);
                ToolRuling::Halt(reason)
            }
            (Ruling::Deny | Ruling::Defer, _) => ToolRuling::Deny(reason),
        }
    }

    /// Fires the hooks after a tool call. What they tell the agent is in its next prompt. Returns
    /// the output if they rewrote it.
    fn fire_tool_end(&mut self, tool: &ToolUse) -> Result<Option<String>, RunError> {
        let fired = self.fire(RunFiring { accepts_output: true, ..tool_end_firing(tool) })?;
        let output = fired.rewritten_output();
        self.tool_hooks.extend(fired.hooks);
        Ok(output)
    }

    /// Asks a person about a tool call. Returns the reason where it is refused.
    fn ask_user(
        &mut self,
        tool: &ToolUse,
        question: &ToolQuestion,
    ) -> Result<Option<String>, RunError> {
        let ticket = self.open_question(tool, question)?;
        let answer = self.wait_for_answer(&ticket)?;
        self.close_question(&ticket)?;
        Ok(refusal_of(answer))
    }

    /// Opens a ticket about a tool call and shows it.
    pub(crate) fn open_question(
        &mut self,
        tool: &ToolUse,
        question: &ToolQuestion,
    ) -> Result<Ticket, RunError> {
        let ticket = self.build_ticket(tool, question);
        let ticket = self.context.ledger.open_ticket(&ticket)?.ticket;
        (self.on_update)(RunUpdate::Question(&ticket));
        Ok(ticket)
    }

    /// Closes a question, so that nobody answers it any more.
    pub(crate) fn close_question(&self, ticket: &Ticket) -> Result<(), RunError> {
        self.context.ledger.update_ticket(&ticket.id, &mut |ticket| ticket.spent = true)?;
        Ok(())
    }

    /// The answer to a question, or that there will be none.
    pub(crate) fn read_answer(&self, ticket: &Ticket) -> Result<QuestionState, RunError> {
        let Some(known) = self.context.ledger.find_ticket(&ticket.id)? else {
            return Ok(QuestionState::Over(None));
        };
        let is_over = known.spent || (self.context.now_ms)() >= known.expires;
        Ok(match known.answer.is_some() || is_over {
            true => QuestionState::Over(known.answer),
            false => QuestionState::Open,
        })
    }

    fn build_ticket(&self, tool: &ToolUse, question: &ToolQuestion) -> Ticket {
        let ToolQuestion { name, reason } = question;
        let now = (self.context.now_ms)();
        let word = if tool.tool.is_empty() { &tool.name } else { &tool.tool };
        let args = shorten_call(&tool.args);
        let mut shown = vec![
            ("Tool".to_owned(), word.clone()),
            ("Arguments".to_owned(), tool.args.to_string()),
        ];
        shown.extend((!reason.is_empty()).then(|| ("Why".to_owned(), reason.clone())));
        let what = format!("tool/{}", tool.key);
        let cursor = &self.state.cursor;
        let key = cursor.firing_key(&self.folder.path, &self.plan.session.run_id, &what);
        let mut ticket = Ticket {
            key,
            at: now,
            expires: now + u64::try_from(ANSWER_TIMEOUT.as_millis()).unwrap_or(u64::MAX),
            session: self.plan.session.name.clone(),
            project: self.context.project.display().to_string(),
            hook: asker_name(&self.folder.path),
            title: name.clone().unwrap_or_else(|| format!("{word} {args}")),
            shown,
            context: QuestionContext {
                command: tool.args["command"].as_str().unwrap_or_default().to_owned(),
                path: tool.args["path"].as_str().unwrap_or_default().to_owned(),
                why: reason.clone(),
                agent: self.node().provider.spec.clone(),
                effects: tool_effects(),
                ..QuestionContext::default()
            },
            ..Ticket::default()
        };
        (self.context.add_facts)(&mut ticket, FileChange::from_args(&tool.args).as_ref());
        ticket
    }

    /// The answer; `None` when the question has expired, the time of the stage is over, or a signal
    /// asks the run to end.
    fn wait_for_answer(&self, ticket: &Ticket) -> Result<Option<Answer>, RunError> {
        loop {
            if let QuestionState::Over(answer) = self.read_answer(ticket)? {
                return Ok(answer);
            }
            if self.is_interrupted() || self.is_out_of_time() {
                return Ok(None);
            }
            let soon = Instant::now() + INTERRUPT_CHECK_INTERVAL;
            self.context.ledger.wait_for_change(WatchTarget::Ticket(&ticket.id), soon);
        }
    }
}

/// What the answers about a tool call do.
fn tool_effects() -> AnswerEffects {
    AnswerEffects {
        approve: "lets this one call run".to_owned(),
        reject: "blocks it".to_owned(),
        silence: "the run waits, and blocks the call in the end".to_owned(),
        reader: "the agent".to_owned(),
    }
}

/// The firing about a tool call.
pub(crate) fn tool_firing(moment: &'static str, tool: &ToolUse) -> RunFiring {
    let mut facts = json!({"tool": {"kind": tool.tool, "args": tool.args, "id": tool.id}});
    if !tool.name.is_empty() {
        facts["tool"]["name"] = json!(tool.name);
    }
    RunFiring { key: format!("{moment}/{}", tool.key), facts, ..RunFiring::of(moment) }
}

/// The firing about the end of a tool call.
pub(crate) fn tool_end_firing(tool: &ToolUse) -> RunFiring {
    let moment = if tool.error.is_some() { "tool.failed" } else { "tool.after" };
    let mut firing = tool_firing(moment, tool);
    let text = tool.error.as_ref().or(tool.output.as_ref()).cloned().unwrap_or_default();
    firing.facts["tool"]["result"] =
        json!({"content": [{"type": "text", "text": text}], "error": tool.error});
    if tool.error.is_some() {
        firing.facts["error"] = json!(text);
    }
    firing
}

/// Closes the questions of turns that a kill cut off: the agent calls its tools again.
pub(crate) fn close_questions(ledger: &dyn Ledger, folder: &Path) -> Result<(), LedgerError> {
    let asker = asker_name(folder);
    let tickets = ledger.list_tickets()?;
    for ticket in tickets.iter().filter(|ticket| !ticket.spent && ticket.hook == asker) {
        ledger.update_ticket(&ticket.id, &mut |ticket| ticket.spent = true)?;
    }
    Ok(())
}

/// Who asks, in the tickets of a run.
fn asker_name(folder: &Path) -> String {
    format!("gambrel run in {}", folder.display())
}

/// Why an answer refuses; `None` where it approves.
pub(crate) fn refusal_of(answer: Option<Answer>) -> Option<String> {
    match answer {
        None => Some("nobody has answered the question".to_owned()),
        Some(answer) if is_approval(&answer) => None,
        Some(answer) if answer.message.is_empty() => Some("the user refuses".to_owned()),
        Some(answer) => Some(format!("the user refuses: {}", answer.message)),
    }
}

fn is_approval(answer: &Answer) -> bool {
    matches!(answer.action.as_str(), "approve" | "continue" | "ok")
}

/// The name of the hook that asks.
fn asking_hook(decision: &Decision) -> Option<String> {
    let mut asking = decision.trail.iter().filter(|step| step.verdict == Ruling::Ask);
    asking.find_map(|step| step.name.clone())
}

fn join_reasons(decision: &Decision) -> String {
    let reasons = &decision.for_caller.reasons;
    let texts: Vec<&str> = reasons.iter().map(|reason| reason.text.as_str()).collect();
    texts.join("; ")
}

/// The arguments in a title: the command where there is one.
pub(crate) fn shorten_call(args: &Value) -> String {
    let command =
        ["command", "path", "file_path", "url", "title"].iter().find_map(|key| args[*key].as_str());
    let text = command.map_or_else(|| args.to_string(), str::to_owned);
    let line = text.lines().next().unwrap_or_default();
    truncate_chars(line, MAX_TITLE_ARGS, "…")
}
