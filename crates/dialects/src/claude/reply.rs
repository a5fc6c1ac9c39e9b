//! Writes a decision as hook output JSON; an empty decision has no output. The engine has already
//! reduced the decision to what the caller can receive.

use gambrel_model::{
    Audience, Decision, Event, MomentKind, Powers, Reply, Ruling, Slot, Step, Tool, Verdict,
};
use serde_json::{Value, json};

use super::CLAUDE;
use super::event_row::{ReplyForm, StdoutUse};
use super::events::event_row;
use super::hosts::{Host, host_of};
use super::output::{
    BLOCKED, JsonObject, SLOT_PREFIX, UPDATED_INPUT, UPDATED_PERMISSIONS, WATCH_PATHS,
    WORKTREE_PATH, own_list, own_slot,
};
use super::tool_result::apply_rewrite;
use super::tools::TOOLS;

/// Writes the reply for a caller.
pub fn write_reply(event: &Event, decision: &Decision) -> Reply {
    let verdict = &decision.for_caller;
    let worktree = event_row(event.spec).stdout == StdoutUse::WorktreePath;
    let host = host_of(&event.native, &event.context.env);
    if host == Host::Cursor && verdict.ruling.is_refusal() {
        return exit_code_reply(verdict, false, false);
    }
    if event_row(event.spec).reply == ReplyForm::Exit
        && (verdict.ruling == Ruling::Deny || worktree)
    {
        let asked = |step: &Step| step.ran && step.dialect == CLAUDE.name;
        return exit_code_reply(verdict, worktree, decision.trail.iter().any(asked));
    }

    let mut writer =
        ReplyWriter { event, host, verdict, top: JsonObject::new(), own: JsonObject::new() };
    writer.write_ruling();
    writer.write_messages();
    writer.write_rewrites();
    writer.into_reply()
}

/// The reply to an event or a host that reads only the exit code.
fn exit_code_reply(verdict: &Verdict, worktree: bool, asked: bool) -> Reply {
    let notices = verdict.messages_for(Audience::User);
    if verdict.ruling.is_refusal() {
        let lines = [ruling_text(verdict)].into_iter().chain(notices.map(str::to_owned));
        let stderr = lines.map(|line| line + "\n").collect();
        return Reply { stderr, exit: 2, ..Reply::default() };
    }

    let path =
        verdict.patch.get(&own_slot(WORKTREE_PATH)).filter(|_| worktree).and_then(Value::as_str);
    let stdout = path.map(|path| format!("{path}\n")).unwrap_or_default();
    let mut stderr: String = notices.map(|notice| format!("{notice}\n")).collect();
    let missing = worktree && asked && path.is_none();
    if missing {
        stderr.push_str("no hook named the path of the worktree\n");
    }
    Reply { stdout: stdout.into_bytes(), stderr, exit: if missing { 2 } else { 0 } }
}

fn ruling_text(verdict: &Verdict) -> String {
    let reasons = verdict.ruling_reasons().join("\n");
    if reasons.is_empty() { BLOCKED.to_owned() } else { reasons }
}

/// The reasons of all refusals, so that a deny keeps its reasons next to a halt.
fn refusal_text(verdict: &Verdict) -> String {
    let reasons = verdict.refusal_reasons().join("\n");
    if reasons.is_empty() { BLOCKED.to_owned() } else { reasons }
}

/// The list without duplicate entries.
fn without_duplicates(value: &Value) -> Value {
    let Value::Array(entries) = value else { return value.clone() };
    let first = |(at, entry): &(usize, &Value)| !entries[..*at].contains(entry);
    entries.iter().enumerate().filter(first).map(|(_, entry)| entry.clone()).collect()
}

struct ReplyWriter<'s> {
    event: &'s Event,
    host: Host,
    verdict: &'s Verdict,
    top: JsonObject,
    own: JsonObject,
}

