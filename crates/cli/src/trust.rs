//! `gambrel trust` and `untrust`: a person looks at a project's hooks, and says which may run.

mod args;
mod choice;
mod look;
mod worktree;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use gambrel::model::{Hook, TrustEntry};
use gambrel::{Coverage, Gambrel, Loaded, Trust, TrustMode};
use gambrel_engine::{
    CoveredFile, earlier_record, name_in_record, now_ms, trust_key, trust_record,
};
use serde_json::{Value, json};

pub use args::{TrustArgs, UntrustArgs};

use crate::args::Usage;
use crate::{deed, list, look as surroundings, printer};

/// A hook of the project, how it stands, and what it is made of.
pub struct Row<'l> {
    pub hook: &'l Hook,
    pub trust: Trust,
    pub coverage: Coverage,
    /// What would be kept of it now.
    pub record: TrustEntry,
    /// What was kept at the last look.
    pub earlier: Option<&'l TrustEntry>,
    /// Another worktree in which exactly this was trusted.
    pub same_as: Option<PathBuf>,
}

impl Row<'_> {
    /// What is said of a hook that runs more than can be seen.
    pub fn opaque_text(&self) -> Option<String> {
        opaque_text(&self.coverage.opaque)
    }

    /// Its files, each with its name and its hash in the record.
    pub fn files(&self) -> impl Iterator<Item = (&CoveredFile, &String, &String)> {
        let root = Path::new(&self.record.root);
        self.coverage.files.iter().filter_map(move |file| {
            let name = name_in_record(&file.path, root);
            let (name, digest) = self.record.files.get_key_value(&name)?;
            Some((file, name, digest))
        })
    }

    /// Whether a look at it would change anything.
    fn needs_look(&self) -> bool {
        let is_kept = self.earlier.is_some_and(|earlier| earlier.hash == self.record.hash);
        self.trust != Trust::Trusted || !is_kept
    }
}

/// What is said of a hook that runs more than can be seen.
pub fn opaque_text(reasons: &[String]) -> Option<String> {
    (!reasons.is_empty())
        .then(|| format!("runs files that gambrel cannot see: {}", reasons.join("; ")))
}

/// Shows, asks, and trusts.
pub fn run(folder: Option<PathBuf>, args: &TrustArgs) -> anyhow::Result<u8> {
    let mut setup = surroundings::setup(folder, None)?;
    setup.options.trust = TrustMode::Store;
    let gambrel = Gambrel::new(setup);
    let loaded = gambrel.load_hooks(None);
    let entries = gambrel.ledger().trust();
    let kept = entries.as_ref().cloned().unwrap_or_default();
    let rows = rows(&gambrel, &loaded, &kept);
    if args.list || (args.ids.is_empty() && !args.all && !args.reuse) {
        show(&rows, args.json);
        return Ok(0);
    }
    surroundings::refuse_agents(&gambrel, "trust hooks")?;
    surroundings::refuse_agent_above(&gambrel, "trust hooks")?;
    let cwd = &gambrel.setup().cwd;
    let mut chosen = choice::choose(rows, &args.ids, args.all || args.reuse, cwd)?;
    chosen.retain(|row| row.needs_look() && (!args.reuse || row.same_as.is_some()));
    if args.no_opaque {
        leave_out_opaque(&mut chosen);
    }
    if chosen.is_empty() {
        match args.json {
            true => printer::json(&json!([])),
            false => printer::out("nothing to trust: everything here is trusted already\n"),
        }
        return Ok(0);
    }
    let print = if args.json { printer::err } else { printer::out };
    let mut viewer = look::Viewer::new(gambrel.local_ledger());
    chosen.iter().for_each(|row| print(&viewer.view(row)));
    if !args.yes && !ask(&chosen)? {
        printer::warn("gambrel trust: nothing was trusted");
        return Ok(1);
    }
    keep(&gambrel, &chosen, false)?;
    match args.json {
        true => printer::json(&chosen.iter().map(|row| row_json(row, Trust::Trusted)).collect()),
        false => printer::out(&format!("trusted {}\n", hooks(chosen.len()))),
    }
    Ok(0)
}

/// Forgets trust, or refuses for good.
pub fn untrust(folder: Option<PathBuf>, args: &UntrustArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(surroundings::setup(folder, None)?);
    surroundings::refuse_agents(&gambrel, "switch hooks off")?;
    let loaded = gambrel.load_hooks(None);
    let none = BTreeMap::new();
    let rows = rows(&gambrel, &loaded, &none);
    let chosen = choice::choose(rows, &args.ids, args.all, &gambrel.setup().cwd)?;
    if args.deny {
        keep(&gambrel, &chosen, true)?;
    } else {
        let keys: Vec<String> = chosen.iter().map(|row| trust_key(row.hook)).collect();
        gambrel.ledger().update_trust(&mut |entries| {
            entries.retain(|key, _| !keys.contains(key));
        })?;
    }
    match args.json {
        true => {
            let ids: Vec<&String> = chosen.iter().map(|row| &row.hook.id).collect();
            printer::json(&json!({ "untrusted": ids }));
        }
        false => {
            let verb = if chosen.len() == 1 { "is" } else { "are" };
            printer::out(&format!("{} {verb} not trusted any more\n", hooks(chosen.len())));
        }
    }
    Ok(0)
}

fn hooks(count: usize) -> String {
    format!("{count} hook{}", if count == 1 { "" } else { "s" })
}

/// How many hooks wait for a person to look at them.
pub fn waiting(gambrel: &Gambrel, loaded: &Loaded) -> usize {
    let hooks = of_project(gambrel, loaded).into_iter();
    hooks.filter(|(hook, trust)| hook.draft.disabled.is_none() && trust.waits_for_look()).count()
}

