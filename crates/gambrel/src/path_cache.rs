//! File system lookups of one load. A path is looked up once, also when several steps need it. It
//! must not outlive the load: files come and go.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Results of earlier lookups.
#[derive(Debug, Clone, Default)]
pub struct PathCache {
    /// Whether a file exists. A path that could not be looked up is not in the list.
    present: Vec<(PathBuf, bool)>,
    /// Paths with their links resolved.
    real: Vec<(PathBuf, PathBuf)>,
}

impl PathCache {
    /// Whether something exists at this path.
    pub(crate) fn exists(&mut self, path: PathBuf) -> bool {
        if let Some((_, known)) = find_entry(&self.present, &path) {
            return *known;
        }

        let found = match fs::metadata(&path) {
            Ok(_) => true,
            Err(error) if is_absent(&error) => false,
            Err(_) => return false,
        };
        self.present.push((path, found));
        found
    }

    /// Whether an earlier lookup found nothing at this path. Does not look.
    pub(crate) fn is_known_absent(&self, path: &Path) -> bool {
        find_entry(&self.present, path).is_some_and(|(_, known)| !known)
    }

    /// The path with its links resolved, or the path itself if that fails.
    pub(crate) fn canonicalize(&mut self, path: PathBuf) -> PathBuf {
        if let Some((_, known)) = find_entry(&self.real, &path) {
            return known.clone();
        }

        let real = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        self.real.push((path, real.clone()));
        real
    }

    /// The results about the existence of files.
    pub(crate) fn into_known_paths(self) -> Vec<(PathBuf, bool)> {
        self.present
    }
}

/// Compares bytes: a comparison of paths parses both sides.
fn find_entry<'a, T>(entries: &'a [(PathBuf, T)], path: &Path) -> Option<&'a (PathBuf, T)> {
    entries.iter().find(|(known, _)| known.as_os_str() == path.as_os_str())
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::PathCache;

    #[test]
    fn remembers_what_it_has_looked_up() {
        let folder = std::env::temp_dir().join(format!("path-cache-{}", std::process::id()));
        let mut cache = PathCache::default();
        assert!(!cache.is_known_absent(&folder), "nobody has looked");
        assert!(!cache.exists(folder.clone()));
        assert!(cache.is_known_absent(&folder));

        std::fs::create_dir_all(&folder).unwrap();
        assert!(!cache.exists(folder.clone()), "the first result stays");
        let mut fresh = PathCache::default();
        assert!(fresh.exists(folder.clone()), "a new cache looks again");
        assert!(!fresh.is_known_absent(&folder));
        std::fs::remove_dir(&folder).unwrap();
        assert_eq!(cache.into_known_paths(), [(folder, false)]);
    }
}
