//! Reads the outcome of a hook: its exit code, and its JSON output, which counts with every exit
//! code.

use gambrel_model::text::join_lines;
use gambrel_model::{Audience, End, Event, EventSpec, Hook, MomentKind, Outcome, Ruling, Verdict};
use serde_json::{Value, json};

use super::CLAUDE;
use super::event_row::{ReplyForm, StdoutUse};
use super::events::event_row;
use super::model_handler;
use super::output::{AnswerContext, WORKTREE_PATH, own_slot, read_answer};
use super::partial_output::outer_fields;
use super::spill::{output_beginning, spill_context};
use super::stdout::{
    StdoutKind, TOO_LARGE, classify_stdout, may_contain_decision, output_after_async,
    trim_javascript,
};
use super::tools::TOOLS;

/// Reads an outcome.
pub fn read_outcome(event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
    let Some(row) = hook.event_spec_for(event).or_else(|| hook.specs.first().copied()) else {
        return Verdict::default();
    };
    let tool = event.facts.tool.as_ref().map(|tool| tool.to_native(TOOLS).0);
    let stdout = outcome.stdout.to_text();
    let later = output_after_async(&stdout);
    let output = later.unwrap_or(&stdout);
    let name = match row.name {
        "" if event.is_from(&CLAUDE) => &event.name,
        "" => &hook.draft.event,
        name => name,
    };
    let answer_context = AnswerContext { row, name, tool: tool.as_deref() };
    let reader = OutcomeReader { hook, outcome, output, answer_context };

    let mut verdict = reader.read_verdict();
    let fixed_cause = event_row(row).fixed_cause;
    let is_fixed = fixed_cause.is_some() && event.facts.cause.as_deref() == fixed_cause;
    if is_fixed && verdict.ruling == Ruling::Deny {
        // Hooks cannot refuse managed settings.
        verdict = verdict.reasons_to_notices(Audience::User);
    }
    let verdict = match hook.draft.policy.limits.blocking && later.is_none() {
        true => verdict,
        false => reader.detached_verdict(verdict),
    };
    spill_context(verdict, event, hook)
}

struct OutcomeReader<'r> {
    hook: &'r Hook,
    outcome: &'r Outcome,
    /// The stdout without a first line that requested async.
    output: &'r str,
    answer_context: AnswerContext<'r>,
}

