//! What a hook's end means: exit codes, and the JSON that counts whatever the exit code is.

use gambrel_model::{Audience, End, Event, EventSpec, Hook, MomentKind, Outcome, Ruling, Verdict};
use serde_json::{Value, json};

use super::Claude;
use super::events::{Voice, cannot_refuse, makes_worktree, plain_is_context, voice};
use super::judge;
use super::output::{Speaker, WORKTREE, answer, noticed, own_slot, ruled};
use super::partial::outer_fields;
use super::spill::{beginning, spill};
use super::stdout::{LARGE, Printed, hides_a_decision, printed, said_later, trimmed};
use super::tools::TOOLS;

/// Reads an outcome.
pub fn read(event: &Event, hook: &Hook, outcome: &Outcome) -> Verdict {
    let Some(row) = hook.event_spec_for(event).or_else(|| hook.specs.first().copied()) else {
        return Verdict::default();
    };
    let tool = event.facts.tool.as_ref().map(|tool| tool.to_native(TOOLS).0);
    let stdout = outcome.stdout.text();
    let later = said_later(&stdout);
    let said = later.unwrap_or(&stdout);
    let name = match row.name {
        "" if event.is_from(&Claude) => &event.name,
        "" => &hook.draft.event,
        name => name,
    };
    let speaker = Speaker { row, name, tool: tool.as_deref() };
    let reader = Reader { hook, outcome, said, speaker };
    let mut verdict = reader.verdict();
    if cannot_refuse(row, event) && verdict.ruling == Ruling::Deny {
        verdict = shown(verdict);
    }
    let verdict = match hook.draft.policy.blocking && later.is_none() {
        true => verdict,
        false => reader.afterwards(verdict),
    };
    spill(verdict, event, hook)
}

/// What its administrator lays down holds whatever a hook says; the words are still shown.
fn shown(mut verdict: Verdict) -> Verdict {
    let refusals = std::mem::take(&mut verdict.reasons).into_iter();
    let verdict = Verdict { ruling: Ruling::Silent, ..verdict };
    refusals.fold(verdict, |verdict, reason| verdict.with_message(Audience::User, reason.text))
}

struct Reader<'r> {
    hook: &'r Hook,
    outcome: &'r Outcome,
    /// Its stdout, without a first line that asked not to be waited for.
    said: &'r str,
    speaker: Speaker<'r>,
}

