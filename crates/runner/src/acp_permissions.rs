//! Permission requests of an agent of the Agent Client Protocol: hooks decide once about each call,
//! a person answers where they ask, and hooks see how the call ended.

use std::time::{Duration, Instant};

use gambrel_model::digest::sha256;
use gambrel_model::{Ruling, Ticket};
use serde_json::{Value, json};

use crate::acp_firing::{FiredTool, FiringJob};
use crate::acp_turn::AcpTurn;
use crate::agent::{
    AcpError, AcpResult, AcpSession, AcpToolCall, CallStatus, INTERRUPT_CHECK_INTERVAL,
    PermissionRequest, PermissionWish, Received, ToolUse, TurnEnd, is_empty_object,
};
use crate::context::{RunError, RunUpdate};
use crate::drive::Driver;
use crate::firing::{RunDecision, RunFiring};
use crate::permissions::{
    QuestionState, ToolQuestion, ToolRuling, refusal_of, tool_end_firing, tool_firing,
};

/// How often an agent may ask in one turn.
const MAX_REQUESTS: usize = 10_000;
/// How many tool calls one prompt may have.
const MAX_CALLS: usize = 10_000;
/// The most bytes that the tool calls of one prompt hold.
const MAX_HELD_BYTES: usize = 64 << 20;
/// The most bytes of a tool call's id.
const MAX_ID_BYTES: usize = 512;
/// How long an agent that asked with an empty input has to say what the call does. Some agents ask
/// before the update that has the input.
const INPUT_WINDOW: Duration = Duration::from_secs(5);
/// Why a call without its input is not simply allowed.
const BLIND: &str = "the agent does not say what the call does, so hooks could not judge it";

/// A tool call of the current prompt.
#[derive(Default)]
pub(crate) struct TrackedCall {
    /// What the agent says about it.
    pub call: AcpToolCall,
    /// What the run has decided about it.
    pub gate: CallGate,
    /// The hash of the input that hooks have seen.
    judged: Option<[u8; 32]>,
    /// How often hooks have decided about it.
    judged_count: u32,
    /// Whether its input is complete: it has fields, or the call has begun without any.
    is_described: bool,
    /// Whether its end was reported to hooks.
    has_ended: bool,
}

/// What the run has decided about a call.
#[derive(Default)]
pub(crate) enum CallGate {
    /// The agent has not asked.
    #[default]
    NotAsked,
    /// The agent has asked, and has not said what the call does.
    Undescribed {
        /// The agent's requests.
        requests: Vec<PermissionRequest>,
        /// When hooks decide without its input.
        until: Instant,
    },
    /// Hooks decide.
    Firing(Vec<PermissionRequest>),
    /// A person decides.
    Asking {
        /// The agent's requests.
        requests: Vec<PermissionRequest>,
        /// The question.
        ticket: Box<Ticket>,
    },
    /// It is decided.
    Answered(PermissionWish),
}

impl TrackedCall {
    /// Answers open requests with `cancelled`. An agent that is gone needs no answer.
    pub fn cancel(&mut self, session: &AcpSession) {
        for request in self.take_requests(PermissionWish::Cancel) {
            let _gone = session.answer(&request, PermissionWish::Cancel);
        }
    }

    /// Decides, and returns the requests that wait for it. What is decided stays.
    fn take_requests(&mut self, wish: PermissionWish) -> Vec<PermissionRequest> {
        match std::mem::take(&mut self.gate) {
            CallGate::NotAsked => Vec::new(),
            CallGate::Answered(known) => {
                self.gate = CallGate::Answered(known);
                Vec::new()
            }
            CallGate::Undescribed { requests, .. }
            | CallGate::Firing(requests)
            | CallGate::Asking { requests, .. } => {
                self.gate = CallGate::Answered(wish);
                requests
            }
        }
    }
}

