//! Finds and reads the files that dialects name. A file that cannot be read is a complaint and
//! never counts as missing.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use gambrel_model::{Complaint, ConfigPath, DirEntry, Expect, LoadedFile, SearchRoots, SourceSpan};

/// Maximum number of files read in one folder of a project.
const MAX_FOLDER_FILE_COUNT: usize = 20_000;
/// Maximum size of a configuration file.
pub const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;
/// A file that changed so recently may be in the middle of being rewritten.
const REWRITE_WINDOW: Duration = Duration::from_secs(2);

pub(crate) fn find_files(
    places: &[ConfigPath],
    ways: &mut SearchPath,
    complaints: &mut Vec<Complaint>,
) -> Vec<LoadedFile> {
    let mut found: Vec<LoadedFile> = Vec::new();
    let following = places.iter().skip(1).map(Some).chain([None]);
    for (place, next) in places.iter().zip(following) {
        if ways.is_folder_absent(place, next) {
            continue;
        }
        for (base, path) in ways.candidates_for(place) {
            // A project file in the home folder is the user's own file, which was found before.
            if found.iter().any(|f| f.place.path == path) {
                break;
            }
            if let Expect::Glob(pattern) = place.expect {
                let Some(mut files) = expand_glob(&path, pattern, complaints) else { continue };
                complaints.extend(truncate_files(&mut files, &path));
                let texts = files
                    .into_iter()
                    .filter_map(|path| read_optional(place, &base, path, complaints));
                found.extend(texts);
                break;
            }
            match read_place(place, &path) {
                Ok(Some((text, mut entries))) => {
                    complaints.extend(truncate_files(&mut entries, &path));
                    ways.add_present(place, &base);
                    let place = ConfigPath { path, ..place.clone() };
                    found.push(LoadedFile { place, base, text, entries });
                    break;
                }
                Ok(None) if place.path.is_absolute() => ways.known.push((path, false)),
                Ok(None) => {}
                Err(complaint) => {
                    complaints.push(complaint);
                    break;
                }
            }
        }
    }
    found
}

/// The files of a folder that fit `*.ending` or `*/NAME`, sorted; `None` without such a folder.
fn expand_glob(
    folder: &Path,
    pattern: &str,
    complaints: &mut Vec<Complaint>,
) -> Option<Vec<PathBuf>> {
    let reader = match fs::read_dir(folder) {
        Ok(reader) => reader,
        Err(error) => {
            complaints.extend(unlisted_complaint(folder, &error));
            return None;
        }
    };
    let paths = reader.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = match pattern.strip_prefix("*/") {
        Some(name) => paths.map(|path| path.join(name)).filter(|path| !is_absent(path)).collect(),
        None => {
            let ending = pattern.trim_start_matches('*');
            paths.filter(|path| path.to_string_lossy().ends_with(ending)).collect()
        }
    };
    files.sort();
    Some(files)
}

/// The complaint about a folder that cannot be listed; `None` if it does not exist.
fn unlisted_complaint(folder: &Path, error: &io::Error) -> Option<Complaint> {
    if !is_absent_error(error) {
        return Some(Complaint::error(
            SourceSpan::of_file(folder),
            format!("cannot be listed: {error}"),
        ));
    }
    if error.kind() == io::ErrorKind::NotFound {
        return None;
    }
    // A file is in its place, or in the place of a folder above it. A trailing slash would hide
    // that.
    let folder: PathBuf = folder.components().collect();
    let known = read_metadata(&folder).ok()?;
    let complaint = Complaint::error(SourceSpan::of_file(&folder), "is not a folder")
        .with_help("hooks are read from the files of a folder here: move it away");
    Some(Complaint { closes_tool_gates: is_special(&known), ..complaint })
}

/// Reads one of many files. A file that is not UTF-8 has no hooks; an unreadable file is a
/// complaint.
fn read_optional(
    place: &ConfigPath,
    base: &Path,
    path: PathBuf,
    complaints: &mut Vec<Complaint>,
) -> Option<LoadedFile> {
    let bytes = match read_bytes(&path) {
        Ok(bytes) => bytes?,
        Err(complaint) => {
            complaints.push(complaint);
            return None;
        }
    };
    let text = String::from_utf8(bytes).ok()?;
    let place = ConfigPath { path, ..place.clone() };
    Some(LoadedFile { place, base: base.to_owned(), text, entries: Vec::new() })
}

/// The folders in which relative paths are searched: the root and the folders above it, up to the
/// project's root. Shared path heads are looked up once.
pub(crate) struct SearchPath {
    folders: Vec<PathBuf>,
    /// Paths that were looked up, and whether a file exists there. Several dialects name the same.
    known: Vec<(PathBuf, bool)>,
}

