//! The HTML pages. Every text is escaped, nothing is loaded from elsewhere, and everything works
//! without the script.

mod answer_form;
mod assets;
mod diff;
mod list;
mod text;
mod ticket;
mod when;

use maud::{DOCTYPE, Markup, html};

pub(crate) use assets::content_policy;
pub(crate) use list::{history_page, list_entries, list_page};
pub(crate) use ticket::{answered_page, expired_page, question_page};

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
                (assets::style_element())
            }
            body {
                header { span.roof aria-hidden="true" {} "gambrel" }
                main { (body) }
                (assets::script_element())
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
