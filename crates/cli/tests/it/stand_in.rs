//! A command that stands in for `gambrel run`: it is found by name, so that folders may have spaces.

use crate::ground::Ground;

/// The same ground, where child pipelines are run by this script. Its arguments are the pipeline,
/// `--session-dir`, the folder, `--inputs` and the file.
pub fn with_children(ground: Ground, script: &str) -> Ground {
    ground.script("../bin/stand-in", script);
    let bin = ground.base.join("bin");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    ground.with("PATH", &path).with("GAMBREL_RUNNER", "stand-in")
}
