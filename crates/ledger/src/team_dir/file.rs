//! JSON files of a team: read whole, replaced whole.

use std::fmt::Display;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use gambrel_model::ledger::{LedgerError, LedgerErrorKind, LedgerResult};
use serde_json::Value;

use super::lock::unique_beside;

/// The largest file that is read.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Reads a JSON file; `None` if there is none.
pub(super) fn read_json(path: &Path) -> LedgerResult<Option<Value>> {
    let opened = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error("reading", path, &error)),
    };
    let mut bytes = Vec::new();
    let read = opened.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| io_error("reading", path, &error))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(corrupt_error(path, format!("it has more than {MAX_FILE_BYTES} bytes")));
    }
    let value = serde_json::from_slice(&bytes);
    value.map(Some).map_err(|error| corrupt_error(path, format!("it is no JSON: {error}")))
}

/// Writes a JSON file as pi-teams does. The old file stays if the new one cannot be written.
pub(super) fn replace_json(path: &Path, value: &Value) -> LedgerResult {
    let draft = unique_beside(path, "tmp");
    let write = || {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&draft)?;
        file.write_all(format!("{value:#}\n").as_bytes())?;
        file.sync_data()?;
        fs::rename(&draft, path)
    };
    write().map_err(|error| {
        let _removed = fs::remove_file(&draft);
        io_error("writing", path, &error)
    })
}

/// Creates the folder of a file.
pub(super) fn create_folder(path: &Path) -> LedgerResult {
    let Some(folder) = path.parent() else { return Ok(()) };
    fs::create_dir_all(folder).map_err(|error| io_error("creating", folder, &error))
}

pub(super) fn io_error(doing: &str, path: &Path, error: &io::Error) -> LedgerError {
    let kind = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => LedgerErrorKind::StorageFull,
        _ => LedgerErrorKind::Unavailable,
    };
    LedgerError::new(kind, format!("{doing} {}", path.display()), error)
}

pub(super) fn corrupt_error(path: &Path, why: impl Display) -> LedgerError {
    let doing = format!("reading {}", path.display());
    LedgerError::new(LedgerErrorKind::Corrupt, doing, format!("{why}; repair or move the file"))
}
