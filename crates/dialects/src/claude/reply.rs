//! A decision as hook output JSON, event by event; nothing at all when there is nothing to say.
//! Only spells: what can be said here was settled before.

use gambrel_model::{
    Audience, Decision, Dialect, Event, MomentKind, Powers, Reply, Ruling, Slot, Step, Tool,
    Verdict,
};
use serde_json::{Value, json};

use super::Claude;
use super::events::{Voice, makes_worktree, voice};
use super::hosts::{Host, host_of};
use super::output::{
    BLOCKED, INPUT, OWN_SLOT, Object, PERMISSIONS, WATCH, WORKTREE, own_list, own_slot,
};
use super::result::rewritten;
use super::tools::TOOLS;

/// The answer to a caller.
pub fn reply(event: &Event, decision: &Decision) -> Reply {
    let said = &decision.for_caller;
    let worktree = makes_worktree(event.spec);
    let host = host_of(&event.native, &event.env);
    if host == Host::Cursor && said.ruling.refuses() {
        return exit_code(said, false, false);
    }
    if voice(event.spec) == Voice::Exit && (said.ruling == Ruling::Deny || worktree) {
        let asked = |step: &Step| step.ran && step.dialect == Claude.name();
        return exit_code(said, worktree, decision.trail.iter().any(asked));
    }
    let mut spelling = Spelling { event, host, said, top: Object::new(), own: Object::new() };
    spelling.ruling();
    spelling.words();
    spelling.rewrites();
    spelling.into_reply()
}

/// Events that know a refusal by the exit code alone.
fn exit_code(said: &Verdict, worktree: bool, asked: bool) -> Reply {
    let notices = said.messages_for(Audience::User);
    if said.ruling.refuses() {
        let lines = [why(said)].into_iter().chain(notices.map(str::to_owned));
        let stderr = lines.map(|line| line + "\n").collect();
        return Reply { stderr, exit: 2, ..Reply::default() };
    }
    let path = said.patch.get(&own_slot(WORKTREE)).filter(|_| worktree).and_then(Value::as_str);
    let stdout = path.map(|path| format!("{path}\n")).unwrap_or_default();
    let mut stderr: String = notices.map(|notice| format!("{notice}\n")).collect();
    let missing = worktree && asked && path.is_none();
    if missing {
        stderr.push_str("no hook named the path of the worktree\n");
    }
    Reply { stdout: stdout.into_bytes(), stderr, exit: if missing { 2 } else { 0 } }
}

fn why(said: &Verdict) -> String {
    let reasons = said.ruling_reasons().join("\n");
    if reasons.is_empty() { BLOCKED.to_owned() } else { reasons }
}

/// What a deny beside a halt says: its own reasons are not lost in the halt's.
fn refusal(said: &Verdict) -> String {
    let reasons = said.refusals().join("\n");
    if reasons.is_empty() { BLOCKED.to_owned() } else { reasons }
}

/// The entries of a list, the first of those that are alike.
fn each_once(value: &Value) -> Value {
    let Value::Array(entries) = value else { return value.clone() };
    let first = |(at, entry): &(usize, &Value)| !entries[..*at].contains(entry);
    entries.iter().enumerate().filter(first).map(|(_, entry)| entry.clone()).collect()
}

struct Spelling<'s> {
    event: &'s Event,
    host: Host,
    said: &'s Verdict,
    top: Object,
    own: Object,
}

