//! The trusted files of a call: the identity of each file when it was hashed and, for
//! `verified_exec`, a copy of its bytes. The engine fills it in, and an action compares it again.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The files of a trusted hook and the folders that lead to them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchedFiles {
    /// Every hashed file.
    pub files: Vec<WatchedFile>,
    /// Folders that lead to them. Other files in them may change.
    pub folders: Vec<WatchedFile>,
    /// For `verified_exec`: the hashed bytes and their paths.
    pub copies: Option<VerifiedCopies>,
}

/// One file or folder with its identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedFile {
    /// Its real path.
    pub path: PathBuf,
    /// `None` if it changed so recently that its times cannot show a later change.
    pub identity: Option<FileIdentity>,
}

/// The identity of a file in the kernel. No program can set `changed` back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIdentity {
    /// The device and the inode.
    pub inode: (u64, u64),
    /// Its length.
    pub size: u64,
    /// When its bytes, or its entries, changed last: seconds and nanoseconds.
    pub written: (i64, i64),
    /// When its inode changed last, also by a rename.
    pub changed: (i64, i64),
}

/// The hashed bytes, executed instead of the files at their paths.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifiedCopies {
    /// The folder below which every folder that leads to a file is replaced by a private copy.
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
