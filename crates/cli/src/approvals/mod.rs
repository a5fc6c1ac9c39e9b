//! Commands for approvals: list open questions, answer one, serve the page.

pub mod serve;
pub mod tickets;
