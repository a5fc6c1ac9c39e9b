//! Reads the newest firings from the end of a long spool, so that a reader sees a page before the
//! import.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use gambrel_model::ledger::{FiringPhase, FiringQuery, JournalRecord, LedgerResult, RecentFirings};

use super::record_line::{self, MAX_LINE_BYTES};
use super::state_dir::{StateDir, io_error};
use super::{LocalLedger, spool};
use crate::firing::build_firing;

/// Maximum number of records to read for a page.
const MAX_RECORD_COUNT: usize = 2_000;
/// A spool up to this size is imported before a page is shown.
const MAX_IMPORT_FIRST_BYTES: u64 = 1 << 20;
const CHUNK_BYTES: usize = 1 << 16;

impl LocalLedger {
    /// The newest firings of a long spool, without an import. `None` if the spool is short, or if
    /// its last records have too few firings.
    pub(super) fn firings_of_long_spool(
        &self,
        query: &FiringQuery,
    ) -> LedgerResult<Option<RecentFirings>> {
        if query.after.is_some() || self.spool_size() <= MAX_IMPORT_FIRST_BYTES {
            return Ok(None);
        }
        let session = query.session.as_deref().map(|it| self.redactor.redact_text(it));
        let mut tail = SpoolTail { session: session.map(Into::into), ..SpoolTail::default() };
        for name in [spool::LIVE_FILE, spool::FULL_FILE, spool::IMPORT_FILE] {
            tail.read_file(&self.folder, name, query.limit)?;
        }
        Ok((tail.started_count >= query.limit).then(|| tail.build_page()))
    }

    fn spool_size(&self) -> u64 {
        let size = |name: &&str| std::fs::metadata(self.folder.path_of(name)).ok();
        let sizes = [spool::LIVE_FILE, spool::FULL_FILE, spool::IMPORT_FILE];
        sizes.iter().filter_map(size).map(|about| about.len()).sum()
    }
}

/// The last records of the spool, newest first.
#[derive(Default)]
struct SpoolTail {
    session: Option<String>,
    records: Vec<JournalRecord>,
    /// Number of firings with their first record.
    started_count: usize,
    read: usize,
}

impl SpoolTail {
    fn read_file(&mut self, folder: &StateDir, name: &str, limit: usize) -> LedgerResult {
        let Some(file) = folder.open_existing(name)? else { return Ok(()) };
        let trouble = |error: io::Error| io_error("reading", &folder.path_of(name), &error);
        let mut lines = LinesFromEnd::new(file).map_err(trouble)?;
        while self.started_count < limit && self.read < MAX_RECORD_COUNT {
            let Some(line) = lines.next_line().map_err(trouble)? else { return Ok(()) };
            self.read += 1;
            // The import counts torn lines.
            if let (Some(entry), _) = record_line::decode_line(&line) {
                self.started_count += usize::from(self.is_beginning(&entry.record));
                self.records.push(entry.record);
            }
        }
        Ok(())
    }

    fn is_beginning(&self, record: &JournalRecord) -> bool {
        let own = self.session.as_ref().is_none_or(|session| *session == record.session);
        own && record.step == FiringPhase::Accepted
    }

    /// Builds the page. Firings without their first record are older than the page.
    fn build_page(self) -> RecentFirings {
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
        let firings = firings.into_iter().filter_map(|records| build_firing(0, records)).collect();
        RecentFirings { firings, records_read: self.read }
    }
}

/// The lines of a file, the last one first.
struct LinesFromEnd {
    file: File,
    /// The bytes before this offset were not read yet.
    start: u64,
    /// Bytes that were read and not returned.
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
            if self.start == 0 || self.rest.len() > 2 * MAX_LINE_BYTES {
                let line = std::mem::take(&mut self.rest);
                return Ok(Some(line).filter(|line| !line.is_empty()));
            }
            searched = self.rest.len();
            self.read_before()?;
        }
    }

    fn read_before(&mut self) -> io::Result<()> {
        // The size doubles each time, so that a long line is not copied often.
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
    fn reads_lines_of_any_length_from_the_end() {
        assert_eq!(lines(""), Vec::<String>::new());
        for longest in [10, 65_535, 65_536, 65_537, 300_000] {
            let written: Vec<String> =
                [1, longest, 3, longest / 2, 70_000].iter().map(|n| "x".repeat(*n)).collect();
            assert_eq!(lines(&(written.join("\n") + "\n")), written, "{longest}");
            assert_eq!(lines(&written.join("\n")), written, "{longest} without an end");
        }
    }
}
