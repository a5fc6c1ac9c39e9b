//! Shows a hook before it runs, in the words of its dialect.

use std::path::Path;

use gambrel_model::{Hook, SourceSpan};

use crate::printer;

/// The summary on one short line, after the hook's name.
pub fn summary_line(hook: &Hook, width: usize) -> String {
    let what = hook.describe().summary;
    // The name of a module is that of its file.
    let is_file = |name: &str| what == name || what.ends_with(&format!("/{name}"));
    match &hook.draft.name {
        Some(name) if !is_file(name) => printer::truncate_line(&format!("{name}: {what}"), width),
        _ => printer::truncate_line(&what, width),
    }
}

/// A place as short as it can be: relative to the project, or to the home of the user.
pub fn place_of(spot: &SourceSpan, project: &Path, home: Option<&Path>) -> String {
    let path = spot.path.as_path();
    let in_home = || Some(Path::new("~").join(path.strip_prefix(home?).ok()?));
    let shown = match path.strip_prefix(project) {
        Ok(inside) => inside.to_owned(),
        Err(_) => in_home().unwrap_or_else(|| path.to_owned()),
    };
    match spot.line {
        0 => shown.display().to_string(),
        line => format!("{}:{line}", shown.display()),
    }
}
