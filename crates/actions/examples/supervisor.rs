//! The smallest program around the action `shell`. It can be re-executed as a watchdog and as a
//! supervisor, and runs one call that it reads as JSON. The tests use it as their host.

use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use gambrel_actions::{
    SUPERVISE_WORD, Settings, ShellAction, SignalPolicy, WATCHDOG_WORD, end_orphans,
    supervise_main, watchdog_main,
};
use gambrel_model::{Action, Call, Job, Outcome};

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let done = match words.next().as_deref() {
        Some(WATCHDOG_WORD) => {
            // Here a leak record is a path: the file gets the number of killed processes.
            watchdog_main(io::stdin(), &mut |leak_record, killed| {
                let _ = fs::write(leak_record, killed.to_string());
            });
            Ok(())
        }
        Some(SUPERVISE_WORD) => read_settings().map(|settings| {
            supervise_main(io::stdin(), &settings, &[], &mut |record, outcome| {
                // Here a record is a path: the file gets the outcome.
                let _ = write_outcome(PathBuf::from(record), outcome);
            });
        }),
        Some("run") => run_call(words.next().map(PathBuf::from), words.next()),
        _ => Err(io::Error::other("expected `run FILE [RECORD]`, and a call on stdin")),
    };
    if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn read_settings() -> io::Result<Settings> {
    let supervisor = match std::env::var_os("ALONE") {
        Some(_) => None,
        None => Some(std::env::current_exe()?),
    };
    let spill_dir = std::env::var_os("SPILL_DIR").map(PathBuf::from);
    let running_file = std::env::var_os("RUNNING_FILE").map(PathBuf::from);
    let kill_with_parent = std::env::var_os("KILL_WITH_PARENT").is_some();
    let isolate = std::env::var_os("ISOLATE").is_some();
    let own =
        Settings { subreaper: true, signals: SignalPolicy::ExitProcess, ..Settings::default() };
    Ok(Settings { supervisor, spill_dir, running_file, kill_with_parent, isolate, ..own })
}

fn run_call(file: Option<PathBuf>, record: Option<String>) -> io::Result<()> {
    let own = read_settings()?;
    if let (Some(running), Some(program)) = (&own.running_file, &own.supervisor) {
        end_orphans(running, program);
    }

    let mut text = String::new();
    match std::env::var_os("CALL_FILE") {
        Some(path) => text = fs::read_to_string(path)?,
        None => io::stdin().read_to_string(&mut text).map(drop)?,
    }

    let call: Call = serde_json::from_str(&text)?;
    let record = || record.clone().unwrap_or_default();
    let job = Job { call: &call, record: Some(&record) };
    for outcome in ShellAction::new(own).run(&[job]) {
        if let Some(file) = &file {
            write_outcome(file.clone(), &outcome)?;
        }
    }
    Ok(())
}

/// Writes a draft and renames it, so that the file is always complete.
fn write_outcome(file: PathBuf, outcome: &Outcome) -> io::Result<()> {
    let draft = file.with_extension("draft");
    fs::write(&draft, serde_json::to_vec(outcome)?)?;
    fs::rename(draft, file)
}
