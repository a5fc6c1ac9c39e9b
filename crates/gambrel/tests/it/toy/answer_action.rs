//! A toy action: the call's text is its output. An action needs one file and one row.

use gambrel_model::{Action, Captured, End, Job, Outcome};

/// Answers with the text of the call and starts no process.
pub struct AnswerAction;

impl Action for AnswerAction {
    fn name(&self) -> &'static str {
        "answer"
    }

    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
        let answer = |job: &Job<'_>| {
            let text = job.call.body.as_str().unwrap_or_default();
            Outcome { stdout: Captured::from_text(text), ..Outcome::from_end(End::Answered) }
        };
        jobs.iter().map(answer).collect()
    }
}
