//! A configuration file as a tree in which every node knows its place, whatever it was written
//! in. Dialects read their drafts off it; it knows none of their words.

mod fields;
mod jsonc;
mod node;
mod yaml;

pub use fields::Fields;
pub use node::{Content, Document, Language, Node};
