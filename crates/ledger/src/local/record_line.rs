//! One record as one line: its JSON, a tab, and eight hexadecimal digits of CRC-32. Detects torn
//! and changed lines. Does no I/O.

use gambrel_model::ledger::{JournalRecord, LedgerError, LedgerErrorKind};
use serde_json::json;

use crate::redact::{Redactor, write_record};

/// Maximum length of a line. Writers leave out the body of a longer record; readers ignore it.
pub(super) const MAX_LINE_BYTES: usize = 16 << 20;
/// Length of the tab and the eight digits.
const CHECKSUM_BYTES: usize = 9;
/// Maximum number of record starts to try in a line that begins with a torn record.
const MAX_START_COUNT: usize = 64;

/// Identifies a record. A record that is read twice has the same key.
pub(super) type RecordKey = [u8; 16];

/// An intact record and its key.
#[derive(Debug, Clone)]
pub(super) struct RecordLine {
    pub(super) key: RecordKey,
    pub(super) json: String,
    pub(super) record: JournalRecord,
}

/// The redacted line of a record. The error says that its body was left out.
pub(super) fn encode_record(
    record: &JournalRecord,
    redactor: &Redactor,
) -> (Vec<u8>, Option<LedgerError>) {
    let (bytes, why) = match write_record(record, redactor) {
        Ok(bytes) if bytes.len() + CHECKSUM_BYTES < MAX_LINE_BYTES => {
            return (append_checksum(bytes), None);
        }
        Ok(bytes) => (bytes.len(), format!("it has {} bytes; the limit is 16 MiB", bytes.len())),
        Err(error) => (0, error.to_string()),
    };
    let left_out = json!({ "left_out": { "bytes": bytes, "why": why } });
    let stub = JournalRecord { body: left_out, ..without_body(record) };
    let line = write_record(&stub, redactor).map(append_checksum).unwrap_or_default();
    let doing = format!("journalling firing {} (its body was left out)", record.id);
    (line, Some(LedgerError::new(LedgerErrorKind::Refused, doing, why)))
}

/// Parses a line: at most one record, and whether anything was lost.
pub(super) fn decode_line(line: &[u8]) -> (Option<RecordLine>, bool) {
    if let Some(entry) = parse_intact(line) {
        return (Some(entry), false);
    }
    let entry =
        later_starts(line).take(MAX_START_COUNT).find_map(|start| parse_intact(line.get(start..)?));
    (entry, true)
}

fn without_body(record: &JournalRecord) -> JournalRecord {
    JournalRecord {
        id: record.id.chars().take(256).collect(),
        session: record.session.chars().take(256).collect(),
        body: serde_json::Value::Null,
        origin: record.origin.clone(),
        ..*record
    }
}

fn append_checksum(mut json: Vec<u8>) -> Vec<u8> {
    let sum = crc32(&json);
    json.extend_from_slice(format!("\t{sum:08x}\n").as_bytes());
    json
}

fn parse_intact(line: &[u8]) -> Option<RecordLine> {
    let (json, sum) = line.split_at_checked(line.len().checked_sub(CHECKSUM_BYTES)?)?;
    if sum != format!("\t{:08x}", crc32(json)).as_bytes() {
        return None;
    }
    let json = String::from_utf8(json.to_vec()).ok()?;
    let record = serde_json::from_str(&json).ok()?;
    let hash = gambrel_model::sha256(&json);
    let mut key = RecordKey::default();
    key.copy_from_slice(hash.get(..16)?);
    Some(RecordLine { key, json, record })
}

fn later_starts(line: &[u8]) -> impl Iterator<Item = usize> {
    const START: &[u8] = br#"{"id":""#;
    line.windows(START.len()).enumerate().skip(1).filter(|(_, part)| *part == START).map(|it| it.0)
}

/// The CRC of a byte that is followed by as many zero bytes as the index of the table.
const CRC_TABLES: [[u32; 256]; 4] = {
    let mut tables = [[0; 256]; 4];
    let mut index = 0;
    while index < 256 {
        let mut sum = index as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0xEDB8_8320 } else { sum >> 1 };
            bit += 1;
        }
        tables[0][index] = sum;
        index += 1;
    }
    let mut zeros = 1;
    while zeros < 4 {
        let mut index = 0;
        while index < 256 {
            let before: u32 = tables[zeros - 1][index];
            tables[zeros][index] = (before >> 8) ^ tables[0][(before & 0xFF) as usize];
            index += 1;
        }
        zeros += 1;
    }
    tables
};

/// Four bytes at a time: their lookups do not wait for each other.
fn crc32(bytes: &[u8]) -> u32 {
    let [after_0, after_1, after_2, after_3] = &CRC_TABLES;
    let (words, rest) = bytes.as_chunks();
    let sum = words.iter().fold(!0, |sum: u32, word| {
        let [first, second, third, last] = (sum ^ u32::from_le_bytes(*word)).to_le_bytes();
        after_3[usize::from(first)]
            ^ after_2[usize::from(second)]
            ^ after_1[usize::from(third)]
            ^ after_0[usize::from(last)]
    });
    let step = |sum: u32, byte: &u8| (sum >> 8) ^ after_0[usize::from(sum.to_le_bytes()[0] ^ byte)];
    !rest.iter().fold(sum, step)
}

#[cfg(test)]
mod tests {
    #[test]
    fn computes_the_standard_crc32() {
        for (bytes, sum) in [
            (&b""[..], 0),
            (b"a", 0xE8B7_BE43),
            (b"1234", 0x9BE3_E0A3),
            (b"123456789", 0xCBF4_3926),
            (b"The quick brown fox jumps over the lazy dog", 0x414F_A339),
        ] {
            assert_eq!(super::crc32(bytes), sum);
        }
    }
}
