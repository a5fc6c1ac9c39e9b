//! A turn of an agent of the Agent Client Protocol: its prompt, what it says, its tool calls, and
//! the reasons of refusals as one more prompt. Hooks fire on other threads, so that updates are read
//! while a hook or a person decides.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use gambrel_process::tee::TeeFile;
use serde_json::{Value, json};

use crate::acp_firing::{FiringJob, run_firings};
use crate::acp_permissions::{CallGate, TrackedCall};
use crate::agent::{
    AcpError, AcpResult, AcpSession, AgentJob, AgentLine, INTERRUPT_CHECK_INTERVAL, Received,
    StopWord, TurnEnd, TurnFiles, choose_output,
};
use crate::context::RunUpdate;
use crate::drive::Driver;

/// How many hooks of tool calls run at once.
const MAX_PARALLEL_FIRINGS: usize = 4;
/// How many firings wait before the agent has to.
const MAX_WAITING_FIRINGS: usize = 32;
/// How many questions are open before the agent has to wait.
const MAX_QUESTIONS: usize = 64;
/// How often reasons of refusals are sent in one turn.
const MAX_DENIAL_PROMPTS: u32 = 20;
/// How long an agent may take to end a turn that was cancelled.
const CANCEL_GRACE: Duration = Duration::from_secs(2);

/// A turn in progress.
pub(crate) struct AcpTurn<'p> {
    /// The agent.
    pub session: AcpSession,
    /// Where firings are sent; none at the end of the turn.
    pub jobs: Option<Sender<FiringJob<'p>>>,
    /// What the agent says.
    pub files: TurnFiles<'p>,
    /// The tool calls of the current prompt.
    pub calls: BTreeMap<String, TrackedCall>,
    /// How many tool calls there were in the turn.
    pub call_count: u64,
    /// How many permission requests there were in the turn.
    pub request_count: usize,
    /// How many bytes the tool calls of the current prompt hold.
    pub held_bytes: usize,
    /// How many questions are open.
    pub question_count: usize,
    /// How many calls wait for their input.
    pub undescribed_count: usize,
    /// How many firings have not ended.
    pub firing_count: usize,
    /// Reasons that the agent has not heard.
    pub denials: Vec<String>,
    /// Whether a call of the current prompt was refused.
    pub has_refusal: bool,
    /// When questions are looked at again.
    pub next_look: Instant,
    key: String,
    prompt_id: u64,
    prompt_count: u32,
    deadline: Option<Instant>,
    stop: Option<StopWord>,
    cancel: Option<(Instant, TurnEnd)>,
}

impl AcpTurn<'_> {
    /// The key of a tool call within its iteration.
    pub fn call_key(&self, id: &str) -> String {
        match self.prompt_count {
            0 | 1 => format!("{}/{id}", self.key),
            count => format!("{}.{count}/{id}", self.key),
        }
    }

    /// Whether so much waits for hooks and people that the agent has to wait.
    fn is_busy(&self) -> bool {
        self.firing_count >= MAX_WAITING_FIRINGS || self.question_count >= MAX_QUESTIONS
    }

    /// Whether the turn was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_some()
    }

    /// Whether the agent has ended its turn and all hooks have, or a cancelled agent had its time.
    fn is_over(&self) -> bool {
        let is_late = |(until, _): &(Instant, TurnEnd)| Instant::now() >= *until;
        self.cancel.as_ref().is_some_and(is_late) || (self.stop.is_some() && self.firing_count == 0)
    }

    fn send_prompt(&mut self, blocks: &[&str]) -> AcpResult {
        self.prompt_id = self.session.send_prompt(blocks)?;
        self.prompt_count += 1;
        self.stop = None;
        self.has_refusal = false;
        self.calls.clear();
        self.held_bytes = 0;
        self.question_count = 0;
        self.undescribed_count = 0;
        Ok(())
    }
}

