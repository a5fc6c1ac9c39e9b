//! Runs gate hooks again on rewritten input, and applies `--strict`.

use std::collections::BTreeSet;

use gambrel_model::{Complaint, Loss, Moment, MomentKind, Reason, Ruling, Severity, Verdict};

use crate::candidate::Candidate;
use crate::firing::Firing;
use crate::select::select_hooks;

const UNREAD: &str = "gambrel cannot tell which hooks are missing, so this call is blocked";

/// Maximum number of reasons in a strict refusal.
const MAX_STRICT_REASON_COUNT: usize = 100;

impl Firing<'_, '_> {
    /// Runs gates again on rewritten input, because an Allow holds only for the input it saw.
    pub(crate) fn recheck_gates(&mut self, candidates: &[Candidate]) {
        if self.rewriter.is_none()
            || self.event.kind() != MomentKind::Gate
            || self.verdict.ruling.is_refusal()
        {
            return;
        }
        let event = self.event.with_patch(&self.carry.patch);
        let informed: BTreeSet<String> = std::mem::take(&mut self.informed).into_iter().collect();
        let keeps = |r: &Reason| r.ruling > Ruling::Allow || informed.contains(&r.hook);
        // A hook that saw the final input does not run again.
        let own = self.decision.trail.iter().filter(|step| informed.contains(&step.hook));
        let own = own.map(|step| step.verdict).max().unwrap_or_default();
        let strict = Some(self.verdict.ruling).filter(|ruling| *ruling > Ruling::Allow);
        let first = std::mem::take(&mut self.verdict);
        self.recheck = true;
        let again = select_hooks(self.engine, &event, &self.budget, &mut self.decision.warnings);
        let again = again.candidates;
        let asks =
            |c: &&Candidate| !informed.contains(&c.hook.id) && c.hook.draft.policy.limits.blocking;
        let runs = |c: &&Candidate| self.check_replaced(c).is_ok();
        let again: Vec<&Candidate> = again.iter().filter(asks).filter(runs).collect();
        for candidate in again {
            self.run_turn(&event, std::slice::from_ref(candidate));
        }
        self.mark_gates_not_rechecked(candidates);
        let second = std::mem::replace(&mut self.verdict, first);
        self.verdict.ruling = strict.unwrap_or_default().max(own).max(second.ruling);
        self.verdict.reasons.retain(keeps);
        self.verdict.reasons.extend(second.reasons);
        self.verdict.gate_failures.extend(second.gate_failures);
    }

    /// The hooks of a live host cannot run again.
    fn mark_gates_not_rechecked(&mut self, candidates: &[Candidate]) {
        let own = candidates.iter().any(|c| self.event.is_from(c.hook.dialect));
        if self.engine.options.hosted && own {
            let why = "the host's own hooks have not seen the rewritten input";
            self.decision.losses.push(Loss::new("recheck", why));
        }
    }

    /// Denies a tool call when configuration could not be read.
    pub(crate) fn refuse_unread(&mut self) {
        let tool_gate = matches!(self.event.moment, Moment::ToolBefore | Moment::ToolPermission);
        let closing = self.decision.complaints.iter().filter(|c| tool_gate && c.closes_tool_gates);
        let texts: Vec<String> = closing
            .map(|c| {
                format!("{} {}: {}", c.spot.path.display(), c.message, UNREAD).trim().to_owned()
            })
            .collect();
        for text in texts {
            let deny = Verdict::with_ruling(Ruling::Deny, text).attributed_to("gambrel");
            self.verdict = std::mem::take(&mut self.verdict).then(deny);
        }
    }

    /// Turns gate failures into Deny under `--strict`. Never at a Close: that would keep the agent
    /// running for ever.
    pub(crate) fn deny_gate_failures(&mut self) {
        if !self.engine.options.strict || self.event.kind() != MomentKind::Gate {
            return;
        }
        let broken = |c: &&Complaint| c.severity == Severity::Error;
        let mut why = self.verdict.gate_failures.clone();
        why.extend(self.decision.complaints.iter().filter(broken).map(|c| c.message.clone()));
        // The trail has all reasons; the reply has a few.
        let more = why.len().saturating_sub(MAX_STRICT_REASON_COUNT);
        why.truncate(MAX_STRICT_REASON_COUNT);
        why.extend((more > 0).then(|| format!("{more} more hooks or files gave no answer")));
        for text in why {
            let deny = Verdict::with_ruling(Ruling::Deny, format!("strict: {text}"));
            self.verdict = std::mem::take(&mut self.verdict).then(deny.attributed_to("gambrel"));
        }
    }
}
