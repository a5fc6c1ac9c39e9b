//! `gambrel run`, `resume`, `status`, `runs` and `stop`.

mod args;
mod plan_view;
mod progress;
mod start;
mod status;

pub use args::{ResumeArgs, RunArgs, StatusArgs, StopArgs};
pub use start::{resume, run};
pub use status::{list_runs, show_status, stop};
