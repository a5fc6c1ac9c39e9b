//! Tests of the server, one behaviour per file.

#[cfg(test)]
mod accepts_json_forms_and_link_actions;
#[cfg(test)]
mod answers_in_a_browser;
#[cfg(test)]
mod answers_under_a_public_address;
#[cfg(test)]
mod approval_page_layout;
#[cfg(test)]
mod browser;
#[cfg(test)]
mod escapes_foreign_texts;
#[cfg(test)]
mod first_answer_wins;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod get_requests_never_answer;
#[cfg(test)]
mod http_client;
#[cfg(test)]
mod list_follows_the_ledger;
#[cfg(test)]
mod list_requires_the_key;
#[cfg(test)]
mod processes_share_a_port;
#[cfg(test)]
mod refuses_foreign_pages;
#[cfg(test)]
mod rejects_late_answers;
#[cfg(test)]
mod serve_ends_on_signals;
#[cfg(test)]
mod serve_keeps_links;
#[cfg(test)]
mod sets_security_headers;
#[cfg(test)]
mod slow_clients_do_not_block_others;
#[cfg(test)]
mod test_process;
#[cfg(test)]
mod wrong_links_look_alike;
