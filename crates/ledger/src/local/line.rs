//! One record as one line: its JSON, a tab, eight hex digits of CRC-32. What is torn or changed
//! is told from what is whole; nothing here reads or writes files.

use gambrel_model::ledger::{JournalRecord, LedgerError};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::redact::{Redactor, VeiledRecord};

/// Longer lines are cut by the writer and not believed by the reader.
pub(super) const LONGEST: usize = 16 << 20;
/// A tab and eight digits.
const SEAL: usize = 9;
/// Starts that are tried in a line with a torn one glued before it.
const STARTS_TRIED: usize = 64;

/// What names a record: the same one read twice has the same key.
pub(super) type Key = [u8; 16];

/// A whole record and its key.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) json: String,
    pub(super) record: JournalRecord,
}

/// The line of a record, redacted, and what had to be left out of it.
pub(super) fn encode(
    record: &JournalRecord,
    redactor: &Redactor,
) -> (Vec<u8>, Option<LedgerError>) {
    let (bytes, why) = match serde_json::to_vec(&VeiledRecord(record, redactor)) {
        Ok(bytes) if bytes.len() + SEAL < LONGEST => return (seal(bytes), None),
        Ok(bytes) => (bytes.len(), format!("it has {} bytes, 16 MiB is the most", bytes.len())),
        Err(error) => (0, error.to_string()),
    };
    let left_out = json!({ "left_out": { "bytes": bytes, "why": why } });
    let stub = JournalRecord { body: left_out, ..bare(record) };
    let line = serde_json::to_vec(&VeiledRecord(&stub, redactor)).map(seal).unwrap_or_default();
    let doing = format!("journalling firing {} (its body was left out)", record.id);
    (line, Some(LedgerError { doing, why }))
}

/// What a line tells: at most one record, and whether anything of it was lost.
pub(super) fn decode(line: &[u8]) -> (Option<Entry>, bool) {
    if let Some(entry) = whole(line) {
        return (Some(entry), false);
    }
    let entry = later_starts(line).take(STARTS_TRIED).find_map(|start| whole(line.get(start..)?));
    (entry, true)
}

fn bare(record: &JournalRecord) -> JournalRecord {
    JournalRecord {
        id: record.id.chars().take(256).collect(),
        session: record.session.chars().take(256).collect(),
        body: serde_json::Value::Null,
        ..*record
    }
}

fn seal(mut json: Vec<u8>) -> Vec<u8> {
    let sum = crc32(&json);
    json.extend_from_slice(format!("\t{sum:08x}\n").as_bytes());
    json
}

fn whole(line: &[u8]) -> Option<Entry> {
    let (json, sum) = line.split_at_checked(line.len().checked_sub(SEAL)?)?;
    if sum != format!("\t{:08x}", crc32(json)).as_bytes() {
        return None;
    }
    let json = String::from_utf8(json.to_vec()).ok()?;
    let record = serde_json::from_str(&json).ok()?;
    let hash: [u8; 32] = Sha256::digest(json.as_bytes()).into();
    let mut key = Key::default();
    key.copy_from_slice(hash.get(..16)?);
    Some(Entry { key, json, record })
}

fn later_starts(line: &[u8]) -> impl Iterator<Item = usize> {
    const START: &[u8] = br#"{"id":""#;
    line.windows(START.len()).enumerate().skip(1).filter(|(_, part)| *part == START).map(|it| it.0)
}

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < table.len() {
        let mut sum = index as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0xEDB8_8320 } else { sum >> 1 };
            bit += 1;
        }
        table[index] = sum;
        index += 1;
    }
    table
};

fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| (sum >> 8) ^ TABLE[usize::from(sum.to_le_bytes()[0] ^ byte)];
    !bytes.iter().fold(!0, step)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_checksum_is_the_common_one() {
        assert_eq!(super::crc32(b"123456789"), 0xCBF4_3926);
    }
}
