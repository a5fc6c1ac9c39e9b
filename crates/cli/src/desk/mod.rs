//! Commands for the person who is asked: what waits for an answer, the answer, and the page.

pub mod approvals;
pub mod serve;
