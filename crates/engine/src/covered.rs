//! One file as it is now: its bytes or, where those are too many or may not be read, its state. It
//! judges none.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use gambrel_model::FileIdentity;

use crate::swap::read_stable;

/// A larger file is known by its state, not by its bytes.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// One file, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub path: PathBuf,
    pub mark: Mark,
    /// What the kernel knew it by when it was read, see [`read_settled`].
    pub identity: Option<FileIdentity>,
}

/// What a file is known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mark {
    Bytes(Vec<u8>),
    /// Of a file that is too large or may not be read. The time of its last change is the
    /// kernel's: nobody sets it back.
    State(String),
}

impl Part {
    pub fn read(path: PathBuf) -> Self {
        let (mark, identity) = match read_stable(|| contents(&path)) {
            Ok((bytes, identity)) => (Mark::Bytes(bytes), identity),
            Err(why) => {
                let known = fs::metadata(&path).ok().map(|known| FileIdentity::from(&known));
                (Mark::State(state(&path, &why)), known)
            }
        };
        Self { path, mark, identity }
    }

    /// Its text, as far as it is one.
    pub fn text(&self) -> Option<std::borrow::Cow<'_, str>> {
        match &self.mark {
            Mark::Bytes(bytes) if !bytes.contains(&0) => Some(String::from_utf8_lossy(bytes)),
            _ => None,
        }
    }
}

fn contents(path: &Path) -> std::io::Result<(Vec<u8>, FileIdentity)> {
    let file = fs::File::open(path)?;
    let known = file.metadata()?;
    if known.len() > MAX_FILE_BYTES {
        return Err(std::io::Error::other("too large"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(known.len()).unwrap_or(0) + 1);
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok((bytes, FileIdentity::from(&known)))
}

/// What changes with a file whose bytes are not looked at.
#[cfg(unix)]
fn state(path: &Path, why: &std::io::Error) -> String {
    use std::os::unix::fs::MetadataExt;
    let of = |m: fs::Metadata| {
        let changed = (m.ctime(), m.ctime_nsec());
        let written = (m.mtime(), m.mtime_nsec());
        format!("{} {} {written:?} {changed:?}", m.len(), m.ino())
    };
    format!("{why}: {}", fs::metadata(path).map(of).unwrap_or_default())
}

#[cfg(not(unix))]
fn state(path: &Path, why: &std::io::Error) -> String {
    let of = |m: fs::Metadata| format!("{} {:?} {:?}", m.len(), m.modified(), m.created());
    format!("{why}: {}", fs::metadata(path).map(of).unwrap_or_default())
}
