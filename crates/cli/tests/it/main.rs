//! Integration tests: contract cases, scripted and real, and the command line.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
#![expect(clippy::print_stderr, reason = "tests report what they skip")]

mod acp_agent;
mod acp_fixture;
mod approval_fixture;
mod byte_order_mark;
mod claude_code;
mod contracts;
mod crash_points;
mod equal_messages;
mod external_tools;
mod fake_runner;
mod halt_durability;
mod hostile_values;
mod http_server;
mod large_context;
mod markdown;
mod mcp_client;
mod mcp_server;
mod message_delivery;
mod processes;
mod runner_comparison;
mod task_board;
mod team_contract_version;
mod team_interoperation;
mod team_leader;
mod test_project;

mod agent_detection;
mod approval_recovery;
mod approval_scope;
mod approve_command;
mod broken_environment;
mod broken_hook_files;
mod changed_while_running;
mod check_complaints;
mod check_modules;
mod check_notes;
mod check_unknown_events;
mod command_exit_codes;
mod detached_hook_cleanup;
mod detached_hooks;
mod document_links;
mod example_hooks;
mod exit_codes;
mod extension_runner_comparison;
mod help_and_manual;
mod hook_runner_comparison;
mod hook_timeouts;
mod hostile_input;
mod inherited_signals;
mod install_events;
mod install_mcp_server;
mod install_settings;
mod isolation_cleanup;
mod isolation_settings;
mod journal;
mod journal_import;
mod killed_fire_cleanup;
mod list_and_explain;
mod mcp_official_client;
mod module_background_programs;
mod module_boundaries;
mod module_commands;
mod module_fetch;
mod module_output;
mod module_process_cleanup;
mod module_questions;
mod module_types;
mod odd_config_files;
mod oversized_answers;
mod project_environment;
mod readme_commands;
mod run_acp_agents;
mod run_acp_permissions;
mod run_acp_sessions;
mod run_acp_tasks;
mod run_acp_trouble;
mod run_caller;
mod run_children;
mod run_fixture;
mod run_iteratr;
mod run_kill;
mod run_loop;
mod run_permissions;
mod run_resume;
mod run_sessions;
mod run_spec;
mod run_trouble;
mod run_trust;
mod run_watchdog;
mod schemas;
mod session_end_leftovers;
mod session_lock;
mod skipped_hook_reports;
mod slow_receivers;
mod stdin_newline;
mod success_criteria;
mod tool_gate_entry;
mod trust_command_table;
mod trust_content;
mod trust_display;
mod trust_modules;
mod trust_preview;
mod trust_scripts;
mod trust_working_directory;
mod unreadable_events;
mod value_injection;
mod verified_exec;