impl<'r> Driver<'r> {
    /// Gives an agent one prompt, in the session of the iteration, and waits for its end.
    pub(crate) fn prompt_acp_agent(&mut self, command: &str, job: &AgentJob) -> TurnEnd {
        let open =
            self.session.take().filter(|session| job.is_follow_up && session.connection.is_alive());
        // An agent that knows the prompt needs only what is new.
        let known = job.messages.as_deref().filter(|_| open.is_some());
        let blocks = known.map_or_else(|| job.blocks(), |messages| vec![messages]);
        let open_new = || AcpSession::open(self.context, command, &job.env, job.timeout);
        let session = match open.map_or_else(open_new, Ok) {
            Ok(session) => session,
            Err(AcpError::Interrupted) => return TurnEnd::Interrupted,
            Err(AcpError::Late { .. }) if self.is_out_of_time() => return TurnEnd::TimedOut,
            Err(error) => return TurnEnd::Failed(error.to_string()),
        };
        let (session, end) = self.run_acp_turn(session, job, &blocks);
        match end {
            Ok(end) => {
                if end == TurnEnd::Completed && self.tool_halt.is_none() {
                    self.session = Some(session);
                }
                end
            }
            Err(error) => {
                // The agent is there and can hear what the hooks of the error say.
                if matches!(error, AcpError::Refused { .. } | AcpError::Stopped(_)) {
                    self.session = Some(session);
                }
                TurnEnd::Failed(error.to_string())
            }
        }
    }

    fn run_acp_turn(
        &mut self,
        session: AcpSession,
        job: &AgentJob,
        blocks: &[&str],
    ) -> (AcpSession, AcpResult<TurnEnd>) {
        let (jobs, queue) = mpsc::channel();
        let (queue, results) = (Mutex::new(queue), session.connection.results());
        let mut turn = self.begin_turn(session, job, jobs);
        let fire = self.context.fire;
        let end = std::thread::scope(|scope| {
            for _ in 0..MAX_PARALLEL_FIRINGS {
                scope.spawn(|| run_firings(fire, &queue, &results.clone()));
            }
            let end = self.drive_turn(&mut turn, blocks);
            self.close_gates(&mut turn);
            turn.jobs = None;
            end
        });
        self.keep_last_firings(&mut turn);
        self.turn_counts.tool_calls += turn.call_count;
        let word = end.as_ref().map_or_else(ToString::to_string, |end| format!("{end:?}"));
        let ms = (self.context.now_ms)();
        turn.files.keep_line(ms, "end", json!({"how": word}));
        if let Some(why) = turn.files.finish(ms) {
            (self.on_update)(RunUpdate::Notice(&why));
        }
        (turn.session, end)
    }

