//! Text with variables in it, filled once for the place where it goes: a shell, JSON, a URL, plain.
//! A value is data: it is quoted for its place and never read again. Knows no hook and no dialect.

mod context;
mod heredoc;
mod json;
mod scan;
mod shell;
mod url;
mod words;

pub use json::expand_json;
pub use scan::variable_names;
pub use shell::{ShellText, expand_shell};
pub use url::expand_url;

/// How a variable is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Style {
    /// `${NAME}`
    Dollar,
    /// `{{name}}`
    Braces,
}

/// Fills a text that no one parses; a name that `lookup` does not know stays as written.
pub fn expand_plain(text: &str, style: Style, lookup: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in scan::split_template(text, style) {
        match piece.name.and_then(lookup) {
            Some(value) => out.push_str(&value),
            None => out.push_str(piece.text),
        }
    }
    out
}
