//! `allowedHttpHookUrls` and `httpHookAllowedEnvVars`: where requests may go, and which variables
//! may go with them. Lists of the user and the administrator bind everybody; a project's lists
//! bind its own hooks, and widen nothing.

use gambrel_model::{Complaint, LoadedFile, Scope};

use crate::document::{Document, Fields};

/// Every list that was written, with its scope.
#[derive(Default)]
pub struct Fences {
    urls: Vec<(Scope, Vec<String>)>,
    variables: Vec<(Scope, Vec<String>)>,
}

impl Fences {
    /// What all settings files say.
    pub fn of(files: &[(&LoadedFile, Document<'_>)], complaints: &mut Vec<Complaint>) -> Self {
        let mut fences = Self::default();
        for (file, document) in files {
            let mut fields = Fields::of(document, &document.root);
            let scope = file.place.scope;
            fences.urls.extend(fields.texts("allowedHttpHookUrls").map(|list| (scope, list)));
            let variables = fields.texts("httpHookAllowedEnvVars");
            fences.variables.extend(variables.map(|list| (scope, list)));
            complaints.append(&mut fields.complaints);
        }
        fences
    }

    /// Why a hook of a scope may not reach an address, if it may not.
    pub fn refuses(&self, scope: Scope, url: &str) -> Option<String> {
        let passes = |list: &[&String]| list.iter().any(|pattern| fits(pattern, url));
        let open = binding(&self.urls, scope).iter().all(|list| passes(list));
        (!open).then(|| "its `url` is not among allowedHttpHookUrls".to_owned())
    }

    /// Of the variables that a handler asks for, those that it may have.
    pub fn variables(&self, scope: Scope, mut asked: Vec<String>) -> Vec<String> {
        for list in binding(&self.variables, scope) {
            asked.retain(|name| list.contains(&name));
        }
        asked
    }
}

/// The lists that bind a scope: those of the user and the administrator together; and for hooks
/// of the project those of the project.
fn binding(lists: &[(Scope, Vec<String>)], scope: Scope) -> Vec<Vec<&String>> {
    let of = |own: bool| -> Option<Vec<&String>> {
        let mut of_kind = lists.iter().filter(|(at, _)| at.is_own() == own).peekable();
        of_kind.peek()?;
        Some(of_kind.flat_map(|(_, list)| list).collect())
    };
    of(true).into_iter().chain(of(false).filter(|_| !scope.is_own())).collect()
}

/// Whether a pattern fits all of a text; `*` stands for anything.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}
