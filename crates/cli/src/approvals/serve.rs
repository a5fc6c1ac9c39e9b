//! `gambrel serve`: serves the approvals page and callback links until a signal ends it.

use std::net::IpAddr;
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use gambrel_model::PublicUrl;
#[cfg(feature = "http")]
use {
    crate::args::UsageError,
    crate::log::summarize_event,
    crate::run::timelines::{self, RunLister},
    crate::{open, printer},
    gambrel::Gambrel,
    gambrel_model::ledger::RecordedFiring,
    gambrel_server::{ActivitySource, ServeAddress, ServedAddress},
    serde_json::json,
    std::sync::Arc,
};

/// Arguments of `serve`.
#[derive(Debug, Args)]
#[command(
    after_help = "The printed address has a key. Anyone with this address can answer every open question.
Each callback link opens a page with one question. The server listens on this machine only.

For a phone, lead a tunnel or a reverse proxy with TLS to the port, and name its address:
  gambrel serve --public-url https://hooks.example.com
Under that address only the links of single questions answer. `public_url` in
~/.config/gambrel/config.yaml makes every link begin with it. docs/approvals.md has examples."
)]
pub struct ServeArgs {
    /// Listen on this local port, or on the next free one.
    #[arg(long, default_value_t = 8765)]
    pub port: u16,
    /// Begin links with this address [default: `public_url` in config.yaml, else this machine].
    #[arg(long, value_name = "URL", value_parser = PublicUrl::parse)]
    pub public_url: Option<PublicUrl>,
    /// Listen also on this address of the machine, for links only and without TLS.
    #[arg(long, value_name = "ADDRESS")]
    pub bind: Option<IpAddr>,
    /// Print the addresses as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Serves until a signal arrives.
#[cfg(not(feature = "http"))]
pub fn run(_: Option<PathBuf>, _: &ServeArgs) -> anyhow::Result<u8> {
    bail!("this build of gambrel has no server")
}

/// Serves until a signal arrives.
#[cfg(feature = "http")]
pub fn run(folder: Option<PathBuf>, args: &ServeArgs) -> anyhow::Result<u8> {
    let mut setup = open::build_setup(folder, None)?;
    setup.public_url.clone_from(&args.public_url);
    let gambrel = Arc::new(Gambrel::new(setup));
    open::refuse_agents(&gambrel, "open the approvals page")?;
    let Some(mut server_config) = gambrel.approval_server() else {
        bail!("nothing is remembered here: set HOME or GAMBREL_STATE_DIR");
    };
    if args.bind.is_some_and(|address| address.is_unspecified())
        && server_config.public_url.is_none()
    {
        let text = "--bind with every address needs the one for links: name it with --public-url";
        bail!(UsageError(text.to_owned()));
    }

    let key = gambrel::fresh_key()?;
    server_config.key = Some(key.clone());
    server_config.activity = Some(activity_source(&gambrel));

    let address = ServeAddress { port: args.port, bind: args.bind };
    let signal = gambrel_server::serve(server_config, address, &mut |served| {
        print_served(served, &key, args.json);
    })?;
    Ok(128 + signal)
}

/// The runs of the folder in which the server was started.
#[cfg(feature = "http")]
fn activity_source(gambrel: &Arc<Gambrel>) -> ActivitySource {
    let (listed, reader) = (Arc::clone(gambrel), Arc::clone(gambrel));
    let lister = RunLister::default();
    ActivitySource {
        list_runs: Arc::new(move || lister.list(&listed)),
        read_run: Arc::new(move |session| {
            timelines::read_timeline(&reader, session).ok().flatten()
        }),
        name_product: timelines::name_product,
        summarize: |firing| {
            let summary = summarize_event(&RecordedFiring::new(firing));
            summary.map(|summary| summary.text).unwrap_or_default()
        },
    }
}

#[cfg(feature = "http")]
fn print_served(served: &ServedAddress, key: &str, as_json: bool) {
    let base = &served.base;
    let url = format!("{base}/?key={key}");
    if as_json {
        printer::print_json(&json!({"url": url, "base": base, "public_url": served.public}));
        return;
    }
    printer::print(&format!("{url}\n"));
    printer::warn("gambrel: open this address in a browser; Ctrl-C stops the server");
    if let Some(public) = &served.public {
        printer::warn(&format!("gambrel: links of questions begin with {public}/callback/"));
    }
}
