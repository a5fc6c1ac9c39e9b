//! Laws that every dialect keeps, in a loop over the table: a new one is covered the day it is
//! registered.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers_fit_their_schema;
mod matchers_are_javascripts;
mod never_panics;
mod table;
