//! One file as it is now: its bytes or, if it is too large or unreadable, its metadata. It must not
//! decide trust.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use gambrel_model::FileIdentity;

use crate::swap::read_stable;

/// A larger file is identified by its metadata, not by its bytes.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// One file, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HookFile {
    pub path: PathBuf,
    pub mark: Fingerprint,
    /// Its identity in the kernel when it was read, see [`read_settled`].
    pub identity: Option<FileIdentity>,
}

/// The identity of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fingerprint {
    Bytes(Vec<u8>),
    /// For a file that is too large or unreadable. It includes the ctime, which no program can set
    /// back.
    State(String),
}

impl HookFile {
    pub fn read_file(path: PathBuf) -> Self {
        let (mark, identity) = match read_stable(|| read_contents(&path)) {
            Ok((bytes, identity)) => (Fingerprint::Bytes(bytes), identity),
            Err(why) => {
                let known = fs::metadata(&path).ok().map(|known| FileIdentity::from(&known));
                (Fingerprint::State(describe_state(&path, &why)), known)
            }
        };
        Self { path, mark, identity }
    }

    /// Its text, if it is UTF-8.
    pub fn to_text(&self) -> Option<std::borrow::Cow<'_, str>> {
        match &self.mark {
            Fingerprint::Bytes(bytes) if !bytes.contains(&0) => {
                Some(String::from_utf8_lossy(bytes))
            }
            _ => None,
        }
    }
}

fn read_contents(path: &Path) -> std::io::Result<(Vec<u8>, FileIdentity)> {
    let file = fs::File::open(path)?;
    let known = file.metadata()?;
    if known.len() > MAX_FILE_BYTES {
        return Err(std::io::Error::other("too large"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(known.len()).unwrap_or(0) + 1);
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok((bytes, FileIdentity::from(&known)))
}

/// Metadata that changes with a file whose bytes are not read.
fn describe_state(path: &Path, why: &std::io::Error) -> String {
    use std::os::unix::fs::MetadataExt;
    let of = |m: fs::Metadata| {
        let changed = (m.ctime(), m.ctime_nsec());
        let written = (m.mtime(), m.mtime_nsec());
        format!("{} {} {written:?} {changed:?}", m.len(), m.ino())
    };
    format!("{why}: {}", fs::metadata(path).map(of).unwrap_or_default())
}
