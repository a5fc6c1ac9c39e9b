//! The settings that disable hooks: `disableAllHooks` by the precedence of settings files, and the
//! administrator's `allowManagedHooksOnly` and `strictPluginOnlyCustomization`.

use gambrel_document::{Document, DocumentFields, DocumentNode};
use gambrel_model::{Complaint, ConfigPath, LoadedFile, Scope, SearchRoots};
use serde_json::Value;

use super::plugin;

/// Tags of settings files, from the highest to the lowest precedence.
const PRECEDENCE: [&str; 5] = ["managed", "settings", "local", "project", "user"];

/// Which hooks are disabled, and why.
#[derive(Default)]
pub struct KillSwitches {
    /// Why hooks of the project are disabled.
    off: Option<String>,
    /// Why hooks of the user are disabled. A repository cannot disable them.
    user_off: Option<String>,
    managed_off: bool,
    managed_only: Option<String>,
    /// Why all hooks but those of the administrator and of plugins are disabled.
    plugins_only: Option<String>,
}

impl KillSwitches {
    /// Reads the settings of all files.
    pub fn from_settings(
        files: &[(&LoadedFile, Document<'_>)],
        complaints: &mut Vec<Complaint>,
    ) -> Self {
        let mut switches = Self::default();
        let (mut decided, mut user_decided) = (false, false);
        for tag in PRECEDENCE {
            // The last settings file on the command line has the highest precedence.
            for (file, document) in files.iter().rev().filter(|(f, _)| f.place.tag == tag) {
                let path = file.place.path.display();
                let mut fields = DocumentFields::new(document, &document.root);
                if let Some(off) = fields.read_flag("disableAllHooks") {
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
                if tag == "managed" && fields.read_flag("allowManagedHooksOnly") == Some(true) {
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

    /// Why the hooks of a file are disabled, if they are.
    pub fn disabled_reason(&self, place: &ConfigPath, roots: &SearchRoots) -> Option<String> {
        let off = match place.scope {
            Scope::Managed => return self.off.clone().filter(|_| self.managed_off),
            Scope::User => &self.user_off,
            _ => &self.off,
        };
        let ours = || plugin::plugin_of(&place.path, roots).is_none();
        let strict = self.plugins_only.as_ref().filter(|_| ours());
        off.as_ref().or(self.managed_only.as_ref()).or(strict).cloned()
    }
}

/// Whether the value is `true`, or a list that contains `hooks`.
fn only_plugins(document: &Document<'_>) -> bool {
    match document.root.get("strictPluginOnlyCustomization").map(DocumentNode::to_value) {
        Some(Value::Bool(all)) => all,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "hooks"),
        _ => false,
    }
}
