//! The dialects: pure translation between native and neutral names. Depends on the model only. A
//! dialect is one folder here and one row in `DIALECTS`; `contracts/` states its rules.

pub mod claude;
mod document;
pub mod iteratr;
pub mod neutral;
pub mod omp;
mod payload;
mod preferences;
mod project_env;
pub mod teams;
pub mod unified;

use gambrel_model::Dialect;

pub use preferences::{StartPreferences, start_preferences, trust_files};
pub use project_env::{Assignment, EnvFile, PROJECT_ENV_FILES};

/// Every dialect, in the order in which their hooks run: gates first. The neutral caller has no
/// hooks of its own.
pub static DIALECTS: &[&dyn Dialect] = &[
    &claude::Claude,
    &omp::Omp,
    &teams::Teams,
    &iteratr::Iteratr,
    &unified::Unified,
    &neutral::Neutral,
];
