//! What project hooks are made of, as a person is shown before trusting them.

use gambrel_engine::{Coverage, Surroundings, find_coverage};
use gambrel_model::Hook;

use crate::{Gambrel, Setup};

#[doc(hidden)]
impl Setup {
    /// Patterns of files that belong to every project hook: `trust_files` in the user's
    /// `config.yaml`. No file of a project is asked.
    pub fn trust_files(&self) -> Vec<String> {
        gambrel_dialects::trust_files(&self.read_preferences())
    }
}

// For the command line of the workspace, in inner types that may change.
#[doc(hidden)]
impl Gambrel {
    /// Works out what each of these hooks is made of. Reads files and starts nothing.
    pub fn find_coverage(&self, hooks: &[&Hook]) -> Vec<Coverage> {
        let setup = self.setup();
        let trust_files = setup.trust_files();
        let path = setup.env.get("PATH").map(String::as_str).unwrap_or_default();
        let around = |hook: &Hook| Surroundings::from_hook(hook, setup.home(), path, &trust_files);
        hooks.iter().map(|hook| find_coverage(hook, &around(hook))).collect()
    }
}