impl<'r> Driver<'r> {
    /// Handles a permission request. Hooks fire once for each call.
    pub(crate) fn handle_permission(
        &mut self,
        turn: &mut AcpTurn<'r>,
        id: Value,
        params: &Value,
    ) -> AcpResult {
        let mut request = match PermissionRequest::parse(turn.session.id(), id, params) {
            Ok(request) => request,
            Err((id, why)) => return turn.session.refuse_params(&id, &why),
        };
        turn.request_count += 1;
        if turn.request_count > MAX_REQUESTS {
            return Err(AcpError::Insistent(MAX_REQUESTS));
        }
        if turn.is_cancelled() {
            turn.session.answer(&request, PermissionWish::Cancel)?;
            return Ok(());
        }
        let Some(tracked) = track_call(turn, &params["toolCall"])? else {
            return turn.session.refuse_params(&request.id, "`toolCall.toolCallId` is too long");
        };
        let input = request.input.take().filter(|input| !is_empty_object(input));
        request.input = input.or_else(|| tracked.call.input().cloned());
        let is_judged = tracked.judged.is_some_and(|judged| judged == hash_input(&request));
        match &mut tracked.gate {
            CallGate::Answered(wish) if is_judged || *wish != PermissionWish::Allow => {
                let wish = *wish;
                self.answer_request(&turn.session, &request, wish)
            }
            CallGate::Undescribed { requests, .. }
            | CallGate::Firing(requests)
            | CallGate::Asking { requests, .. } => {
                requests.push(request);
                Ok(())
            }
            CallGate::NotAsked
                if request.input.as_ref().is_some_and(is_empty_object) && !tracked.is_described =>
            {
                let until = Instant::now() + INPUT_WINDOW;
                tracked.gate = CallGate::Undescribed { requests: vec![request], until };
                turn.undescribed_count += 1;
                Ok(())
            }
            CallGate::NotAsked | CallGate::Answered(_) => {
                let id = tracked.call.id.clone();
                self.judge_call(turn, &id, vec![request]);
                Ok(())
            }
        }
    }

    /// Has hooks decide about the input of the first request.
    fn judge_call(&self, turn: &mut AcpTurn<'r>, id: &str, requests: Vec<PermissionRequest>) {
        let Some(tracked) = turn.calls.get_mut(id) else { return };
        let Some(first) = requests.first() else { return };
        tracked.judged = Some(hash_input(first));
        tracked.judged_count += 1;
        let call = tracked.call.with_input(first.input.clone());
        tracked.gate = CallGate::Firing(requests);
        self.start_firing(turn, &call, |tool| tool_firing("tool.before", tool));
    }

    /// Has hooks decide about calls that the agent has described, or had its time to.
    pub(crate) fn judge_described(&self, turn: &mut AcpTurn<'r>) {
        if turn.undescribed_count == 0 {
            return;
        }
        let now = Instant::now();
        let mut ready = Vec::new();
        for (id, tracked) in &mut turn.calls {
            let CallGate::Undescribed { requests, until } = &mut tracked.gate else { continue };
            if !tracked.is_described && now < *until {
                continue;
            }
            for request in requests.iter_mut() {
                let input = request.input.take().filter(|input| !is_empty_object(input));
                request.input = input.or_else(|| tracked.call.input().cloned());
            }
            ready.push((id.clone(), std::mem::take(requests)));
        }
        turn.undescribed_count = turn.undescribed_count.saturating_sub(ready.len());
        for (id, requests) in ready {
            self.judge_call(turn, &id, requests);
        }
    }

    /// Takes over what the agent says about a tool call, and fires when the call has ended.
    pub(crate) fn handle_update(&mut self, turn: &mut AcpTurn<'r>, update: &Value) -> AcpResult {
        // Other updates have no id of a call.
        let Some(tracked) = track_call(turn, update)? else { return Ok(()) };
        let has_begun = update["status"].as_str().is_some_and(|status| status != "pending");
        let has_fields = tracked.call.input().is_some_and(|input| !is_empty_object(input));
        tracked.is_described |= has_begun || has_fields;
        // A call that the run has refused did not run.
        let has_run =
            matches!(tracked.gate, CallGate::NotAsked | CallGate::Answered(PermissionWish::Allow));
        if tracked.call.status == CallStatus::Open || tracked.has_ended || !has_run {
            return Ok(());
        }
        tracked.has_ended = true;
        let call = tracked.call.clone();
        tracked.call.forget();
        turn.held_bytes = turn.held_bytes.saturating_sub(call.weight());
        self.start_firing(turn, &call, tool_end_firing);
        Ok(())
    }

