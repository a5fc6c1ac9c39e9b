//! Lists and finds firings in the database and in the spool. If the database is unreadable, it uses
//! only the spool.

use std::collections::{BTreeSet, HashMap};

use gambrel_model::ledger::{FiringQuery, FiringRecord, JournalRecord, LedgerResult};
use rusqlite::{Connection, OptionalExtension, named_params};

use super::database::{self, DatabaseFailure};
use super::record_line::RecordKey;
use super::state_dir::{StateDir, io_error};
use super::{LocalLedger, spool};
use crate::firing;

impl LocalLedger {
    pub(super) fn list_firings(&self, query: &FiringQuery) -> LedgerResult<Vec<FiringRecord>> {
        let journal = JournalView::open(&self.folder)?;
        let session = query.session.as_deref().map(|it| self.redactor.redact_text(it));
        let query = FiringQuery { session: session.map(Into::into), ..query.clone() };
        let mut places = journal.stored_firings(&query).unwrap_or_default();
        places.extend(journal.spooled.unstored_firings(&query, journal.last_seq));

        if query.after.is_some() {
            places.truncate(query.limit);
        } else {
            places.drain(..places.len().saturating_sub(query.limit));
        }
        Ok(places.into_iter().filter_map(|(seq, id)| journal.build_firing(seq, &id)).collect())
    }

    pub(super) fn find_firing(&self, id_or_prefix: &str) -> LedgerResult<Option<FiringRecord>> {
        let journal = JournalView::open(&self.folder)?;
        let all = FiringQuery { session: None, limit: usize::MAX, after: None };
        let mut places = journal.stored_with_prefix(id_or_prefix).unwrap_or_default();
        let waiting = journal.spooled.unstored_firings(&all, journal.last_seq);
        let is_named = |(_, id): &(u64, String)| firing::id_begins_with(id, id_or_prefix);
        places.extend(waiting.into_iter().filter(is_named));
        let found = firing::choose_id(id_or_prefix, places.iter().map(|(_, id)| id.as_str()))?;
        let place = places.iter().find(|(_, id)| Some(id.as_str()) == found);
        Ok(place.and_then(|(seq, id)| journal.build_firing(*seq, id)))
    }
}

/// A consistent view of the database and the spool.
struct JournalView {
    spooled: SpooledRecords,
    store: Option<Connection>,
    /// The last sequence number of the database.
    last_seq: u64,
}

impl JournalView {
    /// Reads the spool first, because records move from the spool to the database. A record that
    /// moves meanwhile is read twice, and recognised by its key.
    fn open(folder: &StateDir) -> LedgerResult<Self> {
        let mut waiting = SpooledRecords::read_spools(folder)?;
        let store = database::open_to_read(folder).ok().flatten();
        let last = store.as_ref().and_then(|store| waiting.mark_stored(store).ok());
        let store = store.filter(|_| last.is_some());
        Ok(Self { spooled: waiting, store, last_seq: last.unwrap_or_default() })
    }

    fn stored_firings(&self, query: &FiringQuery) -> Result<Vec<(u64, String)>, DatabaseFailure> {
        let Some(store) = &self.store else { return Ok(Vec::new()) };
        let order = if query.after.is_some() { "ASC" } else { "DESC" };
        let sql = format!(
            "SELECT seq, id FROM firings
             WHERE seq > :after AND (:session IS NULL OR session = :session)
             ORDER BY seq {order} LIMIT :limit"
        );
        let after = i64::try_from(query.after.unwrap_or(0)).unwrap_or(i64::MAX);
        let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
        let mut statement = store.prepare(&sql)?;
        let rows = statement.query_map(
            named_params! { ":after": after, ":session": query.session, ":limit": limit },
            read_place,
        )?;
        let mut places = rows.collect::<Result<Vec<_>, _>>()?;
        places.sort_unstable_by_key(|(seq, _)| *seq);
        Ok(places)
    }