impl SearchPath {
    /// From the root upwards, to the repository's root or home.
    pub fn from_roots(roots: &SearchRoots) -> Self {
        let mut path = Self { folders: Vec::new(), known: roots.known_paths.clone() };
        for folder in roots.root.ancestors() {
            let at_home = roots.home.as_deref() == Some(folder);
            if at_home && folder != roots.root {
                break;
            }
            path.folders.push(folder.to_owned());
            let git = folder.join(".git");
            if at_home || path.find_known(&git).unwrap_or_else(|| git.exists()) {
                break;
            }
        }
        path
    }

    /// Forgets earlier lookups, because files may have changed.
    pub fn forget_lookups(&mut self) {
        self.known.clear();
    }

    fn find_known(&self, path: &Path) -> Option<bool> {
        // Bytes are compared, because a comparison of paths parses both sides.
        let known = self.known.iter().find(|(known, _)| known.as_os_str() == path.as_os_str());
        known.map(|(_, present)| *present)
    }

    /// Whether something may be at a path. An error other than "not found" counts as present;
    /// reading the file then reports it.
    fn is_present(&mut self, path: PathBuf) -> bool {
        if let Some(present) = self.find_known(&path) {
            return present;
        }

        let present = !is_absent(&path);
        self.known.push((path, present));
        present
    }

    /// Whether the folder of an absolute path does not exist. It is looked up only if the next
    /// path is in it, too.
    fn is_folder_absent(&mut self, place: &ConfigPath, next: Option<&ConfigPath>) -> bool {
        let Some(folder) = place.path.parent().filter(|_| place.path.is_absolute()) else {
            return false;
        };
        if let Some(present) = self.find_known(folder) {
            return !present;
        }
        let is_shared = next.and_then(|next| next.path.parent()) == Some(folder);
        is_shared && !self.is_present(folder.to_owned())
    }

    /// Stores that the folder of an absolute path exists.
    fn add_present(&mut self, place: &ConfigPath, folder: &Path) {
        if place.path.is_absolute() {
            self.known.push((folder.to_owned(), true));
        }
    }

    /// Base and path of every candidate, nearest first.
    fn candidates_for(&mut self, place: &ConfigPath) -> Vec<(PathBuf, PathBuf)> {
        if place.path.is_absolute() {
            let base = place.path.parent().unwrap_or(Path::new("/")).to_owned();
            let is_absent = self.find_known(&place.path) == Some(false);
            return if is_absent { Vec::new() } else { vec![(base, place.path.clone())] };
        }
        let head = place.path.components().next();
        let head = head.map_or_else(<&OsStr>::default, Component::as_os_str);
        let mut ways = Vec::new();
        for at in 0..self.folders.len() {
            if self.is_present(join_name(&self.folders[at], head)) {
                let folder = self.folders[at].clone();
                let path = folder.join(&place.path);
                ways.push((folder, path));
            }
        }
        ways
    }
}

/// A name in a folder. `Path::join` parses both and allocates twice.
pub fn join_name(folder: &Path, name: &OsStr) -> PathBuf {
    let folder = folder.as_os_str();
    let mut path = OsString::with_capacity(folder.len() + 1 + name.len());
    path.push(folder);
    if !folder.as_encoded_bytes().ends_with(b"/") {
        path.push("/");
    }
    path.push(name);
    path.into()
}

type FileContent = (String, Vec<DirEntry>);

fn read_place(place: &ConfigPath, path: &Path) -> Result<Option<FileContent>, Complaint> {
    match place.expect {
        Expect::File => Ok(read_text(path)?.map(|text| (text, Vec::new()))),
        Expect::Glob(_) => Ok(None),
        Expect::Dir => Ok(list_dir(path)?.map(|entries| (String::new(), entries))),
    }
}

/// Drops files above the limit and returns a complaint about it.
fn truncate_files<T>(files: &mut Vec<T>, folder: &Path) -> Option<Complaint> {
    let more = files.len() > MAX_FOLDER_FILE_COUNT;
    files.truncate(MAX_FOLDER_FILE_COUNT);
    let message = format!("has more than {MAX_FOLDER_FILE_COUNT} files; the rest is not used");
    more.then(|| Complaint::error(SourceSpan::of_file(folder), message))
}

/// The text of a file; `None` when there is no such file.
pub fn read_text(path: &Path) -> Result<Option<String>, Complaint> {
    let Some(bytes) = read_bytes(path)? else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|b| **b == b'\n').count() + 1;
        let spot = SourceSpan { line, column: 1, start: at, end: at, ..SourceSpan::of_file(path) };
        Complaint::error(spot, "is not UTF-8 text")
    })?;
    if let Some(at) = text.find('\0') {
        return Err(Complaint::error(
            SourceSpan::of_range(path, &text, at, at + 1),
            "holds a NUL byte",
        ));
    }
    Ok(Some(text))
}

