//! What the user sees before trusting a hook: what it runs, its files, their text, and changes
//! since the last review.

use std::collections::BTreeSet;
use std::fmt::Write;

use gambrel::Gambrel;
use gambrel_engine::{ABSENT, CoveredFile};
use gambrel_model::TrustEntry;
use similar::TextDiff;

use super::TrustRow;
use crate::printer;

/// Longer scripts are named, but their text is not shown.
const MAX_SHOWN_LINES: usize = 40;
const MAX_SHOWN_BYTES: usize = 4 << 10;
/// How many lines of a difference are shown.
const MAX_DIFF_LINES: usize = 200;
/// How many missing files are shown; there may be many.
const MAX_ABSENT_SHOWN: usize = 4;

/// Formats hooks for review. The text of each file appears once.
pub struct HookReview<'v> {
    gambrel: &'v Gambrel,
    shown: BTreeSet<String>,
}

impl<'v> HookReview<'v> {
    pub fn new(gambrel: &'v Gambrel) -> Self {
        Self { gambrel, shown: BTreeSet::new() }
    }

    /// Formats everything that trust of a hook covers.
    pub fn describe_hook(&mut self, row: &TrustRow<'_>) -> String {
        let draft = &row.hook.draft;
        let mut text = format!(
            "{}  {} {}\n",
            row.hook.id,
            row.hook.dialect.name,
            printer::single_line(&draft.event)
        );

        let described = row.hook.describe();
        let mut lines =
            vec![("from", draft.source.location()), ("runs", described.summary.clone())];
        lines.extend(described.details(draft));
        if let Some(earlier) = row.earlier.filter(|earlier| earlier.shown != described.summary) {
            lines.push(("was", earlier.shown.clone()));
        }
        if let Some(other) = &row.identical_in {
            lines.push(("same", format!("as in {}, where you trusted it", other.display())));
        }
        lines.extend(row.opaque_text().map(|text| ("opaque", text)));

        for (word, value) in lines {
            text += &labelled_line(word, &value);
        }
        self.describe_files(row, &mut text);
        text
    }

    fn describe_files(&mut self, row: &TrustRow<'_>, text: &mut String) {
        let earlier = row.earlier.filter(|earlier| earlier.rules > 0);

        let mut absent = 0;
        for (file, name, digest) in row.recorded_files() {
            let before = earlier.and_then(|earlier| earlier.files.get(name));
            if digest == ABSENT {
                absent += 1;
                if absent <= MAX_ABSENT_SHOWN {
                    *text += &labelled_line("file", &format!("{name} (missing)"));
                }
                continue;
            }

            let state = match (earlier.is_some(), before) {
                (false, _) => "",
                (true, None) => " (new)",
                (true, Some(before)) if before == digest => "",
                (true, Some(_)) => " (changed)",
            };
            *text += &labelled_line("file", &format!("{name}{state}"));
            let is_news = row.identical_in.is_none() && (earlier.is_none() || !state.is_empty());
            if is_news && self.shown.insert(format!("{}/{name}", row.record.root)) {
                *text += &self.describe_contents(file, before);
            }
        }

        if absent > MAX_ABSENT_SHOWN {
            let more = printer::format_quantity(absent - MAX_ABSENT_SHOWN, "more missing file");
            *text += &labelled_line("file", &more);
        }
        *text += &removed_files(row, earlier);
    }

    /// The text of a short file, or its changes.
    fn describe_contents(&self, file: &CoveredFile, before: Option<&String>) -> String {
        let Some(now) = file.bytes().and_then(|bytes| std::str::from_utf8(bytes).ok()) else {
            return quote_lines("(no text)");
        };
        let now = self.gambrel.redact_text(now);
        let kept = before.and_then(|digest| self.gambrel.trust_store().trusted_text(digest));
        if let Some(kept) = kept {
            return quote_lines(&format_diff(&kept, &now));
        }

        let lines = now.lines().count();
        if lines > MAX_SHOWN_LINES || now.len() > MAX_SHOWN_BYTES {
            let lines = printer::format_quantity(lines, "line");
            return quote_lines(&format!("({lines}, {} bytes: look at the file)", now.len()));
        }
        quote_lines(&now)
    }
}

/// Files that are no longer part of the hook.
fn removed_files(row: &TrustRow<'_>, earlier: Option<&TrustEntry>) -> String {
    let before = earlier.into_iter().flat_map(|earlier| &earlier.files);
    let gone = before.filter(|(name, digest)| {
        *digest != ABSENT && row.record.files.get(*name).is_none_or(|now| now == ABSENT)
    });
    gone.map(|(name, _)| labelled_line("file", &format!("{name} (gone)"))).collect()
}

/// Formats a label and a value. Line breaks in the value are indented, so that they cannot imitate
/// another line.
fn labelled_line(word: &str, value: &str) -> String {
    format!("  {word:<6} {}\n", printer::replace_controls(value).replace('\n', "\n         "))
}

fn quote_lines(text: &str) -> String {
    let mut quoted = String::new();
    for line in printer::replace_controls(text).lines() {
        // Writing to a `String` cannot fail.
        let _ = writeln!(quoted, "         | {line}");
    }
    quoted
}

fn format_diff(before: &str, now: &str) -> String {
    let diff = TextDiff::from_lines(before, now).unified_diff().context_radius(3).to_string();
    if diff.is_empty() {
        return "(differs only in secrets)".to_owned();
    }
    let mut lines: Vec<&str> = diff.lines().collect();
    let cut = lines.len().saturating_sub(MAX_DIFF_LINES);
    lines.truncate(MAX_DIFF_LINES);
    let more = printer::format_quantity(cut, "more line");
    lines.join("\n") + &if cut > 0 { format!("\n({more})") } else { String::new() }
}
