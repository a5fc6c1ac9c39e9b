//! `gambrel run`, `resume`, `status`, `runs`, `tail`, `report`, `stop`, `pause` and `say`.

mod args;
mod counts_view;
mod detach;
mod live;
mod output_file;
mod plan_view;
mod progress;
mod report;
mod stall;
mod start;
mod status;
mod tail;
pub mod timelines;

pub use args::{ReportArgs, ResumeArgs, RunArgs, SayArgs, StatusArgs, StopArgs, TailArgs};
pub use report::print_report;
pub use start::{resume, run};
pub use status::{list_runs, pause, say, show_status, stop};
pub use tail::show_output;
