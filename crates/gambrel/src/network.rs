//! The actions that reach beyond this process over a network, put together with the listener that
//! takes answers in. Compiled only where the program is built with them.

use std::sync::Arc;

use gambrel_actions::{ApprovalChannel, ListenerHandle, WebSettings};
use gambrel_model::{Ledger, Ticket};

use crate::app::ActionParts;
use crate::question_facts::add_question_facts;
use crate::setup::Setup;

/// The settings of the actions that make requests.
pub fn web_settings(parts: &ActionParts) -> WebSettings {
    let approvals = parts.ledger.as_ref().map(|ledger| approval_channel(&parts.setup, ledger));
    WebSettings { settings: parts.settings.clone(), approvals, ..WebSettings::default() }
}

/// Where answers come in while somebody waits for one. Nothing of it is made before somebody waits.
fn approval_channel(setup: &Setup, ledger: &Arc<dyn Ledger>) -> ApprovalChannel {
    let (ours, setup) = (Arc::clone(ledger), setup.clone());
    let on_question = setup.on_question.clone();
    let listen = move |port: u16| {
        let ours = approval_server(&setup, &ours);
        let listening = gambrel_server::listen(&ours, port)?;
        Ok(ListenerHandle { base: listening.base().to_owned(), guard: Box::new(listening) })
    };
    let ours = Arc::clone(ledger);
    let on_wait = move |ticket: &Ticket| {
        if let Some(notice) = &on_question {
            notice.send(ticket, true);
        }
    };
    ApprovalChannel {
        ledger: Arc::clone(ledger),
        listen: Arc::new(listen),
        add_facts: Arc::new(add_question_facts),
        on_wait: Arc::new(on_wait),
        is_served: Arc::new(move || gambrel_server::is_served(&*ours)),
    }
}

/// The same tickets for a page of all of them, if it has a key.
pub fn approval_server(setup: &Setup, ledger: &Arc<dyn Ledger>) -> gambrel_server::ServerConfig {
    gambrel_server::ServerConfig {
        ledger: Arc::clone(ledger),
        key: None,
        ledger_id: ledger.ledger_id(),
        public_url: setup.public_url(),
        activity: None,
    }
}
