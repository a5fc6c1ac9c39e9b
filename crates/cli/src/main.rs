//! The binary `gambrel`: parses arguments, runs one command, returns its exit code. Its entry point
//! is in `args/entry.rs`.
#![cfg_attr(not(test), no_main)]

mod approvals;
mod arena;
mod args;
mod check;
mod commands;
mod completions;
mod demo;
mod doctor;
mod explain;
mod fire;
mod init;
mod install;
mod list;
mod log;
#[cfg(all(target_arch = "x86_64", any(test, target_env = "musl")))]
mod memory_functions;
mod open;
mod printer;
mod run;
mod schema;
mod stdin;
mod supervise;
mod task;
mod team;
mod testing;
mod trust;
