//! The newest firings of a long spool, read from its end: whoever looks at the journal after a
//! hundred thousand firings sees a page at once, and the import comes after it.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use gambrel_model::ledger::{FiringPhase, JournalRecord, LedgerError};

use super::folder::{Folder, trouble};
use super::line::{self, LONGEST};
use super::{LocalLedger, spool};
use crate::firing::{Firing, Query};

/// So many records are read for a page.
const MAX_RECORD_COUNT: usize = 2_000;
/// A spool up to this size is imported before anything is shown.
const MAX_IMPORT_FIRST_BYTES: u64 = 1 << 20;
const CHUNK_BYTES: usize = 1 << 16;

/// The newest firings of the spool.
#[derive(Debug, Clone, PartialEq)]
pub struct RecentFirings {
    /// Oldest first. Their places in the journal are not known yet.
    pub firings: Vec<Firing>,
    /// How many records were read for them.
    pub records_read: usize,
}

impl LocalLedger {
    /// The newest firings without importing anything, for a spool that takes long to import.
    /// `None` where it is short, or where so many are not found among its last records: then they
    /// are found after [`take_in`](Self::take_in).
    pub fn recent(&self, query: &Query) -> Result<Option<RecentFirings>, LedgerError> {
        if query.after.is_some() || self.spool_size() <= MAX_IMPORT_FIRST_BYTES {
            return Ok(None);
        }
        let session = query.session.as_deref().map(|it| self.redactor.redact_text(it));
        let mut tail = Tail { session: session.map(Into::into), ..Tail::default() };
        for name in [spool::LIVE, spool::FULL, spool::TAKING] {
            tail.read(&self.folder, name, query.limit)?;
        }
        Ok((tail.begun >= query.limit).then(|| tail.page()))
    }

    fn spool_size(&self) -> u64 {
        let size = |name: &&str| std::fs::metadata(self.folder.path(name)).ok();
        let sizes = [spool::LIVE, spool::FULL, spool::TAKING];
        sizes.iter().filter_map(size).map(|about| about.len()).sum()
    }
}

/// Records from the newest back.
#[derive(Default)]
struct Tail {
    session: Option<String>,
    records: Vec<JournalRecord>,
    /// Firings whose beginning was read.
    begun: usize,
    read: usize,
}

impl Tail {
    fn read(&mut self, folder: &Folder, name: &str, limit: usize) -> Result<(), LedgerError> {
        let Some(file) = folder.existing(name)? else { return Ok(()) };
        let trouble = |error: io::Error| trouble("reading", &folder.path(name), &error);
        let mut lines = LinesFromEnd::new(file).map_err(trouble)?;
        while self.begun < limit && self.read < MAX_RECORD_COUNT {
            let Some(line) = lines.next_line().map_err(trouble)? else { return Ok(()) };
            self.read += 1;
            // A line that is torn is counted by the import.
            if let (Some(entry), _) = line::decode(&line) {
                self.begun += usize::from(self.is_beginning(&entry.record));
                self.records.push(entry.record);
            }
        }
        Ok(())
    }

    fn is_beginning(&self, record: &JournalRecord) -> bool {
        let own = self.session.as_ref().is_none_or(|session| *session == record.session);
        own && record.step == FiringPhase::Accepted
    }

    /// Firings whose beginning was not read are older than the page.
    fn page(self) -> RecentFirings {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut firings: Vec<Vec<JournalRecord>> = Vec::new();
        for record in self.records.iter().rev() {
            if self.is_beginning(record) && !places.contains_key(record.id.as_str()) {
                places.insert(&record.id, firings.len());
                firings.push(Vec::new());
            }
            let place = places.get(record.id.as_str()).and_then(|place| firings.get_mut(*place));
            if let Some(records) = place {
                records.push(record.clone());
            }
        }
        let firings = firings.into_iter().filter_map(|records| Firing::of(0, records)).collect();
        RecentFirings { firings, records_read: self.read }
    }
}

/// The lines of a file, the last one first.
struct LinesFromEnd {
    file: File,
    /// What lies before this was not read yet.
    start: u64,
    /// Read, and not handed out.
    rest: Vec<u8>,
}

impl LinesFromEnd {
    fn new(file: File) -> io::Result<Self> {
        let start = file.metadata()?.len();
        Ok(Self { file, start, rest: Vec::new() })
    }

    fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        if self.rest.is_empty() && self.start > 0 {
            self.read_before()?;
        }
        if self.rest.last() == Some(&b'\n') {
            self.rest.pop();
        }
        let mut searched = 0;
        loop {
            let unseen = self.rest.len() - searched;
            let head = self.rest.get(..unseen).unwrap_or_default();
            if let Some(at) = head.iter().rposition(|byte| *byte == b'\n') {
                let line = self.rest.split_off(at + 1);
                return Ok(Some(line));
            }
            if self.start == 0 || self.rest.len() > 2 * LONGEST {
                let line = std::mem::take(&mut self.rest);
                return Ok(Some(line).filter(|line| !line.is_empty()));
            }
            searched = self.rest.len();
            self.read_before()?;
        }
    }

    fn read_before(&mut self) -> io::Result<()> {
        // Twice as much each time, so that a long line is not moved again and again.
        let size = CHUNK_BYTES.max(self.rest.len()) as u64;
        let size = size.min(self.start);
        let mut chunk = vec![0; usize::try_from(size).unwrap_or(CHUNK_BYTES)];
        self.start -= chunk.len() as u64;
        self.file.read_exact_at(&mut chunk, self.start)?;
        chunk.append(&mut self.rest);
        self.rest = chunk;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::LinesFromEnd;
    use std::io::Write;

    fn lines(text: &str) -> Vec<String> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let mut lines = LinesFromEnd::new(file).unwrap();
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            all.push(String::from_utf8(line).unwrap());
        }
        all.reverse();
        all
    }

    #[test]
    fn lines_come_from_the_end_whatever_their_length() {
        assert_eq!(lines(""), Vec::<String>::new());
        for longest in [10, 65_535, 65_536, 65_537, 300_000] {
            let written: Vec<String> =
                [1, longest, 3, longest / 2, 70_000].iter().map(|n| "x".repeat(*n)).collect();
            assert_eq!(lines(&(written.join("\n") + "\n")), written, "{longest}");
            assert_eq!(lines(&written.join("\n")), written, "{longest} without an end");
        }
    }
}
