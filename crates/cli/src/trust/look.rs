//! What a person sees of a hook before trusting it: what it runs, the files that it is made of,
//! their text, and what changed since the last look.

use std::collections::BTreeSet;
use std::fmt::Write;

use gambrel::ledger::LocalLedger;
use gambrel::model::TrustEntry;
use gambrel_engine::{ABSENT, CoveredFile};
use similar::TextDiff;

use super::Row;
use crate::{deed, printer};

/// Longer scripts are named and not shown.
const MAX_SHOWN_LINES: usize = 40;
const MAX_SHOWN_BYTES: usize = 4 << 10;
/// Of a difference so many lines are shown.
const MAX_DIFF_LINES: usize = 200;
/// Names without a file that are shown; there may be many.
const MAX_ABSENT_SHOWN: usize = 4;

/// Shows hooks, each text once.
pub struct Viewer<'v> {
    pub ledger: Option<&'v LocalLedger>,
    shown: BTreeSet<String>,
}

impl<'v> Viewer<'v> {
    pub fn new(ledger: Option<&'v LocalLedger>) -> Self {
        Self { ledger, shown: BTreeSet::new() }
    }

    /// Everything that trusting a hook covers.
    pub fn view(&mut self, row: &Row<'_>) -> String {
        let draft = &row.hook.draft;
        let mut text = format!(
            "{}  {} {}\n",
            row.hook.id,
            row.hook.dialect.name(),
            printer::flat(&draft.event)
        );
        let mut lines = vec![("from", draft.source.location()), ("runs", deed::what(row.hook))];
        lines.extend(deed::details(row.hook));
        if let Some(earlier) = row.earlier.filter(|earlier| earlier.shown != deed::what(row.hook)) {
            lines.push(("was", earlier.shown.clone()));
        }
        if let Some(other) = &row.same_as {
            lines.push(("same", format!("as in {}, where you trusted it", other.display())));
        }
        lines.extend(row.opaque_text().map(|text| ("opaque", text)));
        for (word, value) in lines {
            text += &line(word, &value);
        }
        self.files(row, &mut text);
        text
    }

    fn files(&mut self, row: &Row<'_>, text: &mut String) {
        let earlier = row.earlier.filter(|earlier| earlier.rules > 0);
        let mut absent = 0;
        for (file, name, digest) in row.files() {
            let before = earlier.and_then(|earlier| earlier.files.get(name));
            if digest == ABSENT {
                absent += 1;
                if absent <= MAX_ABSENT_SHOWN {
                    *text += &line("file", &format!("{name} (not there)"));
                }
                continue;
            }
            let state = match (earlier.is_some(), before) {
                (false, _) => "",
                (true, None) => " (new)",
                (true, Some(before)) if before == digest => "",
                (true, Some(_)) => " (changed)",
            };
            *text += &line("file", &format!("{name}{state}"));
            let is_news = row.same_as.is_none() && (earlier.is_none() || !state.is_empty());
            if is_news && self.shown.insert(format!("{}/{name}", row.record.root)) {
                *text += &self.contents(file, before);
            }
        }
        if absent > MAX_ABSENT_SHOWN {
            let more = format!("{} more names that are not there", absent - MAX_ABSENT_SHOWN);
            *text += &line("file", &more);
        }
        *text += &gone(row, earlier);
    }

    /// The text of a short file, or what changed in it.
    fn contents(&self, file: &CoveredFile, before: Option<&String>) -> String {
        let Some(now) = file.bytes().and_then(|bytes| std::str::from_utf8(bytes).ok()) else {
            return quoted("(no text)");
        };
        let now = self.ledger.map_or_else(|| now.to_owned(), |ledger| ledger.redacted(now));
        let kept = before.and_then(|digest| self.ledger?.trusted_text(digest));
        if let Some(kept) = kept {
            return quoted(&difference(&kept, &now));
        }
        let lines = now.lines().count();
        if lines > MAX_SHOWN_LINES || now.len() > MAX_SHOWN_BYTES {
            return quoted(&format!("({lines} lines, {} bytes: look at the file)", now.len()));
        }
        quoted(&now)
    }
}

/// Files that were part of the hook and are not any more.
fn gone(row: &Row<'_>, earlier: Option<&TrustEntry>) -> String {
    let before = earlier.into_iter().flat_map(|earlier| &earlier.files);
    let gone = before.filter(|(name, digest)| {
        *digest != ABSENT && row.record.files.get(*name).is_none_or(|now| now == ABSENT)
    });
    gone.map(|(name, _)| line("file", &format!("{name} (gone)"))).collect()
}

/// A line break inside a value must not begin a line of ours.
fn line(word: &str, value: &str) -> String {
    format!("  {word:<6} {}\n", printer::clean(value).replace('\n', "\n         "))
}

fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for line in printer::clean(text).lines() {
        // Writing to a text cannot fail.
        let _ = writeln!(quoted, "         | {line}");
    }
    quoted
}

fn difference(before: &str, now: &str) -> String {
    let diff = TextDiff::from_lines(before, now).unified_diff().context_radius(3).to_string();
    if diff.is_empty() {
        return "(differs only in secrets)".to_owned();
    }
    let mut lines: Vec<&str> = diff.lines().collect();
    let cut = lines.len().saturating_sub(MAX_DIFF_LINES);
    lines.truncate(MAX_DIFF_LINES);
    let more = if cut > 0 { format!("\n({cut} more lines)") } else { String::new() };
    lines.join("\n") + &more
}