/// A line about them, or nothing.
pub fn waiting_line(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => "1 hook does not run until you trust it: run `gambrel trust`\n".to_owned(),
        _ => format!("{count} hooks do not run until you trust them: run `gambrel trust`\n"),
    }
}

/// The project's own hooks, and how they stand. Entries by which a host calls gambrel are none.
fn of_project<'l>(gambrel: &Gambrel, loaded: &'l Loaded) -> Vec<(&'l Hook, Trust)> {
    let standing = list::standing(gambrel, loaded).into_iter();
    standing.filter(|(hook, _)| !hook.draft.source.scope.is_own()).collect()
}

fn rows<'l>(
    gambrel: &Gambrel,
    loaded: &'l Loaded,
    entries: &'l BTreeMap<String, TrustEntry>,
) -> Vec<Row<'l>> {
    let project = of_project(gambrel, loaded);
    let hooks: Vec<&Hook> = project.iter().map(|(hook, _)| *hook).collect();
    let covered = gambrel.coverage(&hooks).into_iter();
    let row = |((hook, trust), coverage): ((&'l Hook, Trust), Coverage)| {
        let record = trust_record(hook, &coverage);
        let earlier = earlier_record(hook, loaded, entries);
        let mut row = Row { hook, trust, coverage, record, earlier, same_as: None };
        if row.trust == Trust::Untrusted {
            row.same_as = worktree::same_elsewhere(&row, entries);
        }
        row
    };
    project.into_iter().zip(covered).map(row).collect()
}

/// `--no-opaque`: says which hooks are left out, and why.
fn leave_out_opaque(chosen: &mut Vec<Row<'_>>) {
    chosen.retain(|row| {
        if let Some(text) = row.opaque_text() {
            printer::warn(&format!("gambrel trust: left out {}: it {text}", row.hook.id));
        }
        row.coverage.opaque.is_empty()
    });
}

/// On a terminal a person is asked; elsewhere only `--yes` will do.
fn ask(chosen: &[Row<'_>]) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!(Usage("trust: there is no terminal to ask on; say --yes if you have looked".into()));
    }
    let same = chosen.iter().all(|row| row.same_as.is_some());
    let what = match chosen.first().and_then(|row| row.same_as.as_ref()).filter(|_| same) {
        Some(other) => format!("as in {}", printer::flat(&other.display().to_string())),
        None => "as you".to_owned(),
    };
    let these = if chosen.len() == 1 { "this" } else { "these" };
    printer::err(&format!("Let {these} {} run {what}? [y/N] ", hooks(chosen.len())));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn keep(gambrel: &Gambrel, chosen: &[Row<'_>], denied: bool) -> anyhow::Result<()> {
    let at = now_ms();
    let entry = |row: &Row<'_>| {
        let shown = deed::what(row.hook);
        (trust_key(row.hook), TrustEntry { denied, shown, at, ..row.record.clone() })
    };
    let fresh: Vec<(String, TrustEntry)> = chosen.iter().map(entry).collect();
    gambrel.ledger().update_trust(&mut |entries| entries.extend(fresh.clone()))?;
    // It is written, but where others may write it counts for nothing.
    let entries = gambrel.ledger().trust().context("what you said does not count")?;
    keep_texts(gambrel, chosen, &entries);
    Ok(())
}

/// Copies of small files, for the next look. Without them only the difference is missing.
fn keep_texts(gambrel: &Gambrel, chosen: &[Row<'_>], entries: &BTreeMap<String, TrustEntry>) {
    let Some(ledger) = gambrel.local_ledger() else { return };
    let in_use: BTreeSet<&str> =
        entries.values().flat_map(|entry| entry.files.values().map(String::as_str)).collect();
    let texts = chosen.iter().flat_map(|row| {
        row.files().filter_map(|(file, _, digest)| Some((digest.as_str(), file.bytes()?)))
    });
    let texts: Vec<(&str, &[u8])> = texts.collect();
    if let Err(error) = ledger.keep_trusted_texts(&texts, &in_use) {
        printer::warn(&format!("gambrel trust: the next look will show no difference: {error}"));
    }
}

fn row_json(row: &Row<'_>, trust: Trust) -> Value {
    list::to_json(row.hook, trust, Some(&row.coverage))
}

fn show(rows: &[Row<'_>], as_json: bool) {
    if as_json {
        let hooks = rows.iter().map(|row| row_json(row, row.trust)).collect();
        return printer::json(&Value::Array(hooks));
    }
    if rows.is_empty() {
        return printer::out("this project has no hooks of its own\n");
    }
    let cells = |(at, row): (usize, &Row<'_>)| {
        vec![
            (at + 1).to_string(),
            row.trust.word().to_owned(),
            row.hook.id.clone(),
            deed::line(row.hook, 60),
            row.hook.draft.source.location(),
        ]
    };
    let table: Vec<Vec<String>> = rows.iter().enumerate().map(cells).collect();
    printer::out(&printer::table(&["NO", "TRUST", "ID", "WHAT", "SOURCE"], &table));
    for row in rows {
        if let Some(why) = row.trust.skip_reason().filter(|_| row.trust == Trust::Outdated) {
            printer::out(&format!("{}: {why}\n", row.hook.id));
        }
        if let Some(text) = row.opaque_text() {
            printer::out(&format!("{} {}\n", row.hook.id, printer::flat(&text)));
        }
    }
    let same = rows.iter().filter(|row| row.same_as.is_some()).count();
    if same > 0 {
        let verb = if same == 1 { "is" } else { "are" };
        printer::out(&format!(
            "{} {verb} the same as in another worktree, where you trusted them: \
             run `gambrel trust --reuse`\n",
            hooks(same)
        ));
    }
}
