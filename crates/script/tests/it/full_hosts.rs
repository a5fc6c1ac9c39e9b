//! Runs a test in each installed full host and reports the missing ones.

use std::path::{Path, PathBuf};

use gambrel_script::FullHost;

/// Runs a test in node and in bun.
pub fn run_in_each_host(test: impl Fn(&FullHost)) {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/node_modules/.bin");
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let dirs: Vec<PathBuf> = std::env::split_paths(&paths).chain([tools]).collect();
    for name in ["node", "bun"] {
        match dirs.iter().map(|dir| dir.join(name)).find(|path| path.is_file()) {
            Some(path) => test(&FullHost::At(path)),
            None => eprintln!("SKIPPED in {name}: it is not installed"),
        }
    }
}
