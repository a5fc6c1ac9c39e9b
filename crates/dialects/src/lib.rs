//! The dialects: pure translation between native and neutral names. Depends on the model and the
//! document tree only. A dialect is one folder here and one row in `DIALECTS`; `contracts/` states
//! its rules.

pub mod claude;
mod event_parts;
pub mod iteratr;
pub mod neutral;
pub mod omp;
mod preferences;
mod project_env;
pub mod run;
mod sample;
pub mod teams;
pub mod unified;

use gambrel_model::{Dialect, DialectProperties};

pub use preferences::{StartPreferences, public_url, start_preferences, trust_files};
pub use project_env::{Assignment, EnvFile, PROJECT_ENV_FILES};
pub use sample::sample_event;

/// Properties of every dialect with hooks. Hooks of each may run inside Claude Code, which sets these
/// variables.
const HOOK_PROPERTIES: DialectProperties = DialectProperties {
    project_dir_vars: &["CLAUDE_PROJECT_DIR"],
    path_vars: &["CLAUDE_PLUGIN_ROOT"],
    ..DialectProperties::DEFAULT
};

/// Every dialect, in the order in which their hooks run. The last two have no hooks.
pub static DIALECTS: &[&Dialect] = &[
    &claude::CLAUDE,
    &omp::OMP,
    &teams::TEAMS,
    &iteratr::ITERATR,
    &unified::UNIFIED,
    &neutral::NEUTRAL,
    &run::RUN,
];
