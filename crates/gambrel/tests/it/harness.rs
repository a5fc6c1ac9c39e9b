//! The shared harness: a folder of hooks, and an engine with real shells and a ledger in memory.

use std::path::Path;
use std::sync::Arc;

use gambrel::actions::{Settings, ShellAction};
use gambrel::ledger::MemoryLedger;
use gambrel::model::{Action, CallerContext, Decision, Dialect, Reply, SearchRoots};
use gambrel::{Options, TrustMode};
use gambrel_engine::{Engine, load_hooks};

/// Fires one event of a caller at the hooks of a folder.
pub fn fire(
    table: &'static [&'static Dialect],
    folder: &Path,
    from: &str,
    native: &str,
) -> (Decision, Reply) {
    let caller = table.iter().find(|dialect| dialect.name == from).expect("a row of the table");
    let arrival =
        CallerContext { id: "test".into(), cwd: folder.into(), ..CallerContext::default() };
    let mut event = caller.receive_event(native.as_bytes(), arrival).expect("a native event");
    let roots =
        SearchRoots { root: folder.into(), project: folder.into(), ..SearchRoots::default() };
    let shell = ShellAction::new(Settings::default());
    let actions: Vec<&dyn Action> = vec![&shell];
    let ledger = MemoryLedger::new();
    let engine = Engine {
        loaded: Arc::new(load_hooks(table, roots, None)),
        actions: &actions,
        ledger: &ledger,
        options: Options { trust: TrustMode::All, ..Options::default() },
    };
    let decision = engine.fire(&mut event);
    let reply = caller.caller.write_reply(&event, &decision);
    (decision, reply)
}

/// A folder with these files.
pub fn folder_with_files(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, text).expect("a file");
    }
    folder
}
