//! What the ledger promises, one behaviour per file.

#[cfg(test)]
mod amend_is_exclusive;
#[cfg(test)]
mod another_process;
#[cfg(test)]
mod damaged_database_is_set_aside;
#[cfg(test)]
mod every_truncation_is_detected;
#[cfg(test)]
mod firings_are_listed_and_found;
#[cfg(test)]
mod interrupted_after_a_crash;
#[cfg(test)]
mod killed_between_commit_and_removal;
#[cfg(test)]
mod long_spools_are_shown_at_once;
mod memory_keeps_the_same_promises;
#[cfg(test)]
mod nobody_waits_for_ever;
#[cfg(test)]
mod owed_is_kept_until_removed;
#[cfg(test)]
mod private_files;
#[cfg(test)]
mod questions;
#[cfg(test)]
mod readonly_folder_says_so;
#[cfg(test)]
mod reads_state_of_earlier_builds;
#[cfg(test)]
mod redaction_is_complete;
#[cfg(test)]
mod scene;
#[cfg(test)]
mod secrets_never_reach_disk;
#[cfg(test)]
mod session_files_are_forgotten_with_age;
#[cfg(test)]
mod single_bit_flips_are_detected;
#[cfg(test)]
mod spool_is_rotated;
#[cfg(test)]
mod the_same_question_has_the_same_ticket;
#[cfg(test)]
mod tickets_are_forgotten_with_age;
#[cfg(test)]
mod tickets_have_one_answer;
#[cfg(test)]
mod tokens_are_known_only_to_their_bearers;
#[cfg(test)]
mod trust_of_others_is_refused;
#[cfg(test)]
mod writers_lose_nothing;
