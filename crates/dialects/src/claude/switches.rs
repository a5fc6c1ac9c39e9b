//! Who may switch hooks off: `disableAllHooks` by the precedence of settings, and of the machine's
//! administrator `allowManagedHooksOnly` and `strictPluginOnlyCustomization`.

use gambrel_model::{Complaint, ConfigPath, LoadedFile, Scope, SearchRoots};
use serde_json::Value;

use super::plugin;
use crate::document::{Document, Fields, Node};

/// Files from the strongest to the weakest word.
const PRECEDENCE: [&str; 5] = ["managed", "settings", "local", "project", "user"];

/// What is switched off, and by whom.
#[derive(Default)]
pub struct Switches {
    /// For hooks of the project.
    off: Option<String>,
    /// For the user's own: a repository may switch its own hooks off, never the user's guards.
    user_off: Option<String>,
    managed_off: bool,
    managed_only: Option<String>,
    /// For all hooks but the administrator's and those of plugins.
    plugins_only: Option<String>,
}

impl Switches {
    /// What all files together say.
    pub fn of(files: &[(&LoadedFile, Document<'_>)], complaints: &mut Vec<Complaint>) -> Self {
        let mut switches = Self::default();
        let (mut decided, mut user_decided) = (false, false);
        for tag in PRECEDENCE {
            // Of several files named on the command line the last one is the strongest.
            for (file, document) in files.iter().rev().filter(|(f, _)| f.place.tag == tag) {
                let path = file.place.path.display();
                let mut fields = Fields::of(document, &document.root);
                if let Some(off) = fields.flag("disableAllHooks") {
                    let why = off.then(|| format!("disabled: disableAllHooks in {path}"));
                    if !decided {
                        decided = true;
                        switches.managed_off = off && tag == "managed";
                        switches.off.clone_from(&why);
                    }
                    if !user_decided && (!off || file.place.scope.is_own()) {
                        user_decided = true;
                        switches.user_off = why;
                    }
                }
                if tag == "managed" && fields.flag("allowManagedHooksOnly") == Some(true) {
                    let why = format!("disabled: allowManagedHooksOnly in {path}");
                    switches.managed_only = Some(why);
                }
                if tag == "managed" && only_plugins(document) {
                    let why = format!("disabled: strictPluginOnlyCustomization in {path}");
                    switches.plugins_only = Some(why);
                }
                complaints.append(&mut fields.complaints);
            }
        }
        switches
    }

    /// Why hooks of a file do not run, if they do not.
    pub fn idle(&self, place: &ConfigPath, roots: &SearchRoots) -> Option<String> {
        let off = match place.scope {
            Scope::Managed => return self.off.clone().filter(|_| self.managed_off),
            Scope::User => &self.user_off,
            _ => &self.off,
        };
        let ours = || plugin::of(&place.path, roots).is_none();
        let strict = self.plugins_only.as_ref().filter(|_| ours());
        off.as_ref().or(self.managed_only.as_ref()).or(strict).cloned()
    }
}

/// `true`, or a list of what is meant with hooks among it.
fn only_plugins(document: &Document<'_>) -> bool {
    match document.root.get("strictPluginOnlyCustomization").map(Node::to_value) {
        Some(Value::Bool(all)) => all,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "hooks"),
        _ => false,
    }
}
