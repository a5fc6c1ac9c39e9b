//! `gambrel trust` and `untrust`: the user reviews project hooks and decides which may run.

mod args;
mod choice;
mod review;
mod worktree;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use gambrel::{Coverage, Gambrel, Loaded, Trust, TrustMode};
use gambrel_engine::{
    CoveredFile, earlier_record, name_in_record, now_ms, trust_key, trust_record,
};
use gambrel_model::{Hook, TrustEntries, TrustEntry};
use serde_json::{Value, json};

pub use args::{TrustArgs, UntrustArgs};

use crate::args::UsageError;
use crate::list::{self, describe};
use crate::{open as surroundings, printer};

/// A project hook, its trust and its files.
pub struct TrustRow<'l> {
    pub hook: &'l Hook,
    pub trust: Trust,
    pub coverage: Coverage,
    /// The record that `trust` would store now.
    pub record: TrustEntry,
    /// The record of the last review.
    pub earlier: Option<&'l TrustEntry>,
    /// Another worktree in which an identical hook is trusted.
    pub identical_in: Option<PathBuf>,
}

impl TrustRow<'_> {
    /// The warning for a hook that runs files gambrel cannot see.
    pub fn opaque_text(&self) -> Option<String> {
        opaque_text(&self.coverage.opaque)
    }

    /// The hook's files, each with its name and hash in the record.
    pub fn recorded_files(&self) -> impl Iterator<Item = (&CoveredFile, &String, &String)> {
        let root = Path::new(&self.record.root);
        self.coverage.files.iter().filter_map(move |file| {
            let name = name_in_record(&file.path, root);
            let (name, digest) = self.record.files.get_key_value(&name)?;
            Some((file, name, digest))
        })
    }

    /// Whether trusting it would change the store.
    fn needs_review(&self) -> bool {
        let is_kept = self.earlier.is_some_and(|earlier| earlier.hash == self.record.hash);
        self.trust != Trust::Trusted || !is_kept
    }
}

/// The warning for a hook that runs files gambrel cannot see.
pub fn opaque_text(reasons: &[String]) -> Option<String> {
    (!reasons.is_empty())
        .then(|| format!("runs files that gambrel cannot see: {}", reasons.join("; ")))
}

/// Shows hooks, asks the user and records trust.
pub fn run(folder: Option<PathBuf>, args: &TrustArgs) -> anyhow::Result<u8> {
    let mut setup = surroundings::build_setup(folder, None)?;
    setup.options.trust = TrustMode::Store;
    let gambrel = Gambrel::new(setup);
    let loaded = gambrel.load_hooks_with(None, &plan_files(&gambrel, &args.ids));
    let entries = gambrel.trust_store().trust_entries();
    let kept = entries.as_ref().cloned().unwrap_or_default();

    let rows = project_rows(&gambrel, &loaded, &kept);
    if args.list || (args.ids.is_empty() && !args.all && !args.reuse) {
        print_rows(&rows, args.json);
        return Ok(0);
    }

    surroundings::refuse_agents(&gambrel, "trust hooks")?;
    surroundings::refuse_agent_above(&gambrel, "trust hooks")?;
    let cwd = &gambrel.setup().cwd;
    let mut chosen = choice::select_hooks(rows, &args.ids, args.all || args.reuse, cwd)?;
    chosen.retain(|row| row.needs_review() && (!args.reuse || row.identical_in.is_some()));

    if args.no_opaque {
        skip_opaque(&mut chosen);
    }

    if chosen.is_empty() {
        match args.json {
            true => printer::print_json(&json!([])),
            false => printer::print("nothing to trust: everything here is trusted already\n"),
        }
        return Ok(0);
    }

    let print = if args.json { printer::print_stderr } else { printer::print };
    let mut viewer = review::HookReview::new(&gambrel);
    chosen.iter().for_each(|row| print(&viewer.describe_hook(row)));
    if !args.yes && !confirm_trust(&chosen)? {
        printer::warn("gambrel trust: nothing was trusted");
        return Ok(1);
    }

    store_trust(&gambrel, &chosen, false)?;

    match args.json {
        true => {
            printer::print_json(&chosen.iter().map(|row| row_json(row, Trust::Trusted)).collect())
        }
        false => printer::print(&format!("trusted {}\n", hook_count(chosen.len()))),
    }
    Ok(0)
}

