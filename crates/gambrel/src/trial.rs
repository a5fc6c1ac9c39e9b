//! Tries the hooks of today on an event without consequences: sessions, tickets and boards stay
//! untouched, and hooks that act on the world are left out.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use gambrel_engine::{FireResult, Options, Trial};
use gambrel_ledger::MemoryLedger;
use gambrel_model::{Event, Hook, MomentKind, ReceivedEvent};

use crate::app::build_actions;
use crate::{Gambrel, Setup};

/// Set for hooks that a replay runs.
const REPLAY_VARIABLE: &str = "GAMBREL_REPLAY";
/// The beginning of the reason of a hook that is left out.
pub const NOT_REPLAYED: &str = "not replayed: ";

// For the command line of the workspace, in inner types that may change.
#[doc(hidden)]
impl Gambrel {
    /// The same hooks with the same trust, and a state in memory that is empty at first. `state_dir`
    /// is the state folder for commands of gambrel that hooks start.
    pub fn for_trial(&self, state_dir: &Path) -> Self {
        let state_dir = state_dir.display().to_string();
        let env = vec![
            (REPLAY_VARIABLE.to_owned(), "1".to_owned()),
            ("GAMBREL_STATE_DIR".to_owned(), state_dir),
        ];
        let trial = Some(Trial { leave_out: why_not_replayed, env });
        let mut own_env: BTreeMap<String, String> = (*self.setup().env).clone();
        // Nobody is asked.
        own_env.insert("GAMBREL_UI".to_owned(), "none".to_owned());
        let setup = Setup {
            env: Arc::new(own_env),
            in_memory: true,
            options: Options { trial, ..self.setup().options.clone() },
            ..self.setup().clone()
        };
        let actions = build_actions(&setup, None);
        Self {
            trust_store: Arc::clone(&self.trust_store),
            redactor: self.redactor.clone(),
            ..Self::with_parts(setup, Arc::new(MemoryLedger::new()), actions)
        }
    }

    /// Fires an event as it was fired: `hosted` leaves out hooks of the caller's dialect.
    pub fn fire_again(&self, event: ReceivedEvent, hosted: bool) -> FireResult {
        let loaded = self.load_hooks(Some(&event));
        let options = Options { hosted, ..self.setup().options.clone() };
        self.fire_with_options(event, &loaded, options)
    }
}

/// Why a hook is not replayed: it would act on the world again, or nobody waited for it.
fn why_not_replayed(hook: &Hook, event: &Event) -> Option<&'static str> {
    let limits = &hook.draft.policy.limits;
    match hook.draft.action.as_str() {
        "rule" => None,
        "module" if event.kind() != MomentKind::Gate => {
            Some("not replayed: modules are replayed at gates only")
        }
        "module" => None,
        "webhook" => Some("not replayed: it sends a message"),
        "spawn" => Some("not replayed: it starts a pipeline"),
        "mcp_tool" => Some("not replayed: it calls a tool of a server"),
        "shell" if !limits.blocking => Some("not replayed: nobody waits for it"),
        "shell" if event.kind() != MomentKind::Gate => {
            Some("not replayed: commands are replayed at gates only")
        }
        "shell" if hook.kind() != "shell" => Some("not replayed: it asks a model"),
        "shell" => None,
        _ => Some("not replayed: its effects are not known"),
    }
}