    fn stored_with_prefix(&self, prefix: &str) -> Result<Vec<(u64, String)>, DatabaseFailure> {
        let Some(store) = &self.store else { return Ok(Vec::new()) };
        let by_id = "SELECT seq, id FROM firings
                     WHERE id >= ?1 AND id < ?1 || char(0x10FFFF) ORDER BY id LIMIT 2";
        // The index has no order for the random part, so it is read as a whole.
        let by_random_part = "SELECT seq, id FROM firings WHERE instr(id, '-' || ?1) > 0 LIMIT 3";
        let mut places = BTreeSet::new();
        for sql in [by_id, by_random_part] {
            let mut statement = store.prepare(sql)?;
            for place in statement.query_map([prefix], read_place)? {
                places.insert(place?);
            }
        }
        Ok(places.into_iter().collect())
    }

    fn build_firing(&self, seq: u64, id: &str) -> Option<FiringRecord> {
        let stored = self.store.as_ref().map(|store| database::records_of(store, seq));
        let mut records = stored.and_then(Result::ok).unwrap_or_default();
        if seq > self.last_seq {
            records.clear();
        }
        for (key, record) in self.spooled.records_of(id) {
            if !records.iter().any(|(known, _)| known == key) {
                records.push((*key, record.clone()));
            }
        }
        firing::build_firing(seq, records.into_iter().map(|(_, record)| record).collect())
    }
}

/// Records in the spool, by firing, in the order in which the firings began.
#[derive(Debug, Default)]
struct SpooledRecords {
    firings: Vec<RecordGroup>,
    index: HashMap<String, usize>,
}

#[derive(Debug)]
struct RecordGroup {
    id: String,
    stored: bool,
    records: Vec<(RecordKey, JournalRecord)>,
}

impl SpooledRecords {
    fn read_spools(folder: &StateDir) -> LedgerResult<Self> {
        let mut parts = Vec::new();
        for name in [spool::LIVE_FILE, spool::FULL_FILE, spool::IMPORT_FILE] {
            let mut part = Vec::new();
            if let Some(file) = folder.open_existing(name)? {
                // A line that is being written counts as torn, and is read the next time.
                spool::read_records(file, |entry| -> Result<(), std::io::Error> {
                    part.push((entry.key, entry.record));
                    Ok(())
                })
                .map_err(|error| io_error("reading", &folder.path_of(name), &error))?;
            }
            parts.push(part);
        }
        let mut waiting = Self::default();
        parts.into_iter().rev().flatten().for_each(|(key, record)| waiting.add_record(key, record));
        Ok(waiting)
    }

    fn add_record(&mut self, key: RecordKey, record: JournalRecord) {
        let fresh = self.firings.len();
        let place = *self.index.entry(record.id.clone()).or_insert(fresh);
        if place == fresh {
            let id = record.id.clone();
            self.firings.push(RecordGroup { id, stored: false, records: Vec::new() });
        }
        if let Some(group) = self.firings.get_mut(place) {
            group.records.push((key, record));
        }
    }

    /// Marks the firings that the database has. Returns the last sequence number.
    fn mark_stored(&mut self, store: &Connection) -> rusqlite::Result<u64> {
        let mut known = store.prepare("SELECT 1 FROM firings WHERE id = ?1")?;
        for group in &mut self.firings {
            group.stored = known.query_row([&group.id], |_| Ok(())).optional()?.is_some();
        }
        let last = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'firings'";
        store.query_row(last, [], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
    }

    /// Firings that are only in the spool, with the sequence numbers that an import will give them.
    fn unstored_firings(&self, query: &FiringQuery, last: u64) -> Vec<(u64, String)> {
        let fresh = self.firings.iter().filter(|group| !group.stored);
        (last + 1..)
            .zip(fresh)
            .filter(|(seq, _)| query.after.is_none_or(|after| *seq > after))
            .filter(|(_, group)| {
                let session = group.records.first().map(|(_, record)| &record.session);
                query.session.is_none() || query.session.as_ref() == session
            })
            .map(|(seq, group)| (seq, group.id.clone()))
            .collect()
    }

    fn records_of(&self, id: &str) -> &[(RecordKey, JournalRecord)] {
        let group = self.index.get(id).and_then(|place| self.firings.get(*place));
        group.map_or(&[], |group| group.records.as_slice())
    }
}

fn read_place(row: &rusqlite::Row<'_>) -> rusqlite::Result<(u64, String)> {
    Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get(1)?))
}
