//! The binary `gambrel`: parses arguments, runs one command, returns its exit code.

// Only with glibc are the arguments known without Rust's own entry.
#![cfg_attr(all(target_env = "gnu", not(test)), no_main)]

mod approvals;
mod args;
mod check;
mod commands;
mod completions;
mod demo;
mod describe;
mod doctor;
#[cfg(all(target_env = "gnu", not(test)))]
mod entry;
mod explain;
mod fire;
mod init;
mod install;
mod list;
mod log;
mod open;
mod printer;
mod run;
mod schema;
mod stdin;
mod supervise;
mod task;
mod trust;

/// Rust's own entry.
#[cfg(not(all(target_env = "gnu", not(test))))]
fn main() -> std::process::ExitCode {
    run_program().into()
}

fn run_program() -> u8 {
    gambrel::actions::reset_signals();
    args::run()
}