/// The plans that names lead to, and the files of other plans that the arguments name. Files of
/// hooks load by themselves.
fn plan_files(gambrel: &Gambrel, named: &[String]) -> Vec<(String, PathBuf)> {
    let mut sources = gambrel.named_plan_sources();
    let loaded = gambrel.load_hooks(None);
    let is_known = |path: &Path| {
        let mut hooks = loaded.hooks.iter();
        hooks.any(|hook| hook.draft.source.spot.path == path)
            || sources.iter().any(|(_, known)| known == path)
    };
    let is_plan = |path: &PathBuf| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        path.is_file() && matches!(ending, None | Some("yaml" | "yml")) && !is_known(path)
    };
    let paths = named.iter().map(|name| gambrel.setup().cwd.join(name));
    let more: Vec<PathBuf> = paths.filter(is_plan).collect();
    sources.extend(more.into_iter().map(|path| ("project-stage".to_owned(), path)));
    sources
}

/// Asks the user on a terminal to trust what these files contain. `false` without a terminal, and
/// where nothing was trusted.
pub fn ask_trust(gambrel: &Gambrel, sources: &[(String, PathBuf)]) -> anyhow::Result<bool> {
    let is_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if !is_terminal || surroundings::refuse_agents(gambrel, "trust hooks").is_err() {
        return Ok(false);
    }
    let loaded = gambrel.load_hooks_with(None, sources);
    let entries = gambrel.trust_store().trust_entries().unwrap_or_default();
    let mut chosen = project_rows(gambrel, &loaded, &entries);
    let is_source = |path: &Path| sources.iter().any(|(_, source)| source == path);
    chosen.retain(|row| {
        row.needs_review()
            && row.trust != Trust::Denied
            && is_source(&row.hook.draft.source.spot.path)
    });
    if chosen.is_empty() {
        return Ok(false);
    }
    let mut viewer = review::HookReview::new(gambrel);
    chosen.iter().for_each(|row| printer::print_stderr(&viewer.describe_hook(row)));
    if !confirm_trust(&chosen)? {
        return Ok(false);
    }
    store_trust(gambrel, &chosen, false)?;
    Ok(true)
}

/// Removes trust, or denies hooks permanently.
pub fn untrust(folder: Option<PathBuf>, args: &UntrustArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(surroundings::build_setup(folder, None)?);
    surroundings::refuse_agents(&gambrel, "switch hooks off")?;
    surroundings::refuse_agent_above(&gambrel, "switch hooks off")?;

    let loaded = gambrel.load_hooks_with(None, &plan_files(&gambrel, &args.ids));
    let none = BTreeMap::new();
    let rows = project_rows(&gambrel, &loaded, &none);
    let chosen = choice::select_hooks(rows, &args.ids, args.all, &gambrel.setup().cwd)?;

    if args.deny {
        store_trust(&gambrel, &chosen, true)?;
    } else {
        let keys: Vec<String> = chosen.iter().map(|row| trust_key(row.hook)).collect();
        gambrel.trust_store().update_trust(&mut |entries| {
            entries.retain(|key, _| !keys.contains(key));
        })?;
    }
    match args.json {
        true => {
            let ids: Vec<&String> = chosen.iter().map(|row| &row.hook.id).collect();
            printer::print_json(&json!({ "untrusted": ids }));
        }
        false => {
            let verb = if chosen.len() == 1 { "is" } else { "are" };
            printer::print(&format!("{} {verb} not trusted any more\n", hook_count(chosen.len())));
        }
    }
    Ok(0)
}

fn hook_count(count: usize) -> String {
    format!("{count} hook{}", if count == 1 { "" } else { "s" })
}

/// How many hooks wait for review.
pub fn count_waiting(gambrel: &Gambrel, loaded: &Loaded) -> usize {
    let hooks = project_hooks(gambrel, loaded).into_iter();
    hooks.filter(|(hook, trust)| hook.draft.disabled.is_none() && trust.waits_for_look()).count()
}

/// A line about waiting hooks; empty if there are none.
pub fn waiting_line(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => "1 hook does not run until you trust it: run `gambrel trust`\n".to_owned(),
        _ => format!("{count} hooks do not run until you trust them: run `gambrel trust`\n"),
    }
}

/// Hooks of the project with their trust, without the entries by which an agent calls gambrel.
fn project_hooks<'l>(gambrel: &Gambrel, loaded: &'l Loaded) -> Vec<(&'l Hook, Trust)> {
    let states = list::trust_states(gambrel, loaded).into_iter();
    states.filter(|(hook, _)| !hook.draft.source.scope.is_own()).collect()
}

fn project_rows<'l>(
    gambrel: &Gambrel,
    loaded: &'l Loaded,
    entries: &'l TrustEntries,
) -> Vec<TrustRow<'l>> {
    let project = project_hooks(gambrel, loaded);
    let hooks: Vec<&Hook> = project.iter().map(|(hook, _)| *hook).collect();
    let covered = gambrel.find_coverage(&hooks).into_iter();

    let row = |((hook, trust), coverage): ((&'l Hook, Trust), Coverage)| {
        let record = trust_record(hook, &coverage);
        let earlier = earlier_record(hook, loaded, entries);
        let mut row = TrustRow { hook, trust, coverage, record, earlier, identical_in: None };
        if row.trust == Trust::Untrusted {
            row.identical_in = worktree::find_identical_hook(&row, entries);
        }
        row
    };
    project.into_iter().zip(covered).map(row).collect()
}

