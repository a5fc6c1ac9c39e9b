//! Where Claude Code keeps its settings, for commands that edit or read them outside a firing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The folder of settings in a project, and at home.
pub const SETTINGS_DIR: &str = ".claude";
/// The variable that names the user's folder of settings.
pub const CONFIG_DIR_VAR: &str = "CLAUDE_CONFIG_DIR";
/// A folder with one of these is a plugin.
pub const PLUGIN_FILES: [&str; 2] = [".claude-plugin", PLUGIN_HOOKS];
/// The variables by which Claude Code marks its child processes.
pub const AGENT_VARIABLES: [&str; 2] = ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"];

/// The hooks of a plugin, in its folder.
const PLUGIN_HOOKS: &str = "hooks/hooks.json";

/// The user's folder of settings.
pub fn user_settings_dir(env: &BTreeMap<String, String>, home: Option<PathBuf>) -> Option<PathBuf> {
    let named = env.get(CONFIG_DIR_VAR).map(PathBuf::from);
    named.or_else(|| Some(home?.join(SETTINGS_DIR)))
}

/// Settings files that may have the entry that called gambrel.
pub fn entry_files(
    env: &BTreeMap<String, String>,
    home: Option<PathBuf>,
    project: &Path,
) -> Vec<PathBuf> {
    let plugin = env.get("CLAUDE_PLUGIN_ROOT").map(|folder| Path::new(folder).join(PLUGIN_HOOKS));
    let folders = user_settings_dir(env, home).into_iter().chain([project.join(SETTINGS_DIR)]);
    let files = folders
        .flat_map(|folder| [folder.join("settings.json"), folder.join("settings.local.json")]);
    plugin.into_iter().chain(files).collect()
}
