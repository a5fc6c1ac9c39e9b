//! Tests through the face: contract cases run scripted and real, and the command line itself.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on stops"
)]
#![expect(clippy::print_stderr, reason = "what a case leaves out is said")]

mod a_byte_order_mark_is_no_part_of_an_event;
mod a_halt_is_never_lost;
mod approval_scene;
mod claude_code;
mod contracts;
mod ground;
mod hostile;
mod killed_at_any_point;
mod large_context_is_kept_whole;
mod mailbox;
mod markdown;
mod messages_are_delivered_once;
mod outside;
mod processes;
mod real_runner;
mod stand_in;

mod a_project_has_no_say_in_the_environment;
mod agents_cannot_answer_for_a_person;
mod an_approval_holds_for_what_was_shown;
mod answers_at_their_limits;
mod answers_in_time;
mod approvals_by_command;
mod approvals_survive;
mod broken_files_close_gates;
mod changed_while_it_ran;
mod check_draws_complaints;
mod check_looks_at_modules;
mod check_notes_change_no_exit_code;
mod check_notes_unknown_events;
mod detached_hooks_are_recorded;
mod example_hooks_work;
mod exit_codes_survive_what_the_host_ignores;
mod help_and_manual;
mod hostile_input_costs_little;
mod hostile_values_change_nothing;
mod install_covers_what_hooks_wait_for;
mod install_keeps_what_is_there;
mod isolated_hooks_leave_nothing;
mod isolation_is_the_users_choice;
mod journal_tells_what_happened;
mod late_newlines_are_read;
mod links_lead_somewhere;
mod list_and_explain;
mod modules_ask_and_command;
mod modules_end_with_us;
mod modules_fetch_by_leave;
mod modules_get_choices_from_a_person;
mod modules_keep_to_their_place;
mod modules_leave_work_that_finishes;
mod modules_show_what_they_print;
mod never_exits_two_by_own_fault;
mod odd_files_cost_nothing_else;
mod readme_commands;
mod real_extension_runner_agrees;
mod real_runner_agrees;
mod reports_hooks_that_did_not_run;
mod schemas_are_served;
mod session_lock;
mod slow_receivers_delay_nobody;
mod success_criteria;
mod the_journal_is_imported_without_a_reader;
mod the_tool_gate_fails_closed;
mod trust_covers_each_command;
mod trust_covers_what_a_hook_runs;
mod trust_holds_in_other_folders;
mod trust_is_by_content;
mod trust_seals_what_modules_read;
mod trust_shows_what_changed;
mod types_compile;
mod unreadable_events_close_tool_gates;
mod verified_exec;
mod what_a_killed_fire_leaves_is_ended;
mod what_detached_hooks_leave_is_ended;
mod what_ends_late_at_a_sessions_end;
mod what_is_shown_is_what_runs;
mod words_and_exit_codes_agree;
mod world_refuses;