/// `--no-opaque`: removes opaque hooks from the selection and prints why.
fn skip_opaque(chosen: &mut Vec<TrustRow<'_>>) {
    chosen.retain(|row| {
        if let Some(text) = row.opaque_text() {
            printer::warn(&format!("gambrel trust: left out {}: it {text}", row.hook.id));
        }
        row.coverage.opaque.is_empty()
    });
}

/// Asks the user on a terminal. Without one, `--yes` is required.
fn confirm_trust(chosen: &[TrustRow<'_>]) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!(UsageError(
            "trust: no terminal to confirm on; review the hooks, then pass --yes".into()
        ));
    }
    let same = chosen.iter().all(|row| row.identical_in.is_some());
    let what = match chosen.first().and_then(|row| row.identical_in.as_ref()).filter(|_| same) {
        Some(other) => format!("as in {}", printer::single_line(&other.display().to_string())),
        None => "as you".to_owned(),
    };

    let these = if chosen.len() == 1 { "this" } else { "these" };
    printer::print_stderr(&format!("Let {these} {} run {what}? [y/N] ", hook_count(chosen.len())));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn store_trust(gambrel: &Gambrel, chosen: &[TrustRow<'_>], denied: bool) -> anyhow::Result<()> {
    let at = now_ms();
    let entry = |row: &TrustRow<'_>| {
        let shown = row.hook.describe().summary;
        (trust_key(row.hook), TrustEntry { denied, shown, at, ..row.record.clone() })
    };

    let fresh: Vec<(String, TrustEntry)> = chosen.iter().map(entry).collect();
    gambrel.trust_store().update_trust(&mut |entries| entries.extend(fresh.clone()))?;
    // Reading fails if others may write the store: then it does not count.
    let entries =
        gambrel.trust_store().trust_entries().context("trust was stored but does not count")?;
    store_texts(gambrel, chosen, &entries);
    Ok(())
}

/// Stores copies of small files, so that the next review can show differences.
fn store_texts(gambrel: &Gambrel, chosen: &[TrustRow<'_>], entries: &TrustEntries) {
    let in_use: BTreeSet<&str> =
        entries.values().flat_map(|entry| entry.files.values().map(String::as_str)).collect();

    let texts = chosen.iter().flat_map(|row| {
        row.recorded_files().filter_map(|(file, _, digest)| Some((digest.as_str(), file.bytes()?)))
    });
    let texts: Vec<(&str, &[u8])> = texts.collect();
    if let Err(error) = gambrel.trust_store().keep_trusted_texts(&texts, &in_use) {
        printer::warn(&format!("gambrel trust: the next review will show no differences: {error}"));
    }
}

fn row_json(row: &TrustRow<'_>, trust: Trust) -> Value {
    list::to_json(row.hook, trust, Some(&row.coverage))
}

fn print_rows(rows: &[TrustRow<'_>], as_json: bool) {
    if as_json {
        let hooks = rows.iter().map(|row| row_json(row, row.trust)).collect();
        return printer::print_json(&Value::Array(hooks));
    }
    if rows.is_empty() {
        return printer::print("this project has no hooks of its own\n");
    }

    let cells = |(at, row): (usize, &TrustRow<'_>)| {
        vec![
            (at + 1).to_string(),
            row.trust.as_str().to_owned(),
            row.hook.id.clone(),
            describe::summary_line(row.hook, 60),
            row.hook.draft.source.location(),
        ]
    };
    let table: Vec<Vec<String>> = rows.iter().enumerate().map(cells).collect();
    printer::print(&printer::format_table(&["NO", "TRUST", "ID", "DESCRIPTION", "SOURCE"], &table));

    for row in rows {
        if let Some(why) = row.trust.skip_reason().filter(|_| row.trust == Trust::Outdated) {
            printer::print(&format!("{}: {why}\n", row.hook.id));
        }
        if let Some(text) = row.opaque_text() {
            printer::print(&format!("{} {}\n", row.hook.id, printer::single_line(&text)));
        }
    }

    let same = rows.iter().filter(|row| row.identical_in.is_some()).count();
    if same > 0 {
        let verb = if same == 1 { "is" } else { "are" };
        printer::print(&format!(
            "{} {verb} the same as in another worktree, where you trusted them: \
             run `gambrel trust --reuse`\n",
            hook_count(same)
        ));
    }
}
