//! `allowedHttpHookUrls` and `httpHookAllowedEnvVars`: the allowed addresses of requests, and the
//! variables that they may contain. Lists of the user and the administrator apply to all hooks.
//! Lists of a project apply to its own hooks, and allow nothing more.

use gambrel_document::{Document, DocumentFields};
use gambrel_model::{Complaint, LoadedFile, Scope};

/// All lists with their scopes.
#[derive(Default)]
pub struct HttpAllowlists {
    urls: Vec<(Scope, Vec<String>)>,
    variables: Vec<(Scope, Vec<String>)>,
}

impl HttpAllowlists {
    /// Reads the lists of all settings files.
    pub fn from_settings(
        files: &[(&LoadedFile, Document<'_>)],
        complaints: &mut Vec<Complaint>,
    ) -> Self {
        let mut fences = Self::default();
        for (file, document) in files {
            let mut fields = DocumentFields::new(document, &document.root);
            let scope = file.place.scope;
            fences.urls.extend(fields.read_texts("allowedHttpHookUrls").map(|list| (scope, list)));
            let variables = fields.read_texts("httpHookAllowedEnvVars");
            fences.variables.extend(variables.map(|list| (scope, list)));
            complaints.append(&mut fields.complaints);
        }
        fences
    }

    /// Why a hook of a scope may not send to an address, if it may not.
    pub fn refusal_reason(&self, scope: Scope, url: &str) -> Option<String> {
        let passes = |list: &[&String]| list.iter().any(|pattern| matches_wildcard(pattern, url));
        let open = lists_for_scope(&self.urls, scope).iter().all(|list| passes(list));
        (!open).then(|| "its `url` is not among allowedHttpHookUrls".to_owned())
    }

    /// The allowed ones of the variables that a handler requests.
    pub fn allowed_variables(&self, scope: Scope, mut asked: Vec<String>) -> Vec<String> {
        for list in lists_for_scope(&self.variables, scope) {
            asked.retain(|name| list.contains(&name));
        }
        asked
    }
}

/// The lists that apply to a scope: one of the user and the administrator together, and for hooks
/// of the project one of the project.
fn lists_for_scope(lists: &[(Scope, Vec<String>)], scope: Scope) -> Vec<Vec<&String>> {
    let of = |own: bool| -> Option<Vec<&String>> {
        let mut of_kind = lists.iter().filter(|(at, _)| at.is_own() == own).peekable();
        of_kind.peek()?;
        Some(of_kind.flat_map(|(_, list)| list).collect())
    };
    of(true).into_iter().chain(of(false).filter(|_| !scope.is_own())).collect()
}

/// Whether a pattern matches a whole text; `*` matches any text.
fn matches_wildcard(pattern: &str, text: &str) -> bool {
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
