//! Rules for every dialect. The tests loop over `DIALECTS`, so a new dialect is covered at once.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers_fit_their_schema;
mod matchers_agree_with_javascript;
mod never_panics;
mod samples_parse;
mod table;
