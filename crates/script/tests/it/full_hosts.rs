//! The programs that modules are given to which need a full host: a test runs in each that is
//! there, and says which is not.

use std::path::{Path, PathBuf};

use gambrel_script::FullHost;

/// Runs a test in node and in bun.
pub fn each(test: impl Fn(&FullHost)) {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/node_modules/.bin");
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let places: Vec<PathBuf> = std::env::split_paths(&paths).chain([tools]).collect();
    for name in ["node", "bun"] {
        match places.iter().map(|place| place.join(name)).find(|path| path.is_file()) {
            Some(path) => test(&FullHost::At(path)),
            None => eprintln!("SKIPPED in {name}: it is not installed"),
        }
    }
}
