//! The files that a hook is made of, worked out from its definition when a person looks at it. It
//! reads files and starts nothing. Where a text does not show what runs, it says so.

mod collector;
mod definition;
mod expand;
mod glob;
mod interpreter;
mod javascript;
mod literals;
mod makefile;
mod package;
mod parse;
mod program;
mod python;
mod script;
mod shell;
mod state;
mod substitution;
mod value;
mod word;
mod wrapper;

pub use collector::{Coverage, CoveredFile};
pub use definition::Surroundings;
pub(crate) use definition::work_out;
pub(crate) use glob::expand_glob;
