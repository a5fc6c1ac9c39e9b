//! Tests of the module action through its public API, one file for each behaviour.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::print_stderr, reason = "skipped tests are reported")]

mod full_hosts;
mod module_dir;
mod node_oracle;

mod abandons_hung_handlers;
mod abandons_uninterruptible_loops;
mod chdir_affects_the_call_only;
mod compiles_typescript;
mod defines_path_names;
mod detects_missing_apis;
mod dialogs_pause_the_clock;
mod dispatches_extension_events;
mod dispatches_hook_events;
mod fetches_with_permission;
mod file_access_never_blocks;
mod ignores_unknown_api_members;
mod imports_computed_names;
mod imports_relative_files;
mod kills_programs;
mod limits_memory_of_deep_nesting;
mod loads_commonjs;
mod locates_errors;
mod matches_node;
mod offers_exec_path;
mod programs_inherit_open_files;
mod programs_outlive_successful_calls;
mod records_console_output;
mod records_effects;
mod reloads_edited_modules;
mod replaces_lone_surrogates;
mod runs_contract_examples;
mod runs_handlers_from_other_files;
mod runs_modules_in_a_sidecar;
mod runs_pi_exec;
mod signals_processes;
mod stubs_host_packages;
mod supports_require;
mod survives_any_source_text;
mod survives_bad_code;
mod warns_about_unknown_keys;
