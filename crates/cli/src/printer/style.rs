//! Colours of text for people. The printer removes them where the output is no terminal or the user
//! wants none.

/// For refusals and failures.
pub const RED: &str = "\x1b[31m";
/// For success.
pub const GREEN: &str = "\x1b[32m";
/// For questions, rewrites and warnings.
pub const YELLOW: &str = "\x1b[33m";
/// For headings.
pub const BOLD: &str = "\x1b[1m";
/// For labels.
pub const DIM: &str = "\x1b[2m";
/// Ends a colour.
pub const RESET: &str = "\x1b[0m";

/// A text in a colour.
pub fn paint(color: &str, text: &str) -> String {
    format!("{color}{text}{RESET}")
}
