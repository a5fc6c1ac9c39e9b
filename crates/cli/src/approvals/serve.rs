//! `gambrel serve`: serves the approvals page and callback links until a signal ends it.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use gambrel::Gambrel;
use serde_json::json;

use crate::{open, printer};

/// Arguments of `serve`.
#[derive(Debug, Args)]
#[command(
    after_help = "The printed address has a key. Anyone with this address can answer every open question.
Each callback link opens the same page with one question."
)]
pub struct ServeArgs {
    /// Listen on this local port, or on the next free one.
    #[arg(long, default_value_t = 8765)]
    pub port: u16,
    /// Print the address as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Serves until a signal arrives.
pub fn run(folder: Option<PathBuf>, args: &ServeArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(open::build_setup(folder, None)?);
    open::refuse_agents(&gambrel, "open the approvals page")?;
    let Some(mut server_config) = gambrel.approval_server() else {
        bail!("nothing is remembered here: set HOME or GAMBREL_STATE_DIR");
    };

    let key = gambrel::fresh_key()?;
    server_config.key = Some(key.clone());

    let as_json = args.json;
    let signal = gambrel::server::serve(server_config, args.port, &mut |base| {
        let url = format!("{base}/?key={key}");
        match as_json {
            true => printer::print_json(&json!({"url": url, "base": base})),
            false => {
                printer::print(&format!("{url}\n"));
                printer::warn("gambrel: open this address in a browser; Ctrl-C stops the server");
            }
        }
    })?;
    Ok(128 + signal)
}
