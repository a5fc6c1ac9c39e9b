//! The module action from outside: one file for each behaviour.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::print_stderr, reason = "what is left out is said")]

mod full_hosts;
mod stand;
mod twin;

mod answers_whatever_the_text_is;
mod asks_and_the_clock_stands_still;
mod asks_guards_from_elsewhere;
mod calls_handlers_as_extensions_do;
mod calls_handlers_as_the_contract_says;
mod changes_its_own_folder_only;
mod comes_back_from_the_engines_own_loops;
mod console_output_is_recorded;
mod fetches_by_leave;
mod gives_open_files_to_programs;
mod gives_the_rest_to_a_sidecar;
mod gives_up_one_handler_and_hears_the_others;
mod imports_by_names_put_together;
mod knows_its_file_and_folder;
mod leaves_what_was_begun;
mod loads_again_after_an_edit;
mod mends_half_characters;
mod node_agrees;
mod node_files_never_wait;
mod node_programs_end;
mod notices_what_is_missing;
mod pulls_in_relative_files;
mod reads_deep_texts;
mod records_what_a_module_wants_done;
mod requires_what_it_needs;
mod runs_programs_for_a_module;
mod runs_the_examples_of_the_contract;
mod says_where_a_module_failed;
mod signals_processes_and_groups;
mod stands_in_for_packages;
mod starts_a_host_by_exec_path;
mod survives_bad_code;
mod takes_what_module_exports_gives;
mod understands_typescript;
mod unknown_members_of_the_api_do_nothing;
mod warns_of_keys_that_nobody_reads;
