//! Tests with real processes, one behaviour per file.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod answers_before_the_budget_ends;
mod answers_while_a_background_child_holds_the_pipe;
mod bypassed_shell_behaves_like_the_shell;
mod caps_a_gigabyte_of_output;
mod detached_hooks_outlive_the_caller;
mod ends_hooks_before_itself_on_a_signal;
#[cfg(feature = "http")]
mod fetches_are_checked_like_webhooks;
mod gives_no_controlling_terminal;
mod hands_off_hooks_that_ask_for_it;
mod hook_fixture;
#[cfg(feature = "http")]
mod http_receiver;
mod ignores_unread_stdin;
mod isolated_hooks_behave_like_others;
mod keeps_bytes_that_are_not_utf8;
mod kernel_timer_ends_the_process;
mod kills_a_child_that_left_its_session;
mod kills_a_stopped_hook;
mod kills_grandchildren_on_timeout;
mod kills_hooks_that_ignore_term;
mod kills_leftovers_at_the_timeout;
#[cfg(feature = "mcp")]
mod mcp_calls_a_tool_of_a_process;
#[cfg(feature = "mcp")]
mod mcp_calls_a_tool_over_http;
mod never_forks;
mod passes_no_inherited_descriptors;
mod reads_output_while_writing_stdin;
mod redacts_spill_files;
mod reports_lost_exit_codes;
mod reports_why_a_start_failed;
mod resets_signals_and_sets_the_environment;
mod retries_a_program_open_for_writing;
mod retries_interrupted_system_calls;
mod retries_until_it_succeeds;
mod runs_a_hook_that_deletes_its_directory;
mod runs_batches_concurrently;
mod runs_in_the_requested_shell;
#[cfg(feature = "http")]
mod slow_receivers_do_not_delay_others;
mod survives_hostile_hooks;
mod sweeps_orphans_of_killed_processes;
mod tees_stdout_to_a_file;
mod watchdog_kills_hooks_of_a_killed_host;
#[cfg(feature = "http")]
mod webhook_caps_the_response;
#[cfg(feature = "http")]
mod webhook_follows_no_redirect;
#[cfg(feature = "http")]
mod webhook_questions_wait_for_answers;
#[cfg(feature = "http")]
mod webhook_refuses_private_addresses;
#[cfg(feature = "http")]
mod webhook_retries_transient_failures;
#[cfg(feature = "http")]
mod webhook_sends_the_request;
#[cfg(feature = "http")]
mod webhook_signs_its_messages;
#[cfg(feature = "http")]
mod webhook_times_out_slow_exchanges;
#[cfg(feature = "http")]
mod webhook_verifies_certificates;
mod writes_side_files_before_the_start;
