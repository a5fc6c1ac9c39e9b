//! Tests of the ledger, one behaviour per file.

#[cfg(test)]
mod concurrent_writers_lose_nothing;
#[cfg(test)]
mod crashed_firings_are_interrupted;
#[cfg(test)]
mod damaged_database_is_set_aside;
#[cfg(test)]
mod equal_questions_share_a_ticket;
#[cfg(test)]
mod every_truncation_is_detected;
#[cfg(test)]
mod firings_are_listed_and_found;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod killed_imports_lose_nothing;
#[cfg(test)]
mod ledger_contract;
#[cfg(test)]
mod local_ledger_survives_kills;
#[cfg(test)]
mod lock_waits_are_bounded;
#[cfg(test)]
mod long_spools_are_listed_before_import;
#[cfg(test)]
mod old_sessions_are_removed;
#[cfg(test)]
mod old_tickets_are_removed;
#[cfg(test)]
mod private_files;
#[cfg(test)]
mod reads_state_of_earlier_builds;
#[cfg(test)]
mod redaction_is_complete;
#[cfg(test)]
mod secrets_never_reach_disk;
#[cfg(test)]
mod shared_trust_files_are_refused;
#[cfg(test)]
mod single_bit_flips_are_detected;
#[cfg(test)]
mod spool_is_rotated;
#[cfg(test)]
mod team_files_are_shared;
#[cfg(test)]
mod test_process;
#[cfg(test)]
mod test_tickets;
#[cfg(test)]
mod ticket_tokens_are_secret;
#[cfg(test)]
mod tickets_have_one_answer;
#[cfg(test)]
mod undelivered_is_kept_until_removed;
#[cfg(test)]
mod unusable_folders_are_errors;
#[cfg(test)]
mod updates_are_exclusive;
