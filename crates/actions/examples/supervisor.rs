//! The smallest program around the action `shell`: it can be re-executed as a watchdog and as a
//! supervisor, and runs one call that it reads as JSON. The tests use it as their host.

use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use gambrel_actions::{
    SUPERVISE_WORD, Settings, ShellAction, WATCHDOG_WORD, end_orphans, supervise_main,
    watchdog_main,
};
use gambrel_model::{Action, Call, Job, Outcome};

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let done = match words.next().as_deref() {
        Some(WATCHDOG_WORD) => {
            // A slip is a path here, too: it gets the number.
            watchdog_main(io::stdin(), &mut |slip, killed| {
                let _ = fs::write(slip, killed.to_string());
            });
            Ok(())
        }
        Some(SUPERVISE_WORD) => settings().map(|settings| {
            supervise_main(io::stdin(), &settings, &[], &mut |errand, outcome| {
                // An errand is a path here: where the outcome is wanted.
                let _ = write(PathBuf::from(errand), outcome);
            });
        }),
        Some("run") => run(words.next().map(PathBuf::from), words.next()),
        _ => Err(io::Error::other("expected run FILE [ERRAND], and a call on stdin")),
    };
    if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn settings() -> io::Result<Settings> {
    let supervisor = match std::env::var_os("ALONE") {
        Some(_) => None,
        None => Some(std::env::current_exe()?),
    };
    let spill_dir = std::env::var_os("SPILL_DIR").map(PathBuf::from);
    let running_file = std::env::var_os("RUNNING_FILE").map(PathBuf::from);
    let kill_with_parent = std::env::var_os("KILL_WITH_PARENT").is_some();
    let isolate = std::env::var_os("ISOLATE").is_some();
    let own = Settings { subreaper: true, heeds_signals: true, ..Settings::default() };
    Ok(Settings { supervisor, spill_dir, running_file, kill_with_parent, isolate, ..own })
}

fn run(file: Option<PathBuf>, errand: Option<String>) -> io::Result<()> {
    let own = settings()?;
    if let (Some(running), Some(program)) = (&own.running_file, &own.supervisor) {
        end_orphans(running, program);
    }
    let mut text = String::new();
    match std::env::var_os("CALL_FILE") {
        Some(path) => text = fs::read_to_string(path)?,
        None => io::stdin().read_to_string(&mut text).map(drop)?,
    }
    let call: Call = serde_json::from_str(&text)?;
    let errand = || errand.clone().unwrap_or_default();
    let job = Job { call: &call, record: Some(&errand) };
    for outcome in ShellAction::new(own).run(&[job]) {
        if let Some(file) = &file {
            write(file.clone(), &outcome)?;
        }
    }
    Ok(())
}

/// Under its name it is always whole.
fn write(file: PathBuf, outcome: &Outcome) -> io::Result<()> {
    let draft = file.with_extension("draft");
    fs::write(&draft, serde_json::to_vec(outcome)?)?;
    fs::rename(draft, file)
}
