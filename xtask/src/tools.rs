//! Packages that some tests compare with: a TypeScript compiler, bun, and the product whose hooks
//! contract 004 describes. They lie under `target/tools`, wherever cargo builds.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;

use crate::{machine, shell};

/// Exact versions: a comparison with something that moves is none.
const PACKAGES: &[&str] = &["typescript@7.0.2", "bun@1.4.4", "@oh-my-pi/pi-coding-agent@18.2.3"];
/// What goes untested without them.
const WITHOUT: &str = "types for module authors, and agreement with the real hook runner";

/// Makes the packages be there; in CI their absence is an error, on a laptop a visible remark.
pub fn prepare() -> anyhow::Result<()> {
    let Err(error) = install() else { return Ok(()) };
    if std::env::var_os("CI").is_some() {
        return Err(error.context("CI leaves nothing untested"));
    }
    eprintln!("not tested here: {WITHOUT} ({error:#})");
    Ok(())
}

fn install() -> anyhow::Result<()> {
    let folder = folder();
    let (stamp, wanted) = (folder.join("stamp"), PACKAGES.join("\n"));
    if fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(());
    }
    machine::find("npm").context("npm is not on PATH")?;
    fs::create_dir_all(&folder)?;
    // Without a manifest of its own npm would look for one in the folders above.
    fs::write(folder.join("package.json"), "{\"private\": true}\n")?;
    let place = folder.display().to_string();
    let mut args = vec!["install", "--prefix", &place];
    args.extend(["--no-audit", "--no-fund", "--no-save", "--fetch-timeout=60000"]);
    args.extend(PACKAGES);
    shell::run("npm", &args)?;
    // Its program comes by a script that npm may be told not to run.
    let bun = folder.join("node_modules/.bin/bun").display().to_string();
    shell::read(&bun, &["--version"])?;
    // The last thing written: an interrupted installation is begun again.
    fs::write(&stamp, wanted).with_context(|| stamp.display().to_string())
}

fn folder() -> PathBuf {
    shell::root().join("target/tools")
}
