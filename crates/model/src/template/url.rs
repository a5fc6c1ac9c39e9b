//! Fills a URL. A value cannot add a separator, a host or a path step; only a URL that begins with
//! a variable takes that one as it is, for there the author says that the value is an address.

use super::Style;
use super::scan::{TemplatePiece, split_template};
use crate::text::{UNRESERVED, percent_encode};

/// Fills a URL: a leading variable as it is, every other value percent-encoded.
pub fn expand_url(text: &str, style: Style, lookup: &dyn Fn(&str) -> Option<String>) -> String {
    let pieces = split_template(text, style);
    let mut out = String::with_capacity(text.len());
    let mut in_path = true;
    for (index, piece) in pieces.iter().enumerate() {
        let Some(value) = piece.name.and_then(lookup) else {
            in_path &= !piece.text.contains(['?', '#']);
            out.push_str(piece.text);
            continue;
        };
        if index == 0 && is_address(pieces.get(1)) {
            out.push_str(&value);
        } else if in_path && value.bytes().all(|b| b == b'.') {
            // `..` needs no reserved character, and encoded once it is still a step up.
            out.push_str(&"%252E".repeat(value.len()));
        } else {
            out.push_str(&percent_encode(value.as_bytes(), UNRESERVED));
        }
    }
    out
}

/// Whether what follows a leading variable lets it be a whole scheme and host.
fn is_address(next: Option<&TemplatePiece<'_>>) -> bool {
    match next {
        None => true,
        Some(TemplatePiece { name: Some(_), .. }) => true,
        Some(piece) => piece.text.starts_with(['/', '?', '#']),
    }
}
