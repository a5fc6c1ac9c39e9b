//! The hidden commands that this program starts itself with: a watchdog that kills what a killed
//! firing leaves behind, a supervisor for hooks that nobody waits for, and the journal's import.

use std::time::Duration;

use gambrel::{DIALECTS, Gambrel, Setup};
use gambrel_engine::{DetachedHook, LeakRecord, record_detached_outcome};

/// Killed in the middle an import loses nothing; the next one begins anew.
const IMPORT_TIMEOUT: Duration = Duration::from_secs(600);

/// The surroundings of this process, without what the project's own files put into them.
fn own_setup() -> Setup {
    let mut setup = Setup::from_env();
    // Who started us has refused what is to be refused.
    let _refused = setup.check_environment();
    setup
}

/// Kills what is still watched once its starter has gone, and what hooks left running too long.
pub fn watchdog() -> anyhow::Result<u8> {
    // Before it leaves the folder that a relative path in its environment is about.
    let setup = own_setup();
    gambrel::actions::watchdog_main(std::io::stdin(), &mut |slip, killed| {
        if let Ok(slip) = serde_json::from_str::<LeakRecord>(slip) {
            let gambrel = Gambrel::new(setup.clone());
            // As with a supervisor, nobody is left to be told.
            let _unrecorded = slip.write_record(gambrel.ledger(), killed);
        }
    });
    Ok(0)
}

/// Runs one call to its end, and records it.
pub fn supervise() -> anyhow::Result<u8> {
    let setup = Setup {
        is_own_process: true,
        kill_with_parent: true,
        // What the hook leaves running is ended by a watchdog.
        supervisor: std::env::current_exe().ok(),
        ..own_setup()
    };
    let gambrel = Gambrel::new(setup);
    let settings = gambrel.build_settings();
    let actions = gambrel.actions();
    let input = std::io::stdin().lock();
    gambrel::actions::supervise_main(input, &settings, &actions, &mut |errand, outcome| {
        if let Ok(errand) = serde_json::from_str::<DetachedHook>(errand) {
            // Nobody is left to be told of a failure to record; the journal's reader sees a
            // firing without its end.
            let _unrecorded = record_detached_outcome(DIALECTS, gambrel.ledger(), errand, outcome);
        }
    });
    Ok(0)
}

/// Imports the journal. Nobody waits; what there is to tell is kept for who reads it next.
pub fn import() -> anyhow::Result<u8> {
    gambrel::actions::end_process_after(IMPORT_TIMEOUT);
    if let Some(ledger) = Gambrel::new(own_setup()).local_ledger() {
        ledger.import()?;
    }
    Ok(0)
}
