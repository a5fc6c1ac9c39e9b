//! `gambrel serve`: the page of open approvals, and callbacks, for as long as a person wants it.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use gambrel::Gambrel;
use serde_json::json;

use crate::{look, printer};

/// `serve`.
#[derive(Debug, Args)]
#[command(
    after_help = "The address that is printed carries a key: whoever has it can answer every open question.
Callback links that were sent out lead to the same page, one question each."
)]
pub struct ServeArgs {
    /// The port on this machine; the next free one is taken where it is not free.
    #[arg(long, default_value_t = 8765)]
    pub port: u16,
    /// The address as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Serves until it is told to end.
pub fn run(folder: Option<PathBuf>, args: &ServeArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(look::setup(folder, None)?);
    look::refuse_agents(&gambrel, "open the approvals page")?;
    let Some(mut desk) = gambrel.approval_server() else {
        bail!("nothing is remembered here: set HOME or GAMBREL_STATE_DIR");
    };
    let key = gambrel::fresh_key()?;
    desk.key = Some(key.clone());
    let as_json = args.json;
    let signal = gambrel::server::serve(desk, args.port, &mut |base| {
        let url = format!("{base}/?key={key}");
        match as_json {
            true => printer::json(&json!({"url": url, "base": base})),
            false => {
                printer::out(&format!("{url}\n"));
                printer::warn("gambrel: open that address in a browser; Ctrl-C ends it");
            }
        }
    })?;
    Ok(128 + signal)
}
