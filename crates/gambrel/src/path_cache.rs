//! File system lookups of one load. A path is looked up once, also when several steps need it. It
//! must not outlive the load: files come and go.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open, readlink};
use rustix::io::retry_on_intr;

/// Room for most paths.
const LINK_BYTES: usize = 256;
/// How the kernel ends the path of a removed file.
const DELETED: &[u8] = b" (deleted)";

/// Results of earlier lookups.
#[derive(Debug, Clone, Default)]
pub struct PathCache {
    /// Whether a file exists. A path that could not be looked up is not in the list.
    present: Vec<(PathBuf, bool)>,
    /// Paths with their links resolved.
    real: Vec<(PathBuf, PathBuf)>,
    /// Whether a load has taken the results. A later one may come after hours.
    is_taken: bool,
}

impl PathCache {
    /// The results for a load. After it nothing is remembered here.
    pub(crate) fn take_for_load(&mut self) -> Self {
        let taken = std::mem::replace(self, Self { is_taken: true, ..Self::default() });
        Self { is_taken: false, ..taken }
    }

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
        if !self.is_taken {
            self.present.push((path, found));
        }
        found
    }

    /// Stores that nothing exists at this path.
    pub(crate) fn add_absent(&mut self, path: PathBuf) {
        if !self.is_taken {
            self.present.push((path, false));
        }
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

        let real = resolve_links(&path).unwrap_or_else(|_| path.clone());
        self.real.push((path, real.clone()));
        real
    }

    /// Stores a path that has no links.
    pub(crate) fn add_real(&mut self, path: &Path) {
        self.real.push((path.to_owned(), path.to_owned()));
    }

    /// The results about the existence of files.
    pub(crate) fn into_known_paths(self) -> Vec<(PathBuf, bool)> {
        self.present
    }
}

/// The path that the kernel has for an open file, with three system calls. `fs::canonicalize` needs
/// one for each folder of the path, and memory of the C library.
pub(crate) fn resolve_links(path: &Path) -> io::Result<PathBuf> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let file = retry_on_intr(|| open(path, flags, Mode::empty()))?;
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    match readlink(link, Vec::with_capacity(LINK_BYTES)) {
        // A removed or unreachable file has no path that begins at the root and leads to it.
        Ok(real) if real.as_bytes().starts_with(b"/") && !real.as_bytes().ends_with(DELETED) => {
            Ok(PathBuf::from(OsString::from_vec(real.into_bytes())))
        }
        // Without `/proc`.
        _ => fs::canonicalize(path),
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
    use crate::Setup;

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

    /// A run lasts for hours, and loads hooks again and again.
    #[test]
    fn a_later_load_looks_again() {
        let home = std::env::temp_dir().join(format!("path-cache-home-{}", std::process::id()));
        let folder = home.join("gambrel");
        let env = [("XDG_CONFIG_HOME".to_owned(), home.display().to_string())];
        let setup = Setup {
            env: std::sync::Arc::new(env.into()),
            is_own_process: true,
            ..Setup::in_memory(std::env::temp_dir())
        };
        let absent = || {
            // What a load and a question read of the user's folder.
            assert_eq!((setup.read_preferences().as_str(), setup.public_url()), ("", None));
            let _files = setup.secrets_files();
            let known = setup.search_roots(None).known_paths;
            known.into_iter().any(|(path, present)| path == folder && !present)
        };
        assert!(absent(), "the first load need not look again");
        assert!(!absent(), "a later load looks, because the folder may exist by then");
    }
}
