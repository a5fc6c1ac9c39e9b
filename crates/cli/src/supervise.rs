//! Hidden commands that gambrel runs on itself: the watchdog, which kills hook processes of a
//! killed firing, the supervisor of detached hooks, and the import of the journal.

use std::time::Duration;

use gambrel::{DIALECTS, Gambrel, Setup};
use gambrel_actions::SignalPolicy;
use gambrel_engine::{DetachedHook, LeakRecord, record_detached_outcome};

/// Time limit of an import. A killed import loses nothing: the next one starts again.
const IMPORT_TIMEOUT: Duration = Duration::from_secs(600);

/// The environment of this process, without variables that project files set.
fn own_setup() -> Setup {
    let mut setup = Setup::from_env();
    // The process that started this one has already reported refusals.
    let _refused = setup.check_environment();
    setup
}

/// Kills watched processes when the firing is gone, and leftover processes that run too long.
pub fn run_watchdog() -> anyhow::Result<u8> {
    // Read before the watchdog changes its folder: environment variables may have relative paths.
    let setup = own_setup();
    gambrel_actions::watchdog_main(std::io::stdin(), &mut |record, killed| {
        if let Ok(record) = serde_json::from_str::<LeakRecord>(record) {
            let gambrel = Gambrel::new(setup.clone());
            // No process is left that could report an error.
            let _unrecorded = record.write_record(gambrel.ledger(), killed);
        }
    });
    Ok(0)
}

/// Runs one detached call and records its outcome.
pub fn run_supervisor() -> anyhow::Result<u8> {
    let setup = Setup {
        is_own_process: true,
        signals: SignalPolicy::ExitProcess,
        kill_with_parent: true,
        // A watchdog kills processes that the hook leaves running.
        supervisor: std::env::current_exe().ok(),
        ..own_setup()
    };
    let gambrel = Gambrel::new(setup);
    let settings = gambrel.build_settings();
    let actions = gambrel.actions();
    let input = std::io::stdin().lock();
    gambrel_actions::supervise_main(input, &settings, &actions, &mut |detached, outcome| {
        if let Ok(detached) = serde_json::from_str::<DetachedHook>(detached) {
            // No process is left that could report an error. The journal then shows a firing
            // without this outcome.
            let _unrecorded =
                record_detached_outcome(DIALECTS, gambrel.ledger(), detached, outcome);
        }
    });
    Ok(0)
}

/// Imports the spool into the journal in the background. The ledger keeps notices for the next
/// reader.
pub fn import_journal() -> anyhow::Result<u8> {
    gambrel_actions::end_process_after(IMPORT_TIMEOUT);
    if let Some(ledger) = Gambrel::new(own_setup()).durable_ledger() {
        ledger.import_unattended()?;
    }
    Ok(0)
}
