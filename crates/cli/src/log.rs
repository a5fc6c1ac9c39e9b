//! `gambrel log` and `gambrel show`: lists recorded firings, and prints one in full.

mod filter;
mod line;
mod local_time;
pub mod replay;
mod show;
mod summary;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use gambrel::Gambrel;
use gambrel_model::Ledger;
use gambrel_model::ledger::{FiringQuery, FiringRecord, FiringState};

use self::filter::FiringFilter;
use self::line::{LogLayout, LogRow};
#[cfg(feature = "http")]
pub use self::summary::summarize_event;
use crate::args::{LogArgs, ShowArgs};
use crate::{open, printer};

/// How often `log --follow` reads the journal.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(300);
/// Among how many of the newest firings those that still run are looked for.
const MAX_RUNNING_COUNT: usize = 200;
/// The word for the newest firing.
const LAST: &str = "last";
/// What to do when nothing was recorded yet.
const WHERE_TO_BEGIN: &str = "no firings yet
  in Claude Code:  gambrel install claude, then start it
  by hand:         gambrel sample claude PreToolUse | gambrel fire --from claude
";

/// Prints the latest firings, newest last; with `-f` also new ones.
pub fn run(folder: Option<PathBuf>, args: &LogArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(open::build_setup(folder, None)?);
    let ledger = open_journal(&gambrel)?;
    let mut list =
        FiringList { filter: FiringFilter::new(args)?, as_json: args.json, layout: None };

    let newest = list.filter.newest(list.filter.count);
    let recent = if list.filter.is_fine() { None } else { ledger.recent_firings(&newest)? };
    let mut last = 0;
    if let Some(recent) = recent {
        if !list.print_all(&recent.firings) {
            return Ok(0);
        }
        // A long import runs in the background after the list is printed. Only `-f` waits for it.
        if !args.follow && gambrel.start_import().is_ok() {
            return Ok(0);
        }
        import_spool(ledger);
        let newest = recent.firings.last().map(|firing| ledger.firing(&firing.id));
        last = newest.transpose()?.flatten().map_or(0, |firing| firing.seq);
    } else {
        import_spool(ledger);
        let newest = ledger.firings(&list.filter.newest(1))?;
        let firings = list.filter.list(ledger)?;
        last = newest.iter().chain(&firings).map(|firing| firing.seq).fold(last, u64::max);
        if !list.print_all(&firings) {
            return Ok(0);
        }
    }
    if !args.follow {
        list.print_where_to_begin(last > 0);
        return Ok(0);
    }
    follow(ledger, &mut list, last)
}

/// Prints new firings, each when it has ended, until the reader of stdout goes away.
fn follow(ledger: &dyn Ledger, list: &mut FiringList, mut last: u64) -> anyhow::Result<u8> {
    let is_running = |firing: &FiringRecord| firing.state == FiringState::Running;
    let known = ledger.firings(&list.filter.newest(MAX_RUNNING_COUNT))?;
    let known = known.iter().filter(|one| is_running(one) && one.seq <= last);
    let mut running: Vec<String> = known.map(|one| one.id.clone()).collect();
    while !printer::wait_for_reader_exit(FOLLOW_INTERVAL) {
        import_spool(ledger);
        let mut firings = Vec::new();
        for id in std::mem::take(&mut running) {
            firings.extend(ledger.firing(&id)?);
        }
        let query = FiringQuery { after: Some(last), ..list.filter.newest(usize::MAX) };
        firings.extend(ledger.firings(&query)?);
        last = firings.iter().map(|firing| firing.seq).fold(last, u64::max);
        running.extend(firings.iter().filter(|one| is_running(one)).map(|one| one.id.clone()));
        firings.retain(|firing| !is_running(firing) && list.filter.accepts(firing));
        if !list.print_all(&firings) {
            break;
        }
    }
    Ok(0)
}

/// Prints firings, with a heading before the first.
struct FiringList {
    filter: FiringFilter,
    as_json: bool,
    /// The columns, which the first firings decide.
    layout: Option<LogLayout>,
}

impl FiringList {
    /// False if the reader of stdout has gone away.
    fn print_all(&mut self, firings: &[FiringRecord]) -> bool {
        if self.as_json {
            return firings.iter().all(|firing| printer::try_print(&line::format_json(firing)));
        }
        let rows: Vec<LogRow> = firings.iter().map(LogRow::new).collect();
        if rows.is_empty() {
            return true;
        }
        let mut text = String::new();
        let layout = self.layout.get_or_insert_with(|| {
            let layout = LogLayout::new(&rows);
            text = layout.format_head();
            layout
        });
        let lines = rows.iter().map(|row| layout.format_row(row));
        printer::try_print(&(text + &lines.collect::<String>()))
    }

    /// Says why the list is empty.
    fn print_where_to_begin(&self, has_firings: bool) {
        if self.layout.is_some() || self.as_json {
            return;
        }
        match has_firings || self.filter.is_filter() {
            true => printer::print("no such firings: `gambrel log` lists the latest of all\n"),
            false => printer::print(WHERE_TO_BEGIN),
        }
    }
}

/// Prints one firing in full.
pub fn show_firing(folder: Option<PathBuf>, args: &ShowArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(open::build_setup(folder, None)?);
    let firing = find_firing(&gambrel, &args.id)?;
    match args.json {
        true => printer::print_json(&line::to_json(&firing)),
        false => printer::print(&show::format_firing(&firing)),
    }
    Ok(0)
}

/// The firing that the user names: by id, by a unique part of it, or `last`.
pub fn find_firing(gambrel: &Gambrel, name: &str) -> anyhow::Result<FiringRecord> {
    let ledger = open_journal(gambrel)?;
    import_spool(ledger);
    let found = match name {
        LAST => ledger.firings(&FiringQuery { limit: 1, ..FiringQuery::default() })?.pop(),
        id => ledger.firing(id)?,
    };
    match found {
        Some(firing) => Ok(firing),
        None if name == LAST => bail!("no firings yet: `gambrel log` says where to begin"),
        None => bail!("no firing `{name}` in the journal: see `gambrel log`"),
    }
}

/// The journal on disk.
pub fn open_journal(gambrel: &Gambrel) -> anyhow::Result<&dyn Ledger> {
    let ledger = gambrel.durable_ledger().map(AsRef::as_ref);
    ledger.context("there is no state folder: set HOME or GAMBREL_STATE_DIR")
}

/// Imports the spool into the database. Failures are printed, and reading continues.
pub fn import_spool(ledger: &dyn Ledger) {
    match ledger.import_journal() {
        Ok(imported) => {
            for notice in &imported.notices {
                printer::warn(&format!("gambrel: {notice}"));
            }
            if imported.corrupt > 0 {
                let broken = printer::format_quantity(imported.corrupt, "broken record");
                printer::warn(&format!("gambrel: skipped {broken}"));
            }
        }
        Err(error) => printer::warn(&format!("gambrel: {error}")),
    }
}
