//! The trusted files that a call runs: what each was when it was hashed, and copies of the bytes
//! where nothing else may run. Pure data: the engine fills it in, an action looks again.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The files that a trusted hook is made of, and the folders on the way to them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchedFiles {
    /// Every hashed file.
    pub files: Vec<WatchedFile>,
    /// Folders that lead to them. Other files in there may come and go.
    pub folders: Vec<WatchedFile>,
    /// Where nothing but the hashed bytes may run: those bytes, and where they belong.
    #[serde(default)]
    pub copies: Option<VerifiedCopies>,
}

/// One file or folder, as it was when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedFile {
    /// Its real path.
    pub path: PathBuf,
    /// `None`: it changed so recently that a later change cannot be told by its times.
    pub identity: Option<FileIdentity>,
}

/// What the kernel knows a file by. Nobody can set `changed` back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIdentity {
    /// The device and the inode.
    pub inode: (u64, u64),
    /// Its length.
    pub size: u64,
    /// When its bytes, or its entries, changed last: seconds and nanoseconds.
    pub written: (i64, i64),
    /// When anything of it changed last, its name included.
    pub changed: (i64, i64),
}

/// The hashed bytes, to be executed in place of whatever their paths lead to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifiedCopies {
    /// The folder whose folders are closed down to each file, so that no rename is seen.
    pub root: PathBuf,
    /// The bytes by their real paths.
    pub files: Vec<VerifiedCopy>,
}

/// The hashed bytes of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifiedCopy {
    /// Its real path.
    pub path: PathBuf,
    /// Its permissions.
    pub mode: u32,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl FileIdentity {
    /// Whether a folder of this identity was itself renamed or replaced since `before`. A folder
    /// whose entries changed has a new `written` as well, and is still the same folder.
    pub fn is_moved_folder(&self, before: &Self) -> bool {
        let renamed = self.changed != before.changed && self.written == before.written;
        self.inode != before.inode || renamed
    }
}

#[cfg(unix)]
impl From<&std::fs::Metadata> for FileIdentity {
    fn from(known: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self {
            inode: (known.dev(), known.ino()),
            size: known.size(),
            written: (known.mtime(), known.mtime_nsec()),
            changed: (known.ctime(), known.ctime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FileIdentity;

    #[test]
    fn tells_a_renamed_folder_from_one_with_new_entries() {
        let before = FileIdentity { inode: (1, 2), size: 0, written: (5, 0), changed: (5, 0) };
        let with_new_entry = FileIdentity { written: (6, 0), changed: (6, 0), ..before };
        let renamed = FileIdentity { changed: (6, 0), ..before };
        let replaced = FileIdentity { inode: (1, 3), ..with_new_entry };
        assert!(!before.is_moved_folder(&before));
        assert!(!with_new_entry.is_moved_folder(&before));
        assert!(renamed.is_moved_folder(&before));
        assert!(replaced.is_moved_folder(&before));
    }
}
