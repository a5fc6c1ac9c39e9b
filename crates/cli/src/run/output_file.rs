//! Reads what an agent writes while it writes it: the end of a file, and what was appended since.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// How much of the end of a file is looked at for last words.
const MAX_END_BYTES: u64 = 4 << 10;
/// How much is read at once.
const MAX_CHUNK_BYTES: u64 = 256 << 10;

/// The end of a file; `None` for an empty or missing one.
pub fn read_end(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok().filter(|known| known.is_file())?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_END_BYTES))).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_END_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (!text.trim().is_empty()).then_some(text)
}

/// A file that grows.
pub struct GrowingFile {
    path: PathBuf,
    offset: u64,
    /// The beginning of a character whose rest is not there yet.
    rest: Vec<u8>,
}

impl GrowingFile {
    /// A file from its beginning. It need not be there yet.
    pub fn new(path: PathBuf) -> Self {
        Self { path, offset: 0, rest: Vec::new() }
    }

    /// What was appended since the last call, at most a part of it; empty if nothing was.
    pub fn read_more(&mut self) -> String {
        let mut bytes = std::mem::take(&mut self.rest);
        let kept = bytes.len();
        // A file that cannot be read now may be readable at the next call.
        if self.read_bytes(&mut bytes).is_none() || bytes.len() == kept {
            self.rest = bytes;
            return String::new();
        }
        let cut = match std::str::from_utf8(&bytes) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => bytes.len(),
        };
        self.rest = bytes.split_off(cut);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn read_bytes(&mut self, bytes: &mut Vec<u8>) -> Option<()> {
        let mut file = File::open(&self.path).ok()?;
        let length = file.metadata().ok().filter(|known| known.is_file())?.len();
        if length < self.offset {
            // A new attempt has written it again.
            self.offset = 0;
            bytes.clear();
        }
        file.seek(SeekFrom::Start(self.offset)).ok()?;
        let count = file.take(MAX_CHUNK_BYTES).read_to_end(bytes).ok()?;
        self.offset += count as u64;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{GrowingFile, read_end};

    #[test]
    fn keeps_a_character_until_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output.md");
        let mut reader = GrowingFile::new(path.clone());
        assert_eq!(reader.read_more(), "", "the file is not there");
        let mut file = std::fs::File::create(&path).unwrap();
        let bytes = "aé".as_bytes();
        file.write_all(&bytes[..2]).unwrap();
        assert_eq!(reader.read_more(), "a");
        assert_eq!(reader.read_more(), "");
        file.write_all(&bytes[2..]).unwrap();
        assert_eq!(reader.read_more(), "é");
        std::fs::write(&path, "b\n").unwrap();
        assert_eq!(reader.read_more(), "b\n", "it was written again");
    }

    #[test]
    fn reads_the_end_of_a_long_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output.md");
        assert_eq!(read_end(&path), None);
        std::fs::write(&path, "x".repeat(100_000) + "\nthe end\n").unwrap();
        assert!(read_end(&path).unwrap().ends_with("\nthe end\n"));
        std::fs::write(&path, "\n \n").unwrap();
        assert_eq!(read_end(&path), None);
    }
}
