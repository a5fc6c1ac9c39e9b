//! The hooks of the task board: some may refuse, others only receive the change. Their messages for
//! the user go to whoever changes the board.

use gambrel_model::ledger::Task;
use gambrel_model::{Audience, Decision};
use serde_json::json;

use crate::board::{Board, BoardError, status_word};

impl Board<'_> {
    /// Fires hooks that may refuse. Returns messages for the user.
    pub(crate) fn ask_hooks(
        &self,
        moment: &str,
        pass: &str,
        task: &Task,
    ) -> Result<Vec<String>, BoardError> {
        let decision = self.fire_event(moment, (pass, None), task)?;
        let verdict = &decision.for_caller;
        if verdict.ruling.is_refusal() {
            let reasons: Vec<&str> =
                verdict.reasons.iter().map(|reason| reason.text.as_str()).collect();
            let notices = user_messages(&decision);
            let notices = notices.iter().filter(|text| !reasons.contains(&text.as_str()));
            let notices: String = notices.map(|text| format!("; message: {text}")).collect();
            let reasons = reasons.join("; ");
            return Err(BoardError::Refused(format!("a hook refuses: {reasons}{notices}")));
        }
        Ok(user_messages(&decision))
    }

    /// Fires hooks that only receive the change, with a pass and perhaps a firing key. Returns
    /// messages for the user.
    pub(crate) fn notify_hooks(
        &self,
        moment: &str,
        pass: (&str, Option<&str>),
        task: &Task,
    ) -> Result<Vec<String>, BoardError> {
        Ok(user_messages(&self.fire_event(moment, pass, task)?))
    }

    fn fire_event(
        &self,
        moment: &str,
        (pass, firing_key): (&str, Option<&str>),
        task: &Task,
    ) -> Result<Decision, BoardError> {
        let facts = json!({
            "task": {
                "id": task.id, "subject": task.subject, "description": task.description,
                "owner": task.owner, "status": status_word(task.status), "native": task,
            },
            "iteration": self.iteration,
            "vars": {"SESSION": self.session},
        });
        let event = json!({
            "moment": moment, "session": self.session, "cwd": self.project, "pass": pass,
            "run_dir": self.run_dir, "firing_key": firing_key, "facts": facts,
        });
        (self.fire)(event).map_err(BoardError::Firing)
    }
}

fn user_messages(decision: &Decision) -> Vec<String> {
    decision.for_caller.messages_for(Audience::User).map(str::to_owned).collect()
}