    fn start_firing(
        &self,
        turn: &mut AcpTurn<'r>,
        call: &AcpToolCall,
        build: impl FnOnce(&ToolUse) -> RunFiring,
    ) {
        let firing = self.prepare_firing(build(&name_call(turn, call)));
        let job = FiringJob { call: call.id.clone(), firing };
        // Without workers the turn is over.
        if turn.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok()) {
            turn.firing_count += 1;
        }
    }

    /// Handles the decision of hooks about a call.
    pub(crate) fn handle_fired(&mut self, turn: &mut AcpTurn<'r>, fired: FiredTool) -> AcpResult {
        turn.firing_count = turn.firing_count.saturating_sub(1);
        let FiredTool { call: id, name, decision } = fired;
        let moment = name.moment;
        let decision = match decision {
            Ok(decision) => self.conclude_firing(&name, decision),
            Err(complaint) => {
                let why = complaint.to_string();
                (self.on_update)(RunUpdate::Notice(&why));
                if moment != "tool.before" {
                    return Ok(());
                }
                return self.deny_call(turn, &id, why);
            }
        };
        let Some(tracked) = turn.calls.get(&id).filter(|_| moment == "tool.before") else {
            self.tool_hooks.extend(decision.hooks);
            return Ok(());
        };
        let requests = match &tracked.gate {
            CallGate::Firing(requests) => requests.as_slice(),
            _ => &[],
        };
        let is_open = !requests.is_empty();
        let call = tracked.call.with_input(requests.first().and_then(|first| first.input.clone()));
        match self.rule_call(&call, decision) {
            ToolRuling::Halt(_) => {
                self.cancel_turn(turn, TurnEnd::Completed);
                Ok(())
            }
            _ if !is_open => Ok(()),
            ToolRuling::Allow => self.decide_call(turn, &id, PermissionWish::Allow),
            ToolRuling::Deny(reason) => self.deny_call(turn, &id, reason),
            ToolRuling::Ask(question) => self.ask_about(turn, &call, &question),
        }
    }

    /// What the decision means. An answer that was given without the input is none.
    fn rule_call(&mut self, call: &AcpToolCall, mut decision: RunDecision) -> ToolRuling {
        let has_judge = decision.decision.trail.iter().any(|step| step.ran);
        let ruling = &mut decision.decision.for_caller.ruling;
        if !(call.is_blind() && has_judge && *ruling <= Ruling::Allow) {
            return self.rule_tool(decision);
        }
        *ruling = Ruling::Silent;
        match self.rule_tool(decision) {
            ToolRuling::Allow | ToolRuling::Ask(_) if self.context.is_strict => {
                ToolRuling::Deny(format!("strict: {BLIND}"))
            }
            ToolRuling::Allow if self.context.can_ask => {
                ToolRuling::Ask(ToolQuestion { name: None, reason: BLIND.to_owned() })
            }
            ToolRuling::Allow => {
                let text = format!("{}: {BLIND}; nobody can be asked", call.to_tool_use().name);
                (self.on_update)(RunUpdate::Notice(&text));
                ToolRuling::Allow
            }
            other => other,
        }
    }

    /// Asks a person about a call.
    fn ask_about(
        &mut self,
        turn: &mut AcpTurn<'r>,
        call: &AcpToolCall,
        question: &ToolQuestion,
    ) -> AcpResult {
        let ticket = match self.open_question(&name_call(turn, call), question) {
            Ok(ticket) => ticket,
            Err(error) => return self.deny_call(turn, &call.id, error.to_string()),
        };
        if let Some(tracked) = turn.calls.get_mut(&call.id)
            && let CallGate::Firing(requests) = &mut tracked.gate
        {
            let requests = std::mem::take(requests);
            tracked.gate = CallGate::Asking { requests, ticket: Box::new(ticket) };
            turn.question_count += 1;
        }
        Ok(())
    }

    /// Looks whether people have answered.
    pub(crate) fn check_questions(&mut self, turn: &mut AcpTurn<'r>) -> AcpResult {
        if Instant::now() < turn.next_look {
            return Ok(());
        }
        turn.next_look = Instant::now() + INTERRUPT_CHECK_INTERVAL;
        let asking = turn.calls.iter().filter_map(|(id, tracked)| match &tracked.gate {
            CallGate::Asking { ticket, .. } => Some((id.clone(), (**ticket).clone())),
            _ => None,
        });
        let asking: Vec<(String, Ticket)> = asking.collect();
        for (id, ticket) in asking {
            let refusal = match self.read_question(&ticket) {
                Ok(None) => continue,
                Ok(Some(refusal)) => refusal,
                Err(error) => Some(error.to_string()),
            };
            turn.question_count = turn.question_count.saturating_sub(1);
            match refusal {
                None => self.decide_call(turn, &id, PermissionWish::Allow)?,
                Some(reason) => self.deny_call(turn, &id, reason)?,
            }
        }
        Ok(())
    }

    /// The answer to a question, as the reason of a refusal; `None` while it waits.
    fn read_question(&self, ticket: &Ticket) -> Result<Option<Option<String>>, RunError> {
        match self.read_answer(ticket)? {
            QuestionState::Open => Ok(None),
            QuestionState::Over(answer) => {
                self.close_question(ticket)?;
                Ok(Some(refusal_of(answer)))
            }
        }
    }

    /// Refuses a call. The agent hears the reason when its turn has ended.
    fn deny_call(&mut self, turn: &mut AcpTurn<'r>, id: &str, reason: String) -> AcpResult {
        let is_open = turn.calls.get(id).is_some_and(|tracked| {
            matches!(tracked.gate, CallGate::Firing(_) | CallGate::Asking { .. })
        });
        if is_open {
            turn.has_refusal = true;
            self.turn_counts.blocked_calls += 1;
            turn.denials.extend((!reason.is_empty()).then_some(reason));
        }
        self.decide_call(turn, id, PermissionWish::Reject)
    }

    /// Answers the requests about a call.
    fn decide_call(&mut self, turn: &mut AcpTurn<'r>, id: &str, wish: PermissionWish) -> AcpResult {
        let Some(tracked) = turn.calls.get_mut(id) else { return Ok(()) };
        let mut requests = tracked.take_requests(wish);
        // An Allow holds only for the input that was seen.
        let judged = tracked.judged;
        let others: Vec<PermissionRequest> = match wish {
            PermissionWish::Allow => {
                requests.extract_if(.., |request| judged != Some(hash_input(request))).collect()
            }
            PermissionWish::Reject | PermissionWish::Cancel => Vec::new(),
        };
        let ms = (self.context.now_ms)();
        let fields = json!({"toolCallId": id, "answer": format!("{wish:?}").to_lowercase()});
        turn.files.keep_line(ms, "permission", fields);
        for request in requests {
            self.answer_request(&turn.session, &request, wish)?;
        }
        if !others.is_empty() {
            self.judge_call(turn, id, others);
        }
        Ok(())
    }

    fn answer_request(
        &mut self,
        session: &AcpSession,
        request: &PermissionRequest,
        wish: PermissionWish,
    ) -> AcpResult {
        if !session.answer(request, wish)? {
            let word = if wish == PermissionWish::Allow { "allow_once" } else { "reject_once" };
            let text = format!("the agent offers no option `{word}`, so its call was cancelled");
            (self.on_update)(RunUpdate::Notice(&text));
        }
        Ok(())
    }

    /// Keeps the lines of hooks that ended after the turn had.
    pub(crate) fn keep_last_firings(&mut self, turn: &mut AcpTurn<'r>) {
        while turn.firing_count > 0 {
            match turn.session.connection.receive(INTERRUPT_CHECK_INTERVAL) {
                Ok(Received::Done(fired)) => {
                    turn.firing_count -= 1;
                    if let Ok(decision) = fired.decision {
                        let fired = self.conclude_firing(&fired.name, decision);
                        self.tool_hooks.extend(fired.hooks);
                    }
                }
                Ok(Received::Line(_)) => {}
                // All threads have ended, so nothing else can come.
                Ok(Received::Nothing) | Err(_) => return,
            }
        }
    }
}

