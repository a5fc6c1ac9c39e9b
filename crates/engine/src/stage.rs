//! Prepares one hook to run: evaluates its condition, builds its call, checks that its paths lead to
//! the trusted files. It must not select or run hooks.

use std::panic::{AssertUnwindSafe, catch_unwind};

use gambrel_model::condition::Truth;
use gambrel_model::{Call, Carry, Event, Hook, MomentKind, Program};

use crate::candidate::{Candidate, Skip};
use crate::covered::HookFile;
use crate::run_calls::BatchItem;
use crate::{DetachedHook, Engine, LeakRecord, trust};

/// The variable with the enclosing firings, outermost first.
pub(crate) const FIRING_VAR: &str = "GAMBREL_FIRING";

/// Evaluates a hook's condition just before it runs.
pub(crate) fn check_condition(
    event: &Event,
    hook: &Hook,
    carry: &Carry,
) -> Result<Option<String>, Skip> {
    if let Some(why) = hook.format.skip_reason(event, hook) {
        return Err(Skip::with_reason(why));
    }
    let doubt = hook.format.run_remark(event, hook);
    let Some(when) = &hook.when else { return Ok(doubt) };
    let gate = event.kind() == MomentKind::Gate;
    match when.eval(&|name| hook.format.lookup_fact(event, carry, name)) {
        Ok(Truth::Yes) => Ok(doubt),
        Ok(Truth::No) => Err(Skip::with_reason(format!("condition `{}` is false", when.text()))),
        Ok(Truth::Unknown(name)) if gate => {
            Ok(Some(format!("runs although this caller has no {name}: a gate is asked in doubt")))
        }
        Ok(Truth::Unknown(name)) => Err(Skip::with_reason(format!(
            "condition `{}`: this caller has no {name}",
            when.text()
        ))),
        Err(error) if gate => {
            Ok(Some(format!("runs although its condition failed: {}", error.message)))
        }
        Err(error) => Err(Skip::fails_strict(format!("condition failed: {}", error.message))),
    }
}

/// Builds the call of a hook.
pub(crate) fn stage_call(event: &Event, hook: &Hook, carry: &Carry) -> Result<Call, Skip> {
    let staged = catch_unwind(AssertUnwindSafe(|| hook.format.stage_call(event, hook, carry)));
    staged.map_err(|_| Skip::fails_strict("an internal error of gambrel: not staged"))
}

/// Skips a trusted hook when a relative path in its command resolves to a different file in this
/// folder. Otherwise returns files with the same bytes that it runs there.
pub(crate) fn check_not_substituted(
    engine: &Engine<'_>,
    event: &Event,
    candidate: &Candidate,
    call: &Call,
) -> Result<Vec<HookFile>, Skip> {
    let hook = &candidate.hook;
    if call.program == Program::None || !trust::needs_trust(hook, engine.options.trust) {
        return Ok(Vec::new());
    }
    trust::find_substituted_file(candidate, &call.cwd, &event.project).map_err(|file| {
        let why = format!("changed: {} is in place of what was trusted", file.display());
        Skip::fails_strict(format!("{why}; start the path at the project's folder to avoid this"))
    })
}

/// Sets `GAMBREL_FIRING` for the call, so that a nested `gambrel` knows its firing.
pub(crate) fn batch_item<'t>(
    event: &'t Event,
    candidate: &'t Candidate,
    call: &mut Call,
) -> BatchItem<'t> {
    let name = event.firing_key.as_ref().unwrap_or(&event.id);
    let firing = match event.context.env.get(FIRING_VAR) {
        Some(outer) => format!("{outer}:{name}"),
        None => name.to_owned(),
    };
    call.env.push((FIRING_VAR.into(), firing));
    call.leak_record = serde_json::to_string(&LeakRecord::from_hook(event, &candidate.hook)).ok();
    // Built lazily, because few hooks are handed to a supervisor.
    let record = || {
        serde_json::to_string(&DetachedHook::from_event(event, &candidate.hook)).unwrap_or_default()
    };
    BatchItem {
        action: candidate.hook.draft.action.clone(),
        call: std::mem::take(call),
        record: Box::new(record),
    }
}
