//! Laws of the model: the algebra of verdicts, conditions, templates, tools.

mod algebra;
mod condition;
mod degrade;
mod pattern;
mod template;
mod template_size;
mod tools;
