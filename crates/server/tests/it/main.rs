//! What the server promises, one behaviour per file.

#[cfg(test)]
mod another_process;
#[cfg(test)]
mod answers_come_in_three_forms;
#[cfg(test)]
mod browser;
#[cfg(test)]
mod caller;
#[cfg(test)]
mod foreign_pages_are_refused;
#[cfg(test)]
mod late_answers_are_told_so;
#[cfg(test)]
mod looking_never_acts;
#[cfg(test)]
mod pages_carry_their_guards;
#[cfg(test)]
mod people_answer_in_a_browser;
#[cfg(test)]
mod runs_share_a_port;
#[cfg(test)]
mod scene;
#[cfg(test)]
mod serving_ends_when_told;
mod slow_callers_keep_nobody_waiting;
#[cfg(test)]
mod texts_are_shown_as_text;
#[cfg(test)]
mod the_first_answer_wins;
#[cfg(test)]
mod the_list_follows_the_ledger;
#[cfg(test)]
mod the_list_needs_the_key;
#[cfg(test)]
mod wrong_links_look_alike;
