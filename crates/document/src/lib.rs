//! A configuration file as a tree in which every node has its source span. The tree is the same
//! for YAML and JSON. No I/O, no hooks and no dialect: of the model it uses only complaints, spans
//! and the repair of JSON text.

mod fields;
mod jsonc;
mod jsonc_tokens;
mod line_index;
mod node;
pub mod schema;
mod yaml;

pub use fields::{DocumentFields, read_yaml_map};
pub use node::{Document, DocumentLanguage, DocumentNode, MapEntry, NodeContent};
