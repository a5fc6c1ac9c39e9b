//! The shared harness: a folder of hooks, and an engine with real shells and a ledger in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gambrel::{Options, TrustMode};
use gambrel_actions::{Settings, ShellAction};
use gambrel_engine::{Engine, load_hooks};
use gambrel_ledger::MemoryLedger;
use gambrel_model::{Action, CallerContext, Decision, Dialect, ReceivedEvent, Reply, SearchRoots};

use crate::toy::answer_action::AnswerAction;

/// Fires one event of a caller at the hooks of a folder.
pub fn fire(
    table: &'static [&'static Dialect],
    folder: &Path,
    from: &str,
    native: &str,
) -> (Decision, Reply) {
    let caller = table.iter().find(|dialect| dialect.name == from).expect("a row of the table");
    let context =
        CallerContext { id: "test".into(), cwd: folder.into(), ..CallerContext::default() };
    let parsed = caller.caller.receive_event(native.as_bytes(), &context).expect("a native event");
    let roots =
        SearchRoots { root: folder.into(), project: folder.into(), ..SearchRoots::default() };
    let shell = ShellAction::new(Settings::default());
    let actions: Vec<&dyn Action> = vec![&shell, &AnswerAction];
    let ledger = MemoryLedger::new();
    let engine = Engine {
        loaded: Arc::new(load_hooks(table, roots, None)),
        actions: &actions,
        ledger: &ledger,
        trust_store: &ledger,
        redact: &|_| (),
        options: Options { trust: TrustMode::All, ..Options::default() },
    };
    let fired = engine.fire(&engine.open_event(ReceivedEvent { parsed, context }));
    (fired.decision, fired.reply)
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

/// An example, which `cargo test` builds beside the tests.
pub fn example_path(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let path = own.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(path.exists(), "{} is missing: build the examples of this crate", path.display());
    path
}