    fn begin_turn(
        &self,
        session: AcpSession,
        job: &AgentJob,
        jobs: Sender<FiringJob<'r>>,
    ) -> AcpTurn<'r> {
        let target = choose_output(job);
        let target = TeeFile { path: &target.path, if_taken: target.if_taken.as_deref() };
        let now = Instant::now();
        AcpTurn {
            session,
            jobs: Some(jobs),
            files: TurnFiles::open(target, &job.transcript, self.context.redact),
            calls: BTreeMap::new(),
            call_count: 0,
            request_count: 0,
            held_bytes: 0,
            question_count: 0,
            undescribed_count: 0,
            firing_count: 0,
            denials: Vec::new(),
            has_refusal: false,
            next_look: now,
            key: job.key.clone(),
            prompt_id: 0,
            prompt_count: 0,
            deadline: job.timeout.and_then(|timeout| now.checked_add(timeout)),
            stop: None,
            cancel: None,
        }
    }

    /// Reads what the agent says until its turn is over.
    fn drive_turn(&mut self, turn: &mut AcpTurn<'r>, blocks: &[&str]) -> AcpResult<TurnEnd> {
        self.send_blocks(turn, blocks)?;
        loop {
            self.watch_turn(turn);
            if turn.is_over()
                && let Some(end) = self.end_prompt(turn)?
            {
                return Ok(end);
            }
            let received = match turn.is_busy() {
                true => turn.session.connection.receive_result(INTERRUPT_CHECK_INTERVAL)?,
                false => turn.session.connection.receive(INTERRUPT_CHECK_INTERVAL)?,
            };
            match received {
                Received::Nothing => {}
                Received::Done(fired) => self.handle_fired(turn, fired)?,
                Received::Line(line) => self.handle_line(turn, line)?,
            }
            self.judge_described(turn);
            self.check_questions(turn)?;
            turn.files.flush(Instant::now());
        }
    }

    fn send_blocks(&self, turn: &mut AcpTurn<'r>, blocks: &[&str]) -> AcpResult {
        turn.files.keep_line((self.context.now_ms)(), "prompt", json!({"blocks": blocks}));
        turn.send_prompt(blocks)
    }

    /// Cancels the turn after a signal, or when its time is over.
    fn watch_turn(&mut self, turn: &mut AcpTurn<'r>) {
        if self.is_interrupted() {
            self.cancel_turn(turn, TurnEnd::Interrupted);
        } else if turn.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.cancel_turn(turn, TurnEnd::TimedOut);
        }
    }

    /// Answers every open request with `cancelled` and asks the agent to end its turn.
    pub(crate) fn cancel_turn(&mut self, turn: &mut AcpTurn<'r>, end: TurnEnd) {
        if turn.cancel.is_none() {
            self.close_gates(turn);
            turn.session.cancel();
            turn.cancel = Some((Instant::now() + CANCEL_GRACE, end));
        }
    }

    /// What follows when the agent has ended a prompt: the reasons of refusals, else the end of the
    /// turn.
    fn end_prompt(&mut self, turn: &mut AcpTurn<'r>) -> AcpResult<Option<TurnEnd>> {
        if let Some((_, end)) = turn.cancel.take() {
            return Ok(Some(end));
        }
        match turn.stop.take() {
            Some(StopWord::Other(word)) => return Err(AcpError::Stopped(word)),
            Some(StopWord::Cancelled) if !turn.has_refusal => {
                return Err(AcpError::Stopped("cancelled".to_owned()));
            }
            Some(StopWord::Complete | StopWord::Cancelled) | None => {}
        }
        self.close_gates(turn);
        if turn.denials.is_empty() {
            return Ok(Some(TurnEnd::Completed));
        }
        let reasons = std::mem::take(&mut turn.denials).join("\n");
        if turn.prompt_count > MAX_DENIAL_PROMPTS {
            let text = format!("the agent was refused too often in one turn: {reasons}");
            (self.on_update)(RunUpdate::Notice(&text));
            return Ok(Some(TurnEnd::Completed));
        }
        self.send_blocks(turn, &[&reasons])?;
        Ok(None)
    }

    fn handle_line(&mut self, turn: &mut AcpTurn<'r>, line: AgentLine) -> AcpResult {
        let ms = (self.context.now_ms)();
        match line {
            AgentLine::Notification { method, params } => {
                if method == "session/update"
                    && params["sessionId"].as_str() == Some(turn.session.id())
                {
                    turn.files.keep_update(ms, &params["update"]);
                    self.handle_update(turn, &params["update"])?;
                }
            }
            AgentLine::Request { id, method, params } => {
                turn.files.keep_line(ms, "request", json!({"method": method, "params": params}));
                self.handle_request(turn, (id, &method, &params))?;
            }
            AgentLine::Response { id, result } if id == turn.prompt_id => {
                let method = "session/prompt";
                let answer = result.map_err(|error| AcpError::Refused { method, error });
                turn.files.keep_line(ms, "answer", json!({"answer": answer.as_ref().ok()}));
                turn.stop = Some(StopWord::parse(&answer?));
            }
            AgentLine::Response { .. } => {}
            AgentLine::Noise(text) => turn.files.keep_line(ms, "text", json!({"text": text})),
        }
        Ok(())
    }

    /// Handles a request of the agent: about a permission, or of a method that is not offered.
    fn handle_request(
        &mut self,
        turn: &mut AcpTurn<'r>,
        (id, method, params): (Value, &str, &Value),
    ) -> AcpResult {
        if method == "session/request_permission" {
            return self.handle_permission(turn, id, params);
        }
        turn.session.refuse(&id, method)
    }

    /// Answers what is open with `cancelled`, and closes its questions.
    fn close_gates(&mut self, turn: &mut AcpTurn<'r>) {
        for tracked in turn.calls.values_mut() {
            if let CallGate::Asking { ticket, .. } = &tracked.gate
                && let Err(error) = self.close_question(ticket)
            {
                (self.on_update)(RunUpdate::Notice(&error.to_string()));
            }
            tracked.cancel(&turn.session);
        }
        (turn.question_count, turn.undescribed_count) = (0, 0);
    }
}
