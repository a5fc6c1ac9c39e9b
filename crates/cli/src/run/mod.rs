//! `gambrel run`, `resume`, `status`, `runs`, `tail`, `stop`, `pause` and `say`.

mod args;
mod counts_view;
mod detach;
mod live;
mod output_file;
mod plan_view;
mod progress;
mod stall;
mod start;
mod status;
mod tail;

pub use args::{ResumeArgs, RunArgs, SayArgs, StatusArgs, StopArgs, TailArgs};
pub use start::{resume, run};
pub use status::{list_runs, pause, say, show_status, stop};
pub use tail::show_output;
