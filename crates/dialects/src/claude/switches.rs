//! Who may switch hooks off: `disableAllHooks` by the precedence of settings, and
//! `allowManagedHooksOnly` of the machine's administrator.

use gambrel_model::{Complaint, Found, Scope};

use crate::document::{Document, Fields};

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
}

impl Switches {
    /// What all files together say.
    pub fn of(files: &[(&Found, Document<'_>)], complaints: &mut Vec<Complaint>) -> Self {
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
                complaints.append(&mut fields.complaints);
            }
        }
        switches
    }

    /// Why hooks of this scope do not run, if they do not.
    pub fn idle(&self, scope: Scope) -> Option<String> {
        match scope {
            Scope::Managed => self.off.clone().filter(|_| self.managed_off),
            Scope::User => self.user_off.clone().or_else(|| self.managed_only.clone()),
            _ => self.off.clone().or_else(|| self.managed_only.clone()),
        }
    }
}
