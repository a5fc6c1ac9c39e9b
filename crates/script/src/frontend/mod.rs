//! Reads TypeScript and JavaScript before it runs: finds the files of a module, compiles them and
//! collects their needs. Knows the names of Node's builtins, but no engine, call or process.

mod api_escape;
mod data_modules;
mod graph;
pub mod module_text;
mod namespaces;
pub mod resolve;
mod scan;
mod source_map;
mod transpile;

pub use graph::module_imports;
pub(crate) use graph::{Graph, LoadError};
pub(crate) use transpile::{CompiledUnit, SourcePoint};
