//! The facts of an event, for [`HostEvent::with_facts`](crate::HostEvent::with_facts) and for reading
//! what hooks receive.

pub use gambrel_model::{Facts, TaskFacts, TeamFacts, Tool, ToolKind, ToolResult};