impl Spelling<'_> {
    fn ruling(&mut self) {
        let ruling = self.said.ruling;
        if ruling == Ruling::Halt {
            // A refused form has no reason of its own that could stand beside the halt's.
            let form = voice(self.event.spec) == Voice::Action;
            self.put("continue", json!(false));
            self.put("stopReason", json!(if form { refusal(self.said) } else { why(self.said) }));
        }
        match voice(self.event.spec) {
            Voice::Permission => self.permission(ruling),
            Voice::Request => self.request(ruling),
            Voice::Action if ruling.refuses() => {
                let cancelled = self.said.patch.get(&own_slot("action")) == Some(&json!("cancel"));
                let action = if cancelled { "cancel" } else { "decline" };
                self.put_own("action", json!(action));
            }
            Voice::Block if self.blocks() => {
                self.put("decision", json!("block"));
                self.put("reason", json!(refusal(self.said)));
            }
            Voice::Action | Voice::Block | Voice::Exit => {}
        }
    }

    /// Where things end, a block means "go on": beside a halt it would undo it. After the fact
    /// there is one beside a halt only if somebody denied.
    fn blocks(&self) -> bool {
        let denied = || self.said.reasons.iter().any(|reason| reason.ruling == Ruling::Deny);
        match (self.said.ruling, self.event.kind()) {
            (Ruling::Deny, _) | (Ruling::Halt, MomentKind::Gate) => true,
            (Ruling::Halt, MomentKind::Report) => denied(),
            _ => false,
        }
    }

    /// A halt alone would let the tool run first.
    fn permission(&mut self, ruling: Ruling) {
        if ruling == Ruling::Silent {
            return;
        }
        let word = ruling.min(Ruling::Deny).word();
        self.put_own("permissionDecision", json!(word));
        let reasons = self.said.ruling_reasons().join("\n");
        if ruling.refuses() || !reasons.is_empty() {
            let reason = if ruling.refuses() { refusal(self.said) } else { reasons };
            self.put_own("permissionDecisionReason", json!(reason));
        }
    }

    fn request(&mut self, ruling: Ruling) {
        let decision = match ruling {
            Ruling::Allow => {
                let mut decision = json!({"behavior": "allow"});
                if let Some(input) = self.input() {
                    decision["updatedInput"] = input;
                }
                if let Some(permissions) = self.said.patch.get(&own_list(PERMISSIONS)) {
                    decision[PERMISSIONS] = permissions.clone();
                }
                decision
            }
            Ruling::Deny => json!({"behavior": "deny", "message": why(self.said)}),
            Ruling::Halt => {
                json!({"behavior": "deny", "message": refusal(self.said), "interrupt": true})
            }
            Ruling::Silent | Ruling::Ask | Ruling::Defer => return,
        };
        if let (Host::Copilot, Value::Object(decision)) = (self.host, &decision) {
            // Copilot CLI reads the decision's fields at the top.
            return self.top.extend(decision.clone());
        }
        self.put_own("decision", decision);
    }

    fn words(&mut self) {
        let for_agent: Vec<&str> = self
            .said
            .messages_for(Audience::AgentNow)
            .chain(self.said.messages_for(Audience::AgentNextTurn))
            .collect();
        if !for_agent.is_empty() {
            self.put_own("additionalContext", json!(for_agent.join("\n")));
        }
        let mut for_person: Vec<&str> = self.said.messages_for(Audience::User).collect();
        let asked = voice(self.event.spec) == Voice::Request && self.said.ruling == Ruling::Silent;
        if asked && self.said.patch.contains_key(&Slot::Input) {
            // Another input can only be sent with a permission that nobody gave.
            for_person.push("a hook's rewrite of the input was not applied");
        }
        if !for_person.is_empty() {
            self.put("systemMessage", json!(for_person.join("\n")));
        }
    }

    fn rewrites(&mut self) {
        let form = voice(self.event.spec);
        let input = self.input().filter(|_| form == Voice::Permission);
        if let Some(input) = input.filter(|_| !self.said.ruling.refuses()) {
            self.put_own("updatedInput", input);
        }
        for (slot, value) in &self.said.patch {
            match slot {
                Slot::Output => {
                    let before = self.event.native.get("tool_response").unwrap_or(&Value::Null);
                    let output = rewritten(value, before);
                    self.put_own("updatedToolOutput", output);
                }
                Slot::Native(name) | Slot::List(name) => self.native(name, value, form),
                Slot::Input | Slot::ChatMessages | Slot::InjectedMessage | Slot::Prompt => {}
            }
        }
    }

    /// What only this dialect knows goes back to where it came from.
    fn native(&mut self, name: &str, value: &Value, form: Voice) {
        let Some(field) = name.strip_prefix(OWN_SLOT) else { return };
        match field {
            "terminalSequence" => self.put(field, value.clone()),
            INPUT => {}
            PERMISSIONS if form == Voice::Request => {}
            WATCH => self.put_own(field, each_once(value)),
            // The form that was filled in is not sent with a refusal.
            "action" | "content" if form == Voice::Action && self.said.ruling.refuses() => {}
            _ => self.put_own(field, value.clone()),
        }
    }

    /// The whole rewritten input: as a hook of ours gave it while that is what stands, else in
    /// the caller's own names.
    fn input(&self) -> Option<Value> {
        let args = self.said.patch.get(&Slot::Input)?;
        let mut tool = self.event.facts.tool.clone()?;
        let stands = |given: &&Value| Tool::from_native(TOOLS, &tool.name, given).args == *args;
        if let Some(given) = self.said.patch.get(&own_slot(INPUT)).filter(stands) {
            return Some(given.clone());
        }
        tool.args = args.clone();
        Some(tool.to_native(TOOLS).1)
    }

    fn put(&mut self, key: &str, value: Value) {
        self.top.insert(key.to_owned(), value);
    }

    fn put_own(&mut self, key: &str, value: Value) {
        if self.own.is_empty() {
            self.own.insert("hookEventName".into(), json!(self.event.name));
        }
        self.own.insert(key.to_owned(), value);
    }

    /// Where the host shows nothing of the answer, stderr is what a person may still see.
    fn stderr(&self) -> String {
        let hidden = !self.event.spec.caller_powers.contains(Powers::MESSAGE_USER);
        let notices = self.said.messages_for(Audience::User).filter(|_| hidden);
        notices.map(|notice| format!("{}\n", notice.trim_end())).collect()
    }

    fn into_reply(mut self) -> Reply {
        let stderr = self.stderr();
        if !self.own.is_empty() {
            self.top.insert("hookSpecificOutput".into(), Value::Object(self.own));
        }
        if self.top.is_empty() {
            return Reply::default();
        }
        let stdout = format!("{}\n", Value::Object(self.top)).into_bytes();
        Reply { stdout, stderr, exit: 0 }
    }
}
