//! Real processes, one behaviour a file.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod a_detached_hook_outlives_its_caller;
#[cfg(feature = "http")]
mod a_question_waits_for_its_answer;
mod a_start_ends_what_a_killed_one_left;
mod answers_before_the_budget_ends;
mod answers_while_a_background_child_holds_the_pipe;
mod caps_a_gigabyte_of_output;
mod direct_and_shell_agree;
mod ends_a_hook_that_stops_itself;
mod ends_hooks_before_itself_on_a_signal;
#[cfg(feature = "http")]
mod fetches_go_the_same_way_out;
mod gives_no_controlling_terminal;
mod goes_on_when_calls_are_interrupted;
mod ignores_unread_stdin;
mod isolated_hooks_run_as_others_do;
mod keeps_bytes_that_are_not_utf8;
mod kills_a_child_that_left_its_session;
mod kills_grandchildren_on_timeout;
mod leaves_a_hook_that_asks_for_it;
mod leftovers_may_finish_but_not_past_the_timeout;
#[cfg(feature = "mcp")]
mod mcp_calls_a_tool_of_a_process;
#[cfg(feature = "mcp")]
mod mcp_calls_a_tool_over_http;
mod never_forks;
mod passes_no_inherited_descriptors;
mod reads_a_megabyte_before_it_is_read;
#[cfg(feature = "http")]
mod receiver;
mod resets_signals_and_sets_the_environment;
mod retries_until_it_succeeds;
mod runs_a_hook_that_deletes_its_own_folder;
mod runs_in_the_shell_that_was_asked_for;
mod runs_sixty_four_at_once;
mod says_that_exit_codes_are_lost;
mod says_why_it_could_not_start;
mod spills_nothing_that_is_veiled;
mod stand;
mod survives_a_hook_that_ignores_term;
mod survives_the_rest_of_the_zoo;
mod the_kernel_ends_the_process_in_time;
mod the_watchdog_kills_after_kill_nine;
#[cfg(feature = "http")]
mod two_hundred_slow_receivers_hold_up_nobody;
mod waits_for_a_program_that_is_being_written;
#[cfg(feature = "http")]
mod webhook_caps_a_gigabyte_of_answer;
#[cfg(feature = "http")]
mod webhook_ends_a_slow_exchange_in_time;
#[cfg(feature = "http")]
mod webhook_follows_no_redirect;
#[cfg(feature = "http")]
mod webhook_refuses_the_inside;
#[cfg(feature = "http")]
mod webhook_retries_what_may_pass;
#[cfg(feature = "http")]
mod webhook_sends_what_was_asked;
#[cfg(feature = "http")]
mod webhook_signs_its_messages;
#[cfg(feature = "http")]
mod webhook_trusts_no_stranger;
mod writes_side_files_before_the_start;
