//! The two hidden commands that this program starts itself with: a watchdog that kills what a
//! killed firing leaves behind, and a supervisor for hooks that nobody waits for.

use gambrel::{DIALECTS, Gambrel, Setup};
use gambrel_engine::{Errand, Slip, attend};

/// Kills what is still watched once its starter has gone, and what hooks left running too long.
pub fn watchdog() -> anyhow::Result<u8> {
    // Before it leaves the folder that a relative path in its environment is about.
    let setup = Setup::of_process();
    gambrel::actions::watchdog_main(std::io::stdin(), &mut |slip, killed| {
        if let Ok(slip) = serde_json::from_str::<Slip>(slip) {
            let gambrel = Gambrel::open(setup.clone());
            // As with a supervisor, nobody is left to be told.
            let _unrecorded = slip.record(gambrel.ledger(), killed);
        }
    });
    Ok(0)
}

/// Runs one call to its end, and records it.
pub fn supervise() -> anyhow::Result<u8> {
    let setup = Setup { adopts_orphans: true, ..Setup::of_process() };
    let gambrel = Gambrel::open(setup);
    let settings = gambrel.settings();
    let actions = gambrel.actions();
    let input = std::io::stdin().lock();
    gambrel::actions::supervise_main(input, &settings, &actions, &mut |errand, outcome| {
        if let Ok(errand) = serde_json::from_str::<Errand>(errand) {
            // Nobody is left to be told of a failure to record; the journal's reader sees a
            // firing without its end.
            let _unrecorded = attend(DIALECTS, gambrel.ledger(), errand, outcome);
        }
    });
    Ok(0)
}
