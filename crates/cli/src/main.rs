//! The binary `gambrel`: arguments in, one call, an exit code out.

mod ancestors;
mod args;
mod check;
mod commands;
mod deed;
mod demo;
mod desk;
mod doctor;
mod explain;
mod fire;
mod init;
mod install;
mod list;
mod log;
mod look;
mod printer;
mod schema;
mod shells;
mod snippet;
mod stdin;
mod supervise;
mod trail;
mod trust;

fn main() -> std::process::ExitCode {
    gambrel::actions::reset_signals();
    args::run().into()
}
