//! What people see. Every text is escaped where it is put in; nothing is loaded from elsewhere,
//! and everything works without the script.

mod list;
mod text;
mod ticket;
mod when;

use maud::{DOCTYPE, Markup, html};

pub(crate) use list::{entries, list};
pub(crate) use ticket::{answered, expired, question};

/// The one style sheet.
pub(crate) const STYLE: &str = include_str!("style.css");
/// Counts down and keeps the list up to date.
pub(crate) const SCRIPT: &str = include_str!("app.js");

/// A page that only says something.
pub(crate) fn notice(title: &str, what: &str, help: &str) -> Markup {
    let body = html! {
        div.card {
            h1 { (title) }
            p { (words(what)) }
            @if !help.is_empty() { p.quiet { (words(help)) } }
        }
    };
    frame(title, &body)
}

/// Around every page.
fn frame(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="robots" content="noindex";
                title { (title) " · gambrel" }
                link rel="stylesheet" href="/style.css";
                script src="/app.js" defer {}
            }
            body {
                header { span.roof aria-hidden="true" {} "gambrel" }
                main { (body) }
            }
        }
    }
}

/// Our own words; what stands between backquotes is a command.
fn words(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}
