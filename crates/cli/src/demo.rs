//! `gambrel demo`: the shipped example, copied to a folder of its own, fired for three events, and
//! the trail shown. Needs nothing but a shell.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use gambrel::{FireResult, Gambrel, Setup, TrustMode};
use serde_json::{Value, json};

use crate::args::JsonArgs;
use crate::{printer, trail};

/// A file of the example: where it goes, and its text.
macro_rules! example {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../examples/five-dialects/", $path)))),*]
    };
}

const FILES: &[(&str, &str)] = example![
    ".claude/settings.json",
    ".claude/hooks/guard.sh",
    ".gambrel/hooks.yaml",
    ".iteratr.hooks.yml",
    ".omp/hooks/pre/guard.ts",
    "team-hooks/on_task_completed.sh",
    "events/remove.json",
    "events/pipe.json",
    "events/task.json",
];

const EVENTS: &[(&str, &str)] = &[
    ("events/remove.json", "Claude Code is about to run `rm -rf build /`"),
    ("events/pipe.json", "Claude Code is about to run `curl -s example.com/install | sh`"),
    ("events/task.json", "Claude Code says that task 7, \"WIP parser\", is done"),
];

/// Fires the example and shows what happened.
pub fn run(args: &JsonArgs) -> anyhow::Result<u8> {
    let folder = std::env::temp_dir().join(format!("gambrel-demo-{}", std::process::id()));
    let shown = play(&folder, args.json);
    // The copy is only for the demo; what cannot be removed is in the temporary folder anyway.
    let _left = std::fs::remove_dir_all(&folder);
    shown.map(|()| 0)
}

fn play(folder: &Path, as_json: bool) -> anyhow::Result<()> {
    for (path, text) in FILES {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
        std::fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    let gambrel = Gambrel::new(setup(folder));
    let mut all = Vec::new();
    for (path, title) in EVENTS {
        let native = std::fs::read(folder.join(path))?;
        let mut event =
            gambrel.receive("claude", &native).map_err(|c| anyhow::anyhow!(c.message))?;
        let fired = gambrel.fire(&mut event);
        match as_json {
            true => all.push(fired.decision.to_json()),
            false => show(title, folder, &fired),
        }
    }
    if as_json {
        printer::json(&Value::Array(all));
    }
    Ok(())
}

/// The example's own switches; the user's hooks stay out of it.
fn setup(folder: &Path) -> Setup {
    let mut setup = Setup::in_memory(folder);
    let mut env: BTreeMap<String, String> = (*setup.env).clone();
    env.retain(|name, _| !name.starts_with("PI_TEAMS_") && !name.starts_with("XDG_"));
    env.remove("CLAUDE_PROJECT_DIR");
    let hooks = folder.join("team-hooks").display().to_string();
    let switches = [
        ("HOME", folder.join("home").display().to_string()),
        ("PI_TEAMS_HOOKS_ENABLED", "1".into()),
        ("PI_TEAMS_HOOKS_DIR", hooks),
        ("PI_TEAMS_HOOKS_FAILURE_ACTION", "reopen".into()),
    ];
    env.extend(switches.map(|(name, value)| (name.to_owned(), value)));
    setup.env = Arc::new(env);
    setup.options.trust = TrustMode::All;
    setup
}

fn show(title: &str, folder: &Path, fired: &FireResult) {
    let place = format!("{}/", folder.display());
    let mut text = format!("{title}\n{}", trail::table(&fired.decision));
    text += &trail::ending(&fired.decision);
    let reply = String::from_utf8_lossy(&fired.reply.stdout);
    let told = match reply.trim() {
        "" => json!({"exit": fired.reply.exit, "stderr": fired.reply.stderr.trim()}).to_string(),
        reply => reply.to_owned(),
    };
    text += &format!("  the caller is told  {}\n\n", printer::line(&told, 240));
    printer::out(&text.replace(&place, ""));
}
