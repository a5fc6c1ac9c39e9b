//! `gambrel trust` and `untrust`: a person looks at a project's hooks, and says which may run.

use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;

use anyhow::{Context, bail};
use gambrel::model::{Hook, TrustEntry};
use gambrel::{Gambrel, Loaded, Trust, TrustMode};
use gambrel_engine::{named_files, now, trust_hash, trust_key};
use serde_json::{Value, json};

use crate::args::{TrustArgs, UntrustArgs, Usage};
use crate::{deed, list, look, printer};

/// Shows, asks, and trusts.
pub fn run(folder: Option<PathBuf>, args: &TrustArgs) -> anyhow::Result<u8> {
    let mut setup = look::setup(folder, None)?;
    setup.options.trust = TrustMode::Store;
    let gambrel = Gambrel::open(setup);
    let loaded = gambrel.load(None);
    let project = of_project(&gambrel, &loaded);
    if args.list || (args.ids.is_empty() && !args.all) {
        show(&project, args.json);
        return Ok(0);
    }
    look::refuse_agents(&gambrel, "trust hooks")?;
    look::refuse_agent_above(&gambrel, "trust hooks")?;
    let chosen = chosen(&project, &args.ids, args.all)?;
    let chosen: Vec<&Hook> =
        chosen.into_iter().filter(|(_, trust)| *trust != Trust::Trusted).map(|(h, _)| h).collect();
    if chosen.is_empty() {
        match args.json {
            true => printer::json(&json!([])),
            false => printer::out("nothing to trust: everything here is trusted already\n"),
        }
        return Ok(0);
    }
    let show = if args.json { printer::err } else { printer::out };
    chosen.iter().for_each(|hook| show(&shown(hook)));
    if !args.yes && !asked(chosen.len())? {
        printer::warn("gambrel trust: nothing was trusted");
        return Ok(1);
    }
    keep(&gambrel, &chosen, false)?;
    match args.json {
        true => printer::json(&chosen.iter().map(|h| list::to_json(h, Trust::Trusted)).collect()),
        false => printer::out(&format!("trusted {} hooks\n", chosen.len())),
    }
    Ok(0)
}

/// Forgets trust, or refuses for good.
pub fn untrust(folder: Option<PathBuf>, args: &UntrustArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::open(look::setup(folder, None)?);
    look::refuse_agents(&gambrel, "switch hooks off")?;
    let loaded = gambrel.load(None);
    let project = of_project(&gambrel, &loaded);
    let chosen: Vec<&Hook> =
        chosen(&project, &args.ids, args.all)?.into_iter().map(|(hook, _)| hook).collect();
    if args.deny {
        keep(&gambrel, &chosen, true)?;
    } else {
        let keys: Vec<String> = chosen.iter().map(|hook| trust_key(hook)).collect();
        gambrel.ledger().amend_trust(&mut |entries| {
            entries.retain(|key, _| !keys.contains(key));
        })?;
    }
    match args.json {
        true => {
            printer::json(&json!({"untrusted": chosen.iter().map(|h| &h.id).collect::<Vec<_>>()}))
        }
        false => printer::out(&format!("{} hooks are not trusted any more\n", chosen.len())),
    }
    Ok(0)
}

/// How many hooks wait for a person to look at them.
pub fn waiting(gambrel: &Gambrel, loaded: &Loaded) -> usize {
    let hooks = of_project(gambrel, loaded).into_iter();
    let waits = |(hook, trust): &(&Hook, Trust)| {
        hook.draft.idle.is_none() && matches!(trust, Trust::Untrusted | Trust::Changed)
    };
    hooks.filter(waits).count()
}

/// A line about them, or nothing.
pub fn waiting_line(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => "1 hook does not run until you trust it: run `gambrel trust`\n".to_owned(),
        _ => format!("{count} hooks do not run until you trust them: run `gambrel trust`\n"),
    }
}

/// The project's own hooks, and how they stand.
fn of_project<'l>(gambrel: &Gambrel, loaded: &'l Loaded) -> Vec<(&'l Hook, Trust)> {
    let standing = list::standing(gambrel, loaded).into_iter();
    standing.filter(|(hook, _)| !hook.draft.source.scope.is_own()).collect()
}

fn chosen<'h>(
    project: &[(&'h Hook, Trust)],
    ids: &[String],
    all: bool,
) -> anyhow::Result<Vec<(&'h Hook, Trust)>> {
    if all {
        return Ok(project.to_vec());
    }
    if ids.is_empty() {
        bail!(Usage("name hooks by id, or say --all: see `gambrel list`".into()));
    }
    let mut chosen = Vec::new();
    for id in ids {
        let fits: Vec<_> = project.iter().filter(|(hook, _)| hook.id.starts_with(id)).collect();
        let exact = fits.iter().find(|(hook, _)| hook.id == *id);
        match (exact, fits.as_slice()) {
            (Some(one), _) | (None, [one]) => chosen.push(**one),
            (None, []) => bail!("no project hook `{id}`: see `gambrel list`"),
            (None, _) => bail!("`{id}` fits {} hooks: write more of it", fits.len()),
        }
    }
    Ok(chosen)
}

/// On a terminal a person is asked; elsewhere only `--yes` will do.
fn asked(count: usize) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!(Usage("trust: there is no terminal to ask on; say --yes if you have looked".into()));
    }
    printer::err(&format!("Let these {count} hooks run as you? [y/N] "));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn keep(gambrel: &Gambrel, hooks: &[&Hook], denied: bool) -> anyhow::Result<()> {
    let at = now();
    let entry =
        |hook: &Hook| TrustEntry { hash: trust_hash(hook), denied, shown: deed::what(hook), at };
    let fresh: Vec<(String, TrustEntry)> =
        hooks.iter().map(|hook| (trust_key(hook), entry(hook))).collect();
    gambrel.ledger().amend_trust(&mut |entries| entries.extend(fresh.clone()))?;
    // It is written, but where others may write it counts for nothing.
    gambrel.ledger().trust().context("what you said does not count")?;
    Ok(())
}

/// Everything that trusting covers: what is done literally, with what, and the files it names.
fn shown(hook: &Hook) -> String {
    let draft = &hook.draft;
    let mut lines = vec![("from", draft.source.place()), ("runs", deed::what(hook))];
    lines.extend(deed::details(hook));
    lines.extend(named_files(hook).iter().map(|file| ("file", file.display().to_string())));
    let mut text =
        format!("{}  {} {}\n", hook.id, hook.dialect.name(), printer::flat(&draft.event));
    for (word, value) in lines {
        // A line break inside a value must not begin a line of ours.
        text += &format!("  {word:<6} {}\n", printer::clean(&value).replace('\n', "\n         "));
    }
    text
}

fn show(project: &[(&Hook, Trust)], as_json: bool) {
    if as_json {
        let hooks = project.iter().map(|(hook, trust)| list::to_json(hook, *trust)).collect();
        return printer::json(&Value::Array(hooks));
    }
    let row = |(hook, trust): &(&Hook, Trust)| {
        vec![
            trust.word().to_owned(),
            hook.id.clone(),
            deed::line(hook, 60),
            hook.draft.source.place(),
        ]
    };
    let rows: Vec<Vec<String>> = project.iter().map(row).collect();
    match rows.is_empty() {
        true => printer::out("this project has no hooks of its own\n"),
        false => printer::out(&printer::table(&["TRUST", "ID", "WHAT", "SOURCE"], &rows)),
    }
}