/// The call that an update or a request is about, with what it says; `None` for an unusable id.
fn track_call<'t>(
    turn: &'t mut AcpTurn<'_>,
    fields: &Value,
) -> AcpResult<Option<&'t mut TrackedCall>> {
    let id = fields["toolCallId"].as_str().unwrap_or_default();
    if id.is_empty() || id.len() > MAX_ID_BYTES {
        return Ok(None);
    }
    if turn.calls.len() >= MAX_CALLS && !turn.calls.contains_key(id) {
        return Err(AcpError::Restless(MAX_CALLS));
    }
    let tracked = turn.calls.entry(id.to_owned()).or_default();
    if tracked.call.id.is_empty() {
        tracked.call = AcpToolCall::new(id);
        turn.call_count += 1;
    }
    let weight = tracked.call.weight();
    tracked.call.merge(fields);
    if tracked.has_ended {
        tracked.call.forget();
    }
    turn.held_bytes = (turn.held_bytes + tracked.call.weight()).saturating_sub(weight);
    if turn.held_bytes > MAX_HELD_BYTES {
        return Err(AcpError::Heavy(MAX_HELD_BYTES >> 20));
    }
    Ok(Some(tracked))
}

/// Distinguishes the inputs of requests.
fn hash_input(request: &PermissionRequest) -> [u8; 32] {
    sha256(request.input.as_ref().map(Value::to_string).unwrap_or_default().as_bytes())
}

/// The call in neutral words, with its key. Each input that hooks decide about has its own.
fn name_call(turn: &AcpTurn<'_>, call: &AcpToolCall) -> ToolUse {
    let mut key = turn.call_key(&call.id);
    let count = turn.calls.get(&call.id).map_or(0, |tracked| tracked.judged_count);
    if count > 1 {
        key.push_str(&format!("#{count}"));
    }
    ToolUse { key, ..call.to_tool_use() }
}