impl OutcomeReader<'_> {
    fn row(&self) -> &EventSpec {
        self.answer_context.row
    }

    fn stdout_use(&self) -> StdoutUse {
        event_row(self.row()).stdout
    }

    fn read_verdict(&self) -> Verdict {
        let policy = &self.hook.draft.policy;
        match &self.outcome.end {
            End::Exited(0) if model_handler::asks_model(self.hook) => self.model_verdict(),
            End::Exited(code) if model_handler::asks_model(self.hook) => {
                let why = format!("the model command: {}", self.exit_code_text(*code));
                let notice = Verdict::notice_within_powers(self.row(), &why);
                self.failure_verdict(&why).then(notice)
            }
            End::Exited(code) if self.stdout_use() == StdoutUse::WorktreePath => {
                self.worktree_verdict(*code)
            }
            End::Exited(code) => self.exit_verdict(*code),
            End::TimedOut => {
                let why = self.outcome.timeout_reason(policy.limits.timeout);
                policy.on_timeout.with_reason(&why).with_gate_failure(why)
            }
            End::FailedToStart(why) => {
                self.failure_verdict(&format!("could not be started: {why}"))
            }
            End::Signalled(signal) => self.failure_verdict(&format!("ended by signal {signal}")),
            End::Answered => match &self.outcome.failure {
                Some(fault) => self.failure_verdict(fault),
                None if self.stdout_use() == StdoutUse::WorktreePath => self.answered_worktree(),
                None => self.exit_verdict(0),
            },
            End::NotApplicable | End::Detached => Verdict::default(),
            // Only its output is known.
            End::EndedUnobserved => self.exit_verdict(0),
        }
    }

    fn model_verdict(&self) -> Verdict {
        match model_handler::parse_answer(self.output) {
            Ok(judgement) => judgement.into_verdict(self.row(), self.hook),
            Err(error) => self.bad_output(&error.to_string(), 0),
        }
    }

    fn is_whole(&self) -> bool {
        !self.outcome.stdout.is_truncated()
    }

    fn exit_verdict(&self, code: i32) -> Verdict {
        match classify_stdout(self.output, self.is_whole()) {
            StdoutKind::Plain(text) => self.plain_text_verdict(&text, code),
            StdoutKind::Bad(why) => self.bad_output(&why, code),
            StdoutKind::Part(why) => self.partial_verdict(why, code),
            StdoutKind::Fields { fields, has_duplicates: twice } => {
                match read_answer(&self.answer_context, &fields) {
                    // Parsers differ on duplicate keys, so only a refusal counts.
                    Ok(verdict) if twice && !verdict.ruling.is_refusal() => {
                        self.bad_output("a key is written twice", code)
                    }
                    Ok(verdict) => self.with_exit_code(verdict, code),
                    Err(error) => self.bad_output(&error.to_string(), code),
                }
            }
        }
    }

    /// The verdict of a truncated or unreadable object. Only a refusal in the readable part counts.
    fn partial_verdict(&self, why: &str, code: i32) -> Verdict {
        let kept = String::from_utf8_lossy(&self.outcome.stdout.bytes);
        match read_answer(&self.answer_context, &outer_fields(&kept)) {
            Ok(verdict) if verdict.ruling.is_refusal() => self.with_exit_code(verdict, code),
            _ => self.bad_output(why, code),
        }
    }

    /// Adds the exit code to a verdict from JSON.
    fn with_exit_code(&self, verdict: Verdict, code: i32) -> Verdict {
        match code {
            0 => verdict,
            2 if verdict.ruling.is_refusal() && self.trimmed_stderr().is_empty() => verdict,
            2 => verdict.then(self.blocking_verdict()),
            // A refusal counts with every exit code.
            _ if verdict.ruling.is_refusal() => verdict
                .then(self.hook.draft.policy.on_failure.with_reason(&self.exit_code_text(code))),
            _ => verdict.then(self.failure_verdict(&self.exit_code_text(code))),
        }
    }

    fn plain_text_verdict(&self, text: &str, code: i32) -> Verdict {
        match code {
            0 => self.text_verdict(text),
            2 => self.blocking_verdict(),
            // Any other exit code is an error and decides nothing by itself. Strict mode counts the
            // hook as failed (`contracts/claude/CONTRACT.md#strict-mode`).
            _ => self.failure_verdict(&self.exit_code_text(code)),
        }
    }

    fn text_verdict(&self, text: &str) -> Verdict {
        let context = self.stdout_use() == StdoutUse::Context;
        if !self.is_whole() {
            return self.long_text_verdict(context);
        }
        let verdict = match context && !text.is_empty() {
            true => Verdict::with_only_message(Audience::AgentNow, text),
            false => Verdict::default(),
        };
        match self.is_doubtful(text, text.ends_with('}')) {
            true => verdict.then(self.bad_output("text around or in place of JSON", 0)),
            false => verdict,
        }
    }

    /// The verdict of plain text that is larger than the capture limit. The user receives a notice,
    /// because part of the text is lost.
    fn long_text_verdict(&self, context: bool) -> Verdict {
        let output = &self.outcome.stdout;
        let verdict = match context {
            true => Verdict::with_only_message(Audience::AgentNow, output_beginning(output)),
            false => Verdict::default(),
        };
        let kept = String::from_utf8_lossy(&output.bytes);
        if self.is_doubtful(&kept, output.tail.trim_ascii_end().ends_with(b"}")) {
            return verdict.then(self.bad_output(TOO_LARGE, 0));
        }
        let what = if context { "the agent gets its beginning" } else { "it decides nothing" };
        verdict.then(Verdict::notice_within_powers(
            self.row(),
            &format!("{} wrote more than 16 MiB of plain text: {what}", self.hook.title()),
        ))
    }

    /// Whether a gate's text probably contains a decision. Where text is context, it must also end
    /// like an object.
    fn is_doubtful(&self, text: &str, ends_like_object: bool) -> bool {
        let context = self.stdout_use() == StdoutUse::Context;
        let gate = self.row().kind() == MomentKind::Gate;
        gate && may_contain_decision(text) && (!context || ends_like_object)
    }

    fn bad_output(&self, why: &str, code: i32) -> Verdict {
        match code {
            2 => self.blocking_verdict(),
            _ => self.failure_verdict(&format!("bad_output: {why}")),
        }
    }

    /// The verdict of a hook that gave no usable answer.
    fn failure_verdict(&self, why: &str) -> Verdict {
        self.hook.draft.policy.on_failure.with_reason(why).with_gate_failure(why)
    }

    /// The verdict of exit code 2: a refusal, or a message for the user where nothing can be
    /// refused. A permission request ignores it.
    fn blocking_verdict(&self) -> Verdict {
        match event_row(self.row()).reply {
            ReplyForm::Request => Verdict::default(),
            _ => Verdict::ruling_within_powers(self.row(), Ruling::Deny, &self.refusal_text()),
        }
    }

    fn refusal_text(&self) -> String {
        let stderr = self.trimmed_stderr();
        if stderr.is_empty() { "No stderr output".to_owned() } else { stderr }
    }

    fn trimmed_stderr(&self) -> String {
        trim_javascript(&self.outcome.stderr.to_text()).to_owned()
    }

    fn exit_code_text(&self, code: i32) -> String {
        let stderr = self.trimmed_stderr();
        match stderr.lines().next() {
            Some(line) => format!("exit code {code}: {line}"),
            None => format!("exit code {code}"),
        }
    }

    /// The verdict of a command at `WorktreeCreate`. Any exit code but 0 refuses. The last line of
    /// plain text that is not empty is the path. A hook may leave the path to other hooks.
    fn worktree_verdict(&self, code: i32) -> Verdict {
        if code != 0 {
            return Verdict::ruling_within_powers(self.row(), Ruling::Deny, &self.refusal_text());
        }
        match classify_stdout(self.output, self.is_whole()) {
            StdoutKind::Plain(text) => {
                let last = text.lines().map(trim_javascript).rfind(|line| !line.is_empty());
                let named =
                    |path| Verdict::default().with_rewrite(own_slot(WORKTREE_PATH), json!(path));
                last.map(named).unwrap_or_default()
            }
            StdoutKind::Fields { .. } | StdoutKind::Bad(_) | StdoutKind::Part(_) => {
                self.answered_worktree()
            }
        }
    }

    /// The verdict of an answer at `WorktreeCreate`, with the path in `hookSpecificOutput`.
    fn answered_worktree(&self) -> Verdict {
        let mut verdict = self.exit_verdict(0);
        verdict.patch.retain(|slot, path| *slot != own_slot(WORKTREE_PATH) || *path != json!(""));
        verdict
    }

    /// The verdict of a detached hook: only its messages are left. They are delivered with the next
    /// event that accepts messages.
    fn detached_verdict(&self, verdict: Verdict) -> Verdict {
        let wakes = self.hook.draft.config.get("asyncRewake") == Some(&Value::Bool(true));
        if wakes && self.outcome.end == End::Exited(2) {
            return self.rewake_verdict();
        }
        // Drops everything that the event does not allow.
        let Verdict { messages, gate_failures, .. } = verdict.within_hook_powers(self.row()).0;
        Verdict { messages, gate_failures, ..Verdict::default() }
    }

    /// The late message of a hook with `asyncRewake`: `rewakeMessage` and the output for the agent,
    /// `rewakeSummary` for the user.
    fn rewake_verdict(&self) -> Verdict {
        let written = |key: &str| {
            let text = self.hook.draft.config.get(key).and_then(Value::as_str);
            text.filter(|text| !text.is_empty())
        };
        let stderr = self.trimmed_stderr();
        let output =
            if stderr.is_empty() { trim_javascript(self.output).to_owned() } else { stderr };
        let text = match written("rewakeMessage") {
            Some(prefix) => trim_javascript(&format!("{prefix} {output}")).to_owned(),
            None => output,
        };
        let verdict = Verdict::with_only_message(Audience::AgentNow, text);
        match written("rewakeSummary") {
            Some(summary) => {
                let line = join_lines(summary);
                verdict.with_message(Audience::User, line)
            }
            None => verdict,
        }
    }
}
