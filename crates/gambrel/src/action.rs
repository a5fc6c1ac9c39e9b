//! How calls of hooks run. A host may put an action of its own in place of a built-in one: for
//! example `shell` in a container, or `spawn` with its own scheduler. See
//! [`Gambrel::with_action`](crate::Gambrel::with_action) and `examples/custom_action.rs`.

pub use gambrel_model::{Action, Call, Captured, End, Job, Limits, Outcome, Program, Shell};