impl Reader<'_> {
    fn row(&self) -> &EventSpec {
        self.speaker.row
    }

    fn verdict(&self) -> Verdict {
        let terms = &self.hook.draft.policy;
        match &self.outcome.end {
            End::Exited(0) if judge::is_asked(self.hook) => self.judged(),
            End::Exited(code) if judge::is_asked(self.hook) => {
                let why = format!("the model command: {}", self.code(*code));
                self.no_answer(&terms.on_failure, &why).then(noticed(self.row(), &why))
            }
            End::Exited(code) if makes_worktree(self.row()) => self.worktree(*code),
            End::Exited(code) => self.exited(*code),
            End::TimedOut => {
                self.no_answer(&terms.on_timeout, &self.outcome.timeout_reason(terms.timeout))
            }
            End::FailedToStart(why) => {
                self.no_answer(&terms.on_failure, &format!("could not be started: {why}"))
            }
            End::Signalled(signal) => {
                self.no_answer(&terms.on_failure, &format!("ended by signal {signal}"))
            }
            End::Answered => match &self.outcome.failure {
                Some(fault) => self.no_answer(&terms.on_failure, fault),
                None if makes_worktree(self.row()) => self.answered_worktree(),
                None => self.exited(0),
            },
            End::NotApplicable | End::Detached => Verdict::default(),
            // What it printed is all that is known of it.
            End::EndedUnobserved => self.exited(0),
        }
    }

    fn judged(&self) -> Verdict {
        match judge::heard(self.said) {
            Ok(judgement) => judgement.verdict(self.row(), self.hook),
            Err(why) => self.bad_output(&why, 0),
        }
    }

    fn is_whole(&self) -> bool {
        !self.outcome.stdout.is_truncated()
    }

    fn exited(&self, code: i32) -> Verdict {
        match printed(self.said, self.is_whole()) {
            Printed::Plain(text) => self.plain(&text, code),
            Printed::Bad(why) => self.bad_output(&why, code),
            Printed::Part(why) => self.part(why, code),
            Printed::Fields { fields, twice } => match answer(&self.speaker, &fields) {
                // Two readers could differ, so nothing but a refusal is taken from it.
                Ok(verdict) if twice && !verdict.ruling.refuses() => {
                    self.bad_output("a key is written twice", code)
                }
                Ok(verdict) => self.beside(verdict, code),
                Err(why) => self.bad_output(&why, code),
            },
        }
    }

    /// A refusal that stands in the part that was kept counts; nothing else does.
    fn part(&self, why: &str, code: i32) -> Verdict {
        let kept = String::from_utf8_lossy(&self.outcome.stdout.bytes);
        match answer(&self.speaker, &outer_fields(&kept)) {
            Ok(verdict) if verdict.ruling.refuses() => self.beside(verdict, code),
            _ => self.bad_output(why, code),
        }
    }

    /// The exit code counts beside an answer that was read.
    fn beside(&self, verdict: Verdict, code: i32) -> Verdict {
        match code {
            0 => verdict,
            2 if verdict.ruling.refuses() && self.stderr().is_empty() => verdict,
            2 => verdict.then(self.blocked()),
            // A refusal is an answer whatever the code says.
            _ if verdict.ruling.refuses() => {
                verdict.then(self.hook.draft.policy.on_failure.with_reason(&self.code(code)))
            }
            _ => verdict.then(self.failed(code)),
        }
    }

    fn plain(&self, text: &str, code: i32) -> Verdict {
        match code {
            0 => self.text(text),
            2 => self.blocked(),
            126 | 127 | 130 | 255 => {
                self.no_answer(&self.hook.draft.policy.on_failure, &self.code(code))
            }
            _ => self.failed(code),
        }
    }

    /// Any other exit code is an error and decides nothing by itself. Strict mode counts the hook
    /// as failed (`contracts/claude/CONTRACT.md#strict-mode`).
    fn failed(&self, code: i32) -> Verdict {
        let why = self.code(code);
        self.hook.draft.policy.on_failure.with_reason(&why).with_gate_failure(why)
    }

    fn text(&self, text: &str) -> Verdict {
        let context = plain_is_context(self.row());
        if !self.is_whole() {
            return self.long_text(context);
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

    /// Text of which only the beginning and the end are kept. It decides nothing, so no answer is
    /// lost; the user is told what of it nobody reads.
    fn long_text(&self, context: bool) -> Verdict {
        let output = &self.outcome.stdout;
        let verdict = match context {
            true => Verdict::with_only_message(Audience::AgentNow, beginning(output)),
            false => Verdict::default(),
        };
        let kept = String::from_utf8_lossy(&output.bytes);
        if self.is_doubtful(&kept, output.tail.trim_ascii_end().ends_with(b"}")) {
            return verdict.then(self.bad_output(LARGE, 0));
        }
        let what = if context { "the agent gets its beginning" } else { "it decides nothing" };
        verdict.then(noticed(
            self.row(),
            &format!("{} wrote more than 16 MiB of plain text: {what}", self.hook.title()),
        ))
    }

    /// Whether a decision was probably meant. Where text is context, only one that ends like an
    /// object was hardly meant as text.
    fn is_doubtful(&self, text: &str, ends_like_object: bool) -> bool {
        let context = plain_is_context(self.row());
        let gate = self.row().kind() == MomentKind::Gate;
        gate && hides_a_decision(text) && (!context || ends_like_object)
    }

    fn bad_output(&self, why: &str, code: i32) -> Verdict {
        match code {
            2 => self.blocked(),
            _ => self.no_answer(&self.hook.draft.policy.on_failure, &format!("bad_output: {why}")),
        }
    }

    /// A hook that was as good as not asked.
    fn no_answer(&self, terms: &Verdict, why: &str) -> Verdict {
        terms.with_reason(why).with_gate_failure(why)
    }

    /// Exit 2, event by event: a refusal where there is something to refuse, else words for the
    /// person. A request for permission does not know it.
    fn blocked(&self) -> Verdict {
        match voice(self.row()) {
            Voice::Request => Verdict::default(),
            _ => ruled(self.row(), Ruling::Deny, &self.refusal()),
        }
    }

    fn refusal(&self) -> String {
        let stderr = self.stderr();
        if stderr.is_empty() { "No stderr output".to_owned() } else { stderr }
    }

    fn stderr(&self) -> String {
        trimmed(&self.outcome.stderr.text()).to_owned()
    }

    fn code(&self, code: i32) -> String {
        let stderr = self.stderr();
        match stderr.lines().next() {
            Some(line) => format!("exit code {code}: {line}"),
            None => format!("exit code {code}"),
        }
    }

    /// Any exit but 0 fails it; of a text the last line that is not empty is the path. Who names
    /// none leaves that to the others.
    fn worktree(&self, code: i32) -> Verdict {
        if code != 0 {
            return ruled(self.row(), Ruling::Deny, &self.refusal());
        }
        match printed(self.said, self.is_whole()) {
            Printed::Plain(text) => {
                let last = text.lines().map(trimmed).rfind(|line| !line.is_empty());
                let named = |path| Verdict::default().with_rewrite(own_slot(WORKTREE), json!(path));
                last.map(named).unwrap_or_default()
            }
            Printed::Fields { .. } | Printed::Bad(_) | Printed::Part(_) => self.answered_worktree(),
        }
    }

    /// Who is not a command names the path in its event's own output, and nowhere else.
    fn answered_worktree(&self) -> Verdict {
        let mut verdict = self.exited(0);
        verdict.patch.retain(|slot, path| *slot != own_slot(WORKTREE) || *path != json!(""));
        verdict
    }

    /// Nobody waited: there is nothing left to rule about, and words come with the next event that
    /// can carry them.
    fn afterwards(&self, verdict: Verdict) -> Verdict {
        let wakes = self.hook.draft.config.get("asyncRewake") == Some(&Value::Bool(true));
        if wakes && self.outcome.end == End::Exited(2) {
            return self.wake();
        }
        // What the event could not have been answered is words by now.
        let Verdict { messages: says, gate_failures: unheard, .. } =
            verdict.within_hook_powers(self.row()).0;
        Verdict { messages: says, gate_failures: unheard, ..Verdict::default() }
    }

    /// The late message of a hook with `asyncRewake`: its output after the author's own words, and
    /// one line for the person if the author wrote one.
    fn wake(&self) -> Verdict {
        let written = |key: &str| {
            let text = self.hook.draft.config.get(key).and_then(Value::as_str);
            text.filter(|text| !text.is_empty())
        };
        let stderr = self.stderr();
        let output = if stderr.is_empty() { trimmed(self.said).to_owned() } else { stderr };
        let text = match written("rewakeMessage") {
            Some(prefix) => trimmed(&format!("{prefix} {output}")).to_owned(),
            None => output,
        };
        let verdict = Verdict::with_only_message(Audience::AgentNow, text);
        match written("rewakeSummary") {
            Some(summary) => {
                let line = summary.split_whitespace().collect::<Vec<_>>().join(" ");
                verdict.with_message(Audience::User, line)
            }
            None => verdict,
        }
    }
}