impl ReplyWriter<'_> {
    fn write_ruling(&mut self) {
        let ruling = self.verdict.ruling;
        if ruling == Ruling::Halt {
            // A refused elicitation has no field for a reason, so `stopReason` has all of them.
            let form = event_row(self.event.spec).reply == ReplyForm::Action;
            self.put_field("continue", json!(false));
            self.put_field(
                "stopReason",
                json!(if form { refusal_text(self.verdict) } else { ruling_text(self.verdict) }),
            );
        }
        match event_row(self.event.spec).reply {
            ReplyForm::Permission => self.write_permission(ruling),
            ReplyForm::Request => self.write_request(ruling),
            ReplyForm::Action if ruling.is_refusal() => {
                let cancelled =
                    self.verdict.patch.get(&own_slot("action")) == Some(&json!("cancel"));
                let action = if cancelled { "cancel" } else { "decline" };
                self.put_specific("action", json!(action));
            }
            ReplyForm::Block if self.has_block() => {
                self.put_field("decision", json!("block"));
                self.put_field("reason", json!(refusal_text(self.verdict)));
            }
            ReplyForm::Action | ReplyForm::Block | ReplyForm::Exit => {}
        }
    }

    /// Whether the reply has `decision: "block"`. At a Close, `block` means "continue" and would
    /// undo a halt. At a Report, a halt comes with `block` only if a hook denied as well.
    fn has_block(&self) -> bool {
        let denied = || self.verdict.reasons.iter().any(|reason| reason.ruling == Ruling::Deny);
        match (self.verdict.ruling, self.event.kind()) {
            (Ruling::Deny, _) | (Ruling::Halt, MomentKind::Gate) => true,
            (Ruling::Halt, MomentKind::Report) => denied(),
            _ => false,
        }
    }

    /// A halt is sent as a deny too: on its own it would let the tool run first.
    fn write_permission(&mut self, ruling: Ruling) {
        if ruling == Ruling::Silent {
            return;
        }
        let word = ruling.min(Ruling::Deny).as_str();
        self.put_specific("permissionDecision", json!(word));
        let reasons = self.verdict.ruling_reasons().join("\n");
        if ruling.is_refusal() || !reasons.is_empty() {
            let reason = if ruling.is_refusal() { refusal_text(self.verdict) } else { reasons };
            self.put_specific("permissionDecisionReason", json!(reason));
        }
    }

    fn write_request(&mut self, ruling: Ruling) {
        let decision = match ruling {
            Ruling::Allow => {
                let mut decision = json!({"behavior": "allow"});
                if let Some(input) = self.rewritten_input() {
                    decision["updatedInput"] = input;
                }
                if let Some(permissions) = self.verdict.patch.get(&own_list(UPDATED_PERMISSIONS)) {
                    decision[UPDATED_PERMISSIONS] = permissions.clone();
                }
                decision
            }
            Ruling::Deny => json!({"behavior": "deny", "message": ruling_text(self.verdict)}),
            Ruling::Halt => {
                json!({"behavior": "deny", "message": refusal_text(self.verdict), "interrupt": true})
            }
            Ruling::Silent | Ruling::Ask | Ruling::Defer => return,
        };
        if let (Host::Copilot, Value::Object(decision)) = (self.host, &decision) {
            // Copilot CLI reads the decision's fields at the top.
            return self.top.extend(decision.clone());
        }
        self.put_specific("decision", decision);
    }

    fn write_messages(&mut self) {
        let for_agent: Vec<&str> = self
            .verdict
            .messages_for(Audience::AgentNow)
            .chain(self.verdict.messages_for(Audience::AgentNextTurn))
            .collect();
        if !for_agent.is_empty() {
            self.put_specific("additionalContext", json!(for_agent.join("\n")));
        }

        let for_user: Vec<&str> = self.verdict.messages_for(Audience::User).collect();
        if !for_user.is_empty() {
            self.put_field("systemMessage", json!(for_user.join("\n")));
        }
    }

    fn write_rewrites(&mut self) {
        let form = event_row(self.event.spec).reply;
        let input = self.rewritten_input().filter(|_| form == ReplyForm::Permission);
        if let Some(input) = input.filter(|_| !self.verdict.ruling.is_refusal()) {
            self.put_specific("updatedInput", input);
        }
        for (slot, value) in &self.verdict.patch {
            match slot {
                Slot::Output => {
                    let before = self.event.native.get("tool_response").unwrap_or(&Value::Null);
                    let output = apply_rewrite(value, before);
                    self.put_specific("updatedToolOutput", output);
                }
                Slot::Native(name) | Slot::List(name) => self.write_native(name, value, form),
                Slot::Input | Slot::ChatMessages | Slot::InjectedMessage | Slot::Prompt => {}
            }
        }
    }

    /// Writes a slot of this dialect back into its field.
    fn write_native(&mut self, name: &str, value: &Value, form: ReplyForm) {
        let Some(field) = name.strip_prefix(SLOT_PREFIX) else { return };
        match field {
            "terminalSequence" => self.put_field(field, value.clone()),
            UPDATED_INPUT => {}
            UPDATED_PERMISSIONS if form == ReplyForm::Request => {}
            WATCH_PATHS => self.put_specific(field, without_duplicates(value)),
            // A refusal does not include the content of the form.
            "action" | "content"
                if form == ReplyForm::Action && self.verdict.ruling.is_refusal() => {}
            _ => self.put_specific(field, value.clone()),
        }
    }

    /// The whole rewritten input: as a Claude Code hook returned it if no later hook changed it,
    /// else translated to the caller's names.
    fn rewritten_input(&self) -> Option<Value> {
        let args = self.verdict.patch.get(&Slot::Input)?;
        let mut tool = self.event.facts.tool.clone()?;
        let stands = |given: &&Value| Tool::from_native(TOOLS, &tool.name, given).args == *args;
        if let Some(given) = self.verdict.patch.get(&own_slot(UPDATED_INPUT)).filter(stands) {
            return Some(given.clone());
        }
        tool.args = args.clone();
        Some(tool.to_native(TOOLS).1)
    }

    fn put_field(&mut self, key: &str, value: Value) {
        self.top.insert(key.to_owned(), value);
    }

    fn put_specific(&mut self, key: &str, value: Value) {
        if self.own.is_empty() {
            self.own.insert("hookEventName".into(), json!(self.event.name));
        }
        self.own.insert(key.to_owned(), value);
    }

    /// Messages for the user at an event whose reply the host does not show.
    fn user_messages(&self) -> String {
        let hidden = !self.event.spec.caller_powers.contains(Powers::MESSAGE_USER);
        let notices = self.verdict.messages_for(Audience::User).filter(|_| hidden);
        notices.map(|notice| format!("{}\n", notice.trim_end())).collect()
    }

    fn into_reply(mut self) -> Reply {
        let stderr = self.user_messages();
        if !self.own.is_empty() {
            self.top.insert("hookSpecificOutput".into(), Value::Object(self.own));
        }
        if self.top.is_empty() {
            return Reply::default();
        }
        Reply { stderr, ..Reply::from_json(&Value::Object(self.top)) }
    }
}
