//! Shows in the parent's `state.json` that the parent waits for a child. The file is a view that the
//! parent writes again after its next step; the parent itself does nothing while it waits.

use std::fs;
use std::io::Result;
use std::path::{Path, PathBuf};

use gambrel_model::iso_time;
use serde_json::{Value, json};

/// The pause of a parent. It ends when this is dropped.
pub(crate) struct ParentPause {
    path: PathBuf,
    before: Vec<u8>,
}

impl ParentPause {
    /// Marks a running parent as paused. Returns nothing if `run_folder` has no running parent.
    pub fn begin(run_folder: &Path, child: &Path, now_ms: u64) -> Option<Self> {
        let path = run_folder.join("state.json");
        let before = fs::read(&path).ok()?;
        let mut state: Value = serde_json::from_slice(&before).ok()?;
        if state["status"] != "running" {
            return None;
        }
        state["status"] = json!("paused");
        state["paused_at"] = json!(iso_time(now_ms, false));
        state["child_session"] = json!(child.display().to_string());
        let mut bytes = serde_json::to_vec_pretty(&state).ok()?;
        bytes.push(b'\n');
        replace_file(&path, &bytes).ok()?;
        Some(Self { path, before })
    }
}

impl Drop for ParentPause {
    fn drop(&mut self) {
        // The parent writes the file again in any case.
        let _ = replace_file(&self.path, &self.before);
    }
}

fn replace_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = path.with_extension("json.pause");
    fs::write(&temporary, bytes)?;
    fs::rename(&temporary, path)
}
