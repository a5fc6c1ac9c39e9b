//! Text with variables, filled in one pass for its target: shell, JSON, URL or plain text. A value
//! is data: it is quoted for its target and never expanded again. It must not know hooks or
//! dialects.

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

impl Style {
    /// What stands before and after a name.
    fn delimiters(self) -> (&'static str, &'static str) {
        match self {
            Self::Dollar => ("${", "}"),
            Self::Braces => ("{{", "}}"),
        }
    }
}

/// Fills plain text. A name that `lookup` does not know stays as written.
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
