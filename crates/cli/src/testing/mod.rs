//! Commands for authors of hooks: `gambrel sample` and `gambrel test`.

mod case_file;
mod case_folder;
mod case_run;
pub mod cases;
mod compare;
mod report;
pub mod sample;
