//! Whether a hook runs, and why not. Modules are loaded to see whether they can be.

use gambrel::{Gambrel, Loaded, Trust};
use gambrel_model::Hook;

use super::find_replacement;
use crate::commands;

/// A hook and what stands in its way.
pub struct HookState<'l> {
    /// The hook.
    pub hook: &'l Hook,
    /// Whether the user trusts it.
    pub trust: Trust,
    /// The hook that replaces it.
    pub replaced_by: Option<&'l str>,
    /// Why its module cannot be loaded.
    pub load_error: Option<String>,
    /// The events that its module registers for, if its text shows them.
    pub registered: Option<Vec<String>>,
}

/// The states of all hooks.
pub fn hook_states<'l>(
    gambrel: &Gambrel,
    loaded: &'l Loaded,
    rows: &'l [(&'l Hook, Trust)],
) -> Vec<HookState<'l>> {
    let modules = commands::read_modules(gambrel, loaded);
    let state = |(hook, trust): &(&'l Hook, Trust)| {
        let module = modules.iter().find(|module| module.hook == hook.id);
        HookState {
            hook,
            trust: *trust,
            replaced_by: find_replacement(hook, rows),
            load_error: module.and_then(|module| module.load_error.clone()),
            registered: module.and_then(|module| module.events.clone()),
        }
    };
    rows.iter().map(state).collect()
}

impl HookState<'_> {
    /// Whether it can run once it is trusted.
    pub fn can_run(&self) -> bool {
        let is_enabled = self.hook.draft.disabled.is_none();
        is_enabled && self.replaced_by.is_none() && self.load_error.is_none()
    }

    /// Whether it runs.
    pub fn may_run(&self) -> bool {
        self.can_run() && matches!(self.trust, Trust::Trusted | Trust::Managed)
    }

    /// Why it does not run. Missing trust is shown anyway.
    pub fn skip_reason(&self) -> Option<String> {
        let disabled = self.hook.draft.disabled.as_ref().map(|disabled| disabled.why.clone());
        let replaced = || self.replaced_by.map(|by| format!("shadowed by {by}"));
        disabled.or_else(replaced).or_else(|| self.load_error.clone())
    }

    /// The events at which it runs.
    pub fn events_text(&self) -> String {
        match &self.registered {
            Some(events) if !events.is_empty() => events.join(", "),
            _ => self.hook.draft.event.clone(),
        }
    }
}