/// The bytes of a plain file; `None` when there is no such file.
fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, Complaint> {
    let refuse = |message: String| Complaint::error(SourceSpan::of_file(path), message);
    // Checked before it is opened: opening a pipe without a writer would block.
    let known = match read_metadata(path) {
        Ok(known) => known,
        Err(error) if is_absent_error(&error) => return Ok(None),
        Err(error) => return Err(refuse(format!("cannot be read: {error}"))),
    };
    if !known.is_file() {
        let complaint =
            refuse("is not a file".into()).with_help("hooks are read from a plain file here");
        // A pipe or socket in place of the hooks.
        let closes_tool_gates = is_pipe_or_socket(&known);
        return Err(Complaint { closes_tool_gates, ..complaint });
    }
    if known.len() > MAX_FILE_BYTES {
        let message = format!("has {} bytes; at most {MAX_FILE_BYTES} are read", known.len());
        return Err(refuse(message));
    }
    let read = fs::File::open(path).and_then(|file| read_file(file, known.len()));
    read.map(Some).map_err(|error| refuse(format!("cannot be read: {error}")))
}

/// Reads a file of this size with one call. A file that has changed its size is read to its end.
fn read_file(mut file: fs::File, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0) + 1];
    let count = loop {
        match file.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read?,
        }
    };
    bytes.truncate(count);
    if count as u64 != size {
        file.take(MAX_FILE_BYTES.saturating_sub(count as u64)).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// `stat`, again where a signal interrupted it.
fn read_metadata(path: &Path) -> io::Result<fs::Metadata> {
    loop {
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            known => return known,
        }
    }
}

fn is_absent(path: &Path) -> bool {
    read_metadata(path).err().is_some_and(|error| is_absent_error(&error))
}

/// The complaint about an empty file, without even a comment.
pub(crate) fn empty_file(found: &LoadedFile) -> Option<Complaint> {
    let is_empty = found.place.expect == Expect::File && found.text.trim().is_empty();
    is_empty.then(|| {
        Complaint::error(
            SourceSpan::of_file(&found.place.path),
            "is empty, so its hooks are missing",
        )
        .with_help("remove the file, or write a comment or `{}` into it")
    })
}

/// Whether a file changed a moment ago, so that it may still be being written.
pub(crate) fn is_being_written(found: &LoadedFile) -> bool {
    let changed = read_metadata(&found.place.path).and_then(|known| known.modified());
    let age = changed.ok().and_then(|at| SystemTime::now().duration_since(at).ok());
    age.is_some_and(|age| age < REWRITE_WINDOW)
}

fn is_pipe_or_socket(known: &fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    known.file_type().is_fifo() || known.file_type().is_socket()
}

/// A pipe, a socket or a device.
fn is_special(known: &fs::Metadata) -> bool {
    !known.is_file() && !known.is_dir() && !known.is_symlink()
}

fn is_absent_error(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

fn list_dir(path: &Path) -> Result<Option<Vec<DirEntry>>, Complaint> {
    let reader = match fs::read_dir(path) {
        Ok(reader) => reader,
        Err(error) => return unlisted_complaint(path, &error).map_or(Ok(None), Err),
    };
    let mut entries: Vec<DirEntry> = reader.filter_map(Result::ok).filter_map(read_entry).collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Some(entries))
}

fn read_entry(found: fs::DirEntry) -> Option<DirEntry> {
    let path = found.path();
    let facts = fs::metadata(&path).ok();
    let name = found.file_name().to_str()?.to_owned();
    let plain = facts.as_ref().is_some_and(fs::Metadata::is_file);
    let executable = plain && facts.as_ref().is_some_and(is_executable);
    let special = facts.as_ref().is_some_and(is_special);
    Some(DirEntry { name, path, executable, is_file: plain, special })
}

fn is_executable(facts: &fs::Metadata) -> bool {
    facts.permissions().mode() & 0o111 != 0
}

#[cfg(test)]
mod tests {
    use gambrel_model::Scope;

    use super::*;

    /// Only a folder that certainly does not exist is passed over.
    #[test]
    fn reports_files_of_a_folder_that_cannot_be_looked_up() {
        let base = std::env::temp_dir().join(format!("find-files-{}", std::process::id()));
        fs::create_dir_all(&base).unwrap();
        std::os::unix::fs::symlink("loop", base.join("loop")).unwrap();
        let place = |folder: &str, name: &str| ConfigPath {
            path: base.join(folder).join(name),
            scope: Scope::User,
            expect: Expect::File,
            tag: "",
        };
        let places =
            [place("none", "a"), place("none", "b"), place("loop", "a"), place("loop", "b")];
        let mut complaints = Vec::new();
        let mut ways = SearchPath::from_roots(&SearchRoots::default());
        assert!(find_files(&places, &mut ways, &mut complaints).is_empty());
        let files: Vec<&Path> = complaints.iter().map(|it| it.spot.path.as_path()).collect();
        assert_eq!(files, [&*base.join("loop/a"), &*base.join("loop/b")]);

        // Another attempt looks again.
        ways.forget_lookups();
        fs::create_dir_all(base.join("none")).unwrap();
        fs::write(base.join("none/b"), "text").unwrap();
        assert_eq!(find_files(&places[..2], &mut ways, &mut Vec::new()).len(), 1);
        fs::remove_dir_all(&base).unwrap();
    }
}
