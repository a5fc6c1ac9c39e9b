//! The actions that reach beyond this process over a network, put together with the listener that
//! takes answers in. Compiled only where the program is built with them.

use std::sync::Arc;

use gambrel_actions::{ApprovalChannel, ListenerHandle, Settings, WebSettings, WebhookAction};
use gambrel_model::{Action, Ledger};

/// The row of requests.
pub fn build_webhook_action(
    settings: Settings,
    ledger: Option<&Arc<dyn Ledger>>,
) -> Box<dyn Action> {
    Box::new(WebhookAction::new(web_settings(settings, ledger)))
}

/// The row of tools.
#[cfg(feature = "mcp")]
pub fn build_tool_action(settings: Settings, ledger: Option<&Arc<dyn Ledger>>) -> Box<dyn Action> {
    Box::new(gambrel_actions::McpAction::new(web_settings(settings, ledger)))
}

fn web_settings(settings: Settings, ledger: Option<&Arc<dyn Ledger>>) -> WebSettings {
    let approvals = ledger.map(approval_channel);
    WebSettings { settings, approvals, ..WebSettings::default() }
}

/// Where answers come in while somebody waits for one.
fn approval_channel(ledger: &Arc<dyn Ledger>) -> ApprovalChannel {
    let ours = Arc::clone(ledger);
    // Nothing of it is made before somebody waits.
    let listen = move |port: u16| {
        let ours = approval_server(&ours);
        let listening = gambrel_server::listen(&ours, port)?;
        Ok(ListenerHandle { base: listening.base().to_owned(), guard: Box::new(listening) })
    };
    ApprovalChannel { ledger: Arc::clone(ledger), listen: Arc::new(listen) }
}

/// The same tickets for a page of all of them, if it has a key.
pub fn approval_server(ledger: &Arc<dyn Ledger>) -> gambrel_server::ServerConfig {
    gambrel_server::ServerConfig {
        ledger: Arc::clone(ledger),
        key: None,
        ledger_id: ledger.ledger_id(),
    }
}
