//! Glob patterns as a shell reads them: `*`, `?`, `[a-z]`, and `**` for folders at any depth. It
//! looks at names of files and never at their bytes.

use std::fs;
use std::path::{Path, PathBuf};

use gambrel_model::glob::glob_matches;

/// A pattern does not lead to more files than this.
pub(crate) const MAX_GLOB_FILES: usize = 512;
/// Folders that one pattern may look into.
const MAX_GLOB_FOLDERS: usize = 2_000;

/// The files of a pattern, sorted; `None` when there are too many. A pattern that begins with `/`
/// is absolute, any other is meant from `folder`.
pub(crate) fn expand_glob(pattern: &str, folder: &Path) -> Option<Vec<PathBuf>> {
    let (start, pattern) = match pattern.strip_prefix('/') {
        Some(rest) => (PathBuf::from("/"), rest),
        None => (folder.to_owned(), pattern),
    };
    let segments: Vec<&str> = pattern.split('/').filter(|s| !s.is_empty() && *s != ".").collect();
    let mut search = Search { found: Vec::new(), folders: 0 };
    search.search_folder(&start, &segments)?;
    search.found.sort();
    search.found.dedup();
    Some(search.found)
}

struct Search {
    found: Vec<PathBuf>,
    folders: usize,
}

impl Search {
    fn search_folder(&mut self, folder: &Path, segments: &[&str]) -> Option<()> {
        let Some((first, rest)) = segments.split_first() else {
            if folder.is_file() {
                self.found.push(folder.to_owned());
            }
            return (self.found.len() <= MAX_GLOB_FILES).then_some(());
        };
        if !has_sign(first) {
            return self.search_folder(&folder.join(unescape(first)), rest);
        }
        self.folders += 1;
        if self.folders > MAX_GLOB_FOLDERS {
            return None;
        }
        let deep = *first == "**";
        if deep {
            self.search_folder(folder, rest)?;
        }
        let Ok(entries) = fs::read_dir(folder) else { return Some(()) };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if name.starts_with('.') && !first.starts_with('.') {
                continue;
            }
            let path = entry.path();
            if deep {
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_folder {
                    self.search_folder(&path, segments)?;
                }
            } else if glob_matches(first, name) {
                self.search_folder(&path, rest)?;
            }
        }
        Some(())
    }
}

fn has_sign(segment: &str) -> bool {
    let mut escaped = false;
    segment.chars().any(|c| {
        let sign = !escaped && matches!(c, '*' | '?' | '[');
        escaped = c == '\\' && !escaped;
        sign
    })
}

fn unescape(segment: &str) -> String {
    let mut plain = String::with_capacity(segment.len());
    let mut chars = segment.chars();
    while let Some(c) = chars.next() {
        plain.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
    }
    plain
}
