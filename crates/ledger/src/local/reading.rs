//! Lists and finds firings: those in the database, and those still in the spool. Without a
//! database that can be read it makes do with the spool.

use std::collections::HashMap;

use gambrel_model::ledger::{JournalRecord, LedgerError};
use rusqlite::{Connection, OptionalExtension, named_params};

use super::database::{self, Failure};
use super::folder::{Folder, trouble};
use super::line::Key;
use super::{LocalLedger, spool};
use crate::firing::{Firing, Query};

/// Fewer letters of an id could mean anything.
const SHORTEST_PREFIX: usize = 4;

impl LocalLedger {
    /// Firings, oldest first: the newest `limit`, or with `after` the next `limit`.
    /// Call [`take_in`](Self::take_in) before: it tells what is wrong with the store.
    pub fn firings(&self, query: &Query) -> Result<Vec<Firing>, LedgerError> {
        let journal = Journal::open(&self.folder)?;
        let session = query.session.as_deref().map(|it| self.redactor.redact_text(it));
        let query = Query { session: session.map(Into::into), ..query.clone() };
        let mut places = journal.stored(&query).unwrap_or_default();
        places.extend(journal.waiting.unstored(&query, journal.last));
        if query.after.is_some() {
            places.truncate(query.limit);
        } else {
            places.drain(..places.len().saturating_sub(query.limit));
        }
        Ok(places.into_iter().filter_map(|(seq, id)| journal.firing(seq, &id)).collect())
    }

    /// The firing of this id, or of the only id that begins so.
    pub fn firing(&self, id_or_prefix: &str) -> Result<Option<Firing>, LedgerError> {
        let journal = Journal::open(&self.folder)?;
        let all = Query { session: None, limit: usize::MAX, after: None };
        let mut places = journal.stored_like(id_or_prefix).unwrap_or_default();
        let waiting = journal.waiting.unstored(&all, journal.last);
        places.extend(waiting.into_iter().filter(|(_, id)| id.starts_with(id_or_prefix)));
        if let Some((seq, id)) = places.iter().find(|(_, id)| id == id_or_prefix) {
            return Ok(journal.firing(*seq, id));
        }
        let refused = |why: String| {
            let doing = format!("looking for firing {id_or_prefix}");
            Err(LedgerError { doing, why })
        };
        if id_or_prefix.len() < SHORTEST_PREFIX {
            return refused(format!("give at least {SHORTEST_PREFIX} characters of its id"));
        }
        match places.as_slice() {
            [] => Ok(None),
            [(seq, id)] => Ok(journal.firing(*seq, id)),
            [(_, one), (_, other), ..] => {
                refused(format!("several ids begin so, {one} and {other} among them"))
            }
        }
    }
}

/// Everything readable, as of one moment.
struct Journal {
    waiting: Waiting,
    store: Option<Connection>,
    /// The last place that the database gave away.
    last: u64,
}

impl Journal {
    /// Records move from the spool to the database, so they are looked for in that order: one
    /// that moves meanwhile is seen twice, and known by its key, but never missed.
    fn open(folder: &Folder) -> Result<Self, LedgerError> {
        let mut waiting = Waiting::read(folder)?;
        let store = database::open_to_read(folder).ok().flatten();
        let last = store.as_ref().and_then(|store| waiting.settle(store).ok());
        let store = store.filter(|_| last.is_some());
        Ok(Self { waiting, store, last: last.unwrap_or_default() })
    }

    fn stored(&self, query: &Query) -> Result<Vec<(u64, String)>, Failure> {
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
            place,
        )?;
        let mut places = rows.collect::<Result<Vec<_>, _>>()?;
        places.sort_unstable_by_key(|(seq, _)| *seq);
        Ok(places)
    }

    fn stored_like(&self, prefix: &str) -> Result<Vec<(u64, String)>, Failure> {
        let Some(store) = &self.store else { return Ok(Vec::new()) };
        let sql = "SELECT seq, id FROM firings
                   WHERE id >= ?1 AND id < ?1 || char(0x10FFFF) ORDER BY id LIMIT 2";
        let mut statement = store.prepare(sql)?;
        let rows = statement.query_map([prefix], place)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn firing(&self, seq: u64, id: &str) -> Option<Firing> {
        let stored = self.store.as_ref().map(|store| database::records_of(store, seq));
        let mut records = stored.and_then(Result::ok).unwrap_or_default();
        if seq > self.last {
            records.clear();
        }
        for (key, record) in self.waiting.of(id) {
            if !records.iter().any(|(known, _)| known == key) {
                records.push((*key, record.clone()));
            }
        }
        Firing::of(seq, records.into_iter().map(|(_, record)| record).collect())
    }
}

/// Records that nobody has taken in, by firing, in the order in which the firings began.
#[derive(Debug, Default)]
struct Waiting {
    firings: Vec<Group>,
    index: HashMap<String, usize>,
}

#[derive(Debug)]
struct Group {
    id: String,
    stored: bool,
    records: Vec<(Key, JournalRecord)>,
}

impl Waiting {
    fn read(folder: &Folder) -> Result<Self, LedgerError> {
        let mut parts = Vec::new();
        for name in [spool::LIVE, spool::FULL, spool::TAKING] {
            let mut part = Vec::new();
            if let Some(file) = folder.existing(name)? {
                // A line in the midst of being written reads as torn, and is left for next time.
                spool::read(file, |entry| -> Result<(), std::io::Error> {
                    part.push((entry.key, entry.record));
                    Ok(())
                })
                .map_err(|error| trouble("reading", &folder.path(name), &error))?;
            }
            parts.push(part);
        }
        let mut waiting = Self::default();
        parts.into_iter().rev().flatten().for_each(|(key, record)| waiting.add(key, record));
        Ok(waiting)
    }

    fn add(&mut self, key: Key, record: JournalRecord) {
        let fresh = self.firings.len();
        let place = *self.index.entry(record.id.clone()).or_insert(fresh);
        if place == fresh {
            let id = record.id.clone();
            self.firings.push(Group { id, stored: false, records: Vec::new() });
        }
        if let Some(group) = self.firings.get_mut(place) {
            group.records.push((key, record));
        }
    }

    /// Learns which firings the database knows, and the last place that it gave away.
    fn settle(&mut self, store: &Connection) -> rusqlite::Result<u64> {
        let mut known = store.prepare("SELECT 1 FROM firings WHERE id = ?1")?;
        for group in &mut self.firings {
            group.stored = known.query_row([&group.id], |_| Ok(())).optional()?.is_some();
        }
        let last = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'firings'";
        store.query_row(last, [], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
    }

    /// Firings only seen here, at the places that they will have once they are taken in.
    fn unstored(&self, query: &Query, last: u64) -> Vec<(u64, String)> {
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

    fn of(&self, id: &str) -> &[(Key, JournalRecord)] {
        let group = self.index.get(id).and_then(|place| self.firings.get(*place));
        group.map_or(&[], |group| group.records.as_slice())
    }
}

fn place(row: &rusqlite::Row<'_>) -> rusqlite::Result<(u64, String)> {
    Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get(1)?))
}
