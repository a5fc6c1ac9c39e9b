//! Reads the files of a run: text in, a plan and complaints with spans out. `check` uses it too.

pub mod find;
pub mod guardrails;
pub mod kind;
pub mod pipeline;
pub mod schema;
pub mod stage;
pub mod termination;
