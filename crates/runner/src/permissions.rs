//! Tool calls of an agent: hooks decide, a person answers where they ask, and hooks see the result.

use std::path::Path;
use std::time::{Duration, Instant};

use gambrel_model::ledger::WatchTarget;
use gambrel_model::{Answer, Decision, Ledger, LedgerError, Ruling, Ticket};
use serde_json::{Value, json};

use crate::agent::ToolUse;
use crate::board_tools::{self, refusal_text};
use crate::context::{RunError, RunUpdate};
use crate::drive::Driver;
use crate::firing::RunFiring;
use crate::plan::PermissionDefault;

/// How long a question about a tool call waits for its answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);
/// Between two looks at whether a signal asked the run to end.
const INTERRUPT_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// The most characters of a tool's arguments in a title.
const MAX_TITLE_ARGS: usize = 120;

impl Driver<'_> {
    /// Fires the hooks before and after a tool call. Returns the reason where it is refused.
    pub(crate) fn use_tool(&mut self, tool: &ToolUse, number: u32) -> Option<String> {
        let refusal = match self.fire_tool_before(tool, number) {
            Ok(refusal) => refusal,
            Err(error) => Some(error.to_string()),
        };
        self.turn_counts.tool_calls += 1;
        if refusal.is_some() {
            self.turn_counts.blocked_calls += 1;
            return refusal;
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
        if let Err(error) = self.fire_tool_end(&ended, number) {
            (self.on_update)(RunUpdate::Notice(&error.to_string()));
        }
        ended.error.filter(|_| tool.error.is_none())
    }

    fn fire_tool_before(
        &mut self,
        tool: &ToolUse,
        number: u32,
    ) -> Result<Option<String>, RunError> {
        let fired = self.fire(self.tool_firing("tool.before", tool, number))?;
        let is_halt = fired.is_halt();
        self.tool_hooks.extend(fired.hooks);
        let verdict = &fired.decision.for_caller;
        let reason = join_reasons(&fired.decision);
        let refusal = match (verdict.ruling, self.plan.permissions) {
            (Ruling::Allow, _) | (Ruling::Silent, PermissionDefault::Allow) => None,
            (Ruling::Ask, _) | (Ruling::Silent, PermissionDefault::Ask) => {
                self.ask_user(tool, number, &reason)?
            }
            (Ruling::Silent, PermissionDefault::Deny) => {
                Some("`permissions: deny` of the plan".to_owned())
            }
            _ => Some(reason),
        };
        if is_halt {
            self.tool_halt = Some(fired.decision);
        }
        Ok(refusal)
    }

    /// Fires the hooks after a tool call. What they tell the agent is in its next prompt.
    fn fire_tool_end(&mut self, tool: &ToolUse, number: u32) -> Result<(), RunError> {
        let moment = if tool.error.is_some() { "tool.failed" } else { "tool.after" };
        let mut firing = self.tool_firing(moment, tool, number);
        let text = tool.error.as_ref().or(tool.output.as_ref()).cloned().unwrap_or_default();
        firing.facts["tool"]["result"] =
            json!({"content": [{"type": "text", "text": text}], "error": tool.error});
        if tool.error.is_some() {
            firing.facts["error"] = json!(text);
        }
        let fired = self.fire(firing)?;
        self.tool_hooks.extend(fired.hooks);
        Ok(())
    }

    fn tool_firing(&self, moment: &'static str, tool: &ToolUse, number: u32) -> RunFiring {
        let id = self.tool_call_id(number);
        RunFiring {
            moment,
            pass: "all",
            key: format!("{moment}/{id}"),
            facts: json!({"tool": {"kind": tool.tool, "args": tool.args, "id": id}}),
        }
    }

    /// Names a call within its iteration: the turn of the agent and the call's number in it.
    fn tool_call_id(&self, number: u32) -> String {
        format!("{}/{number}", self.state.cursor.turn)
    }

    /// Asks a person about a tool call. Returns the reason where it is refused.
    fn ask_user(
        &mut self,
        tool: &ToolUse,
        number: u32,
        reason: &str,
    ) -> Result<Option<String>, RunError> {
        let ticket = self.build_ticket(tool, number, reason);
        let ticket = self.context.ledger.open_ticket(&ticket)?.ticket;
        (self.on_update)(RunUpdate::Question(&ticket));
        let answer = self.wait_for_answer(&ticket)?;
        self.context.ledger.update_ticket(&ticket.id, &mut |ticket| ticket.spent = true)?;
        Ok(match answer {
            None => Some("nobody has answered the question".to_owned()),
            Some(answer) if is_approval(&answer) => None,
            Some(answer) if answer.message.is_empty() => Some("the user refuses".to_owned()),
            Some(answer) => Some(format!("the user refuses: {}", answer.message)),
        })
    }

    fn build_ticket(&self, tool: &ToolUse, number: u32, reason: &str) -> Ticket {
        let now = (self.context.now_ms)();
        let args = shorten(&tool.args);
        let mut shown = vec![
            ("Tool".to_owned(), tool.tool.clone()),
            ("Arguments".to_owned(), tool.args.to_string()),
        ];
        shown.extend((!reason.is_empty()).then(|| ("Why".to_owned(), reason.to_owned())));
        let what = format!("tool/{}", self.tool_call_id(number));
        let cursor = &self.state.cursor;
        let key = cursor.firing_key(&self.folder.path, &self.plan.session.run_id, &what);
        Ticket {
            key,
            at: now,
            expires: now + u64::try_from(ANSWER_TIMEOUT.as_millis()).unwrap_or(u64::MAX),
            session: self.plan.session.name.clone(),
            project: self.context.project.display().to_string(),
            hook: asker_name(&self.folder.path),
            title: format!("{} {args}", tool.tool),
            shown,
            ..Ticket::default()
        }
    }

    /// The answer; `None` when the question has expired, the time of the stage is over, or a signal
    /// asks the run to end.
    fn wait_for_answer(&self, ticket: &Ticket) -> Result<Option<Answer>, RunError> {
        loop {
            let Some(known) = self.context.ledger.find_ticket(&ticket.id)? else {
                return Ok(None);
            };
            let is_over = known.spent || (self.context.now_ms)() >= known.expires;
            let is_over = is_over || self.is_interrupted() || self.is_out_of_time();
            if known.answer.is_some() || is_over {
                return Ok(known.answer);
            }
            let soon = Instant::now() + INTERRUPT_CHECK_INTERVAL;
            self.context.ledger.wait_for_change(WatchTarget::Ticket(&ticket.id), soon);
        }
    }
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

fn is_approval(answer: &Answer) -> bool {
    matches!(answer.action.as_str(), "approve" | "continue" | "ok")
}

fn join_reasons(decision: &Decision) -> String {
    let reasons = &decision.for_caller.reasons;
    let texts: Vec<&str> = reasons.iter().map(|reason| reason.text.as_str()).collect();
    texts.join("; ")
}

/// The arguments in a title: the command where there is one.
fn shorten(args: &Value) -> String {
    let command =
        ["command", "path", "file_path", "url"].iter().find_map(|key| args[*key].as_str());
    let text = command.map_or_else(|| args.to_string(), str::to_owned);
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(MAX_TITLE_ARGS).collect()
}
