//! Modules that need a full host, each in its own bun or node process. Knows lines of JSON, but no
//! engine value and no syntax tree.

mod payload;
mod process;

pub(crate) use process::{Sidecar, find_program};
