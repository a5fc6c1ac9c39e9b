//! The HTML pages. Every text is escaped, nothing is loaded from elsewhere, and everything works
//! without the script.

mod list;
mod text;
mod ticket;
mod when;

use maud::{DOCTYPE, Markup, html};

pub(crate) use list::{list_entries, list_page};
pub(crate) use ticket::{answered_page, expired_page, question_page};

/// The one style sheet.
pub(crate) const STYLE: &str = include_str!("style.css");
/// The script: counts down and keeps the list up to date.
pub(crate) const SCRIPT: &str = include_str!("app.js");

/// A page with a message only.
pub(crate) fn notice_page(title: &str, what: &str, help: &str) -> Markup {
    let body = html! {
        div.card {
            h1 { (title) }
            p { (format_message(what)) }
            @if !help.is_empty() { p.quiet { (format_message(help)) } }
        }
    };
    page_frame(title, &body)
}

/// The frame of every page.
fn page_frame(title: &str, body: &Markup) -> Markup {
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

/// Formats a message; text between backquotes becomes code.
fn format_message(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}
