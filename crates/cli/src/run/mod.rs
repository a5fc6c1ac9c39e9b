//! `gambrel run`, `resume`, `status`, `runs`, `stop`, `pause` and `say`.

mod args;
mod counts_view;
mod plan_view;
mod progress;
mod stall;
mod start;
mod status;

pub use args::{ResumeArgs, RunArgs, SayArgs, StatusArgs, StopArgs};
pub use start::{resume, run};
pub use status::{list_runs, pause, say, show_status, stop};
