//! Writes the files that verdicts ask for: only the user can read them, because hook output may
//! contain anything.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use gambrel_model::{Decision, Event, SideEffect};
use serde_json::Value;

use crate::Engine;

/// The most files of one name and different numbers.
const MAX_SAME_NAMES: usize = 10_000;

/// Writes all files. A failure is a warning and changes no decision.
pub(crate) fn write_files(engine: &Engine<'_>, event: &Event, decision: &mut Decision) {
    for effect in &decision.for_caller.side_effects {
        let (path, written) = match effect {
            SideEffect::WriteFile { path, text } => {
                (path, write_private(path, &redact_text(engine, path, text)))
            }
            SideEffect::AddFile { path, text } => {
                let text = redact_text(engine, path, text);
                // A firing that is repeated has perhaps written the file before.
                let is_there = event.firing_key.is_some() && has_equal_file(path, &text);
                (path, if is_there { Ok(()) } else { add_private(path, &text) })
            }
            SideEffect::Recover | SideEffect::FollowUp { .. } | SideEffect::QualityGate(_) => {
                continue;
            }
        };
        if let Err(error) = written {
            decision.warnings.push(format!("{}: not written: {error}", path.display()));
        }
    }
}

/// Redacts secrets from a text. JSON stays valid JSON, also where a number is a secret.
fn redact_text(engine: &Engine<'_>, path: &Path, text: &str) -> String {
    let json = path.extension().is_some_and(|ending| ending == "json");
    let read = json.then(|| serde_json::from_str(text).ok()).flatten();
    let before = read.unwrap_or_else(|| Value::from(text));
    let mut value = before.clone();
    (engine.redact)(&mut value);
    match value {
        value if value == before => text.to_owned(),
        Value::String(clean) => clean,
        value => format!("{value:#}\n"),
    }
}

/// Replaces a file that only the user can read.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    create_folder(path)?;
    private_options().create(true).truncate(true).open(path)?.write_all(text.as_bytes())
}

/// Writes a file beside those that are there, with the first name that is free: `name.json`,
/// `name-2.json` and so on.
fn add_private(path: &Path, text: &str) -> io::Result<()> {
    create_folder(path)?;
    for number in 1..=MAX_SAME_NAMES {
        match private_options().create_new(true).open(numbered_path(path, number)) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            opened => return opened?.write_all(text.as_bytes()),
        }
    }
    Err(io::Error::other("too many files have this name"))
}

fn numbered_path(path: &Path, number: usize) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}-{number}.{ending}"))
}

/// Whether a file with this text is in the folder of `path`.
fn has_equal_file(path: &Path, text: &str) -> bool {
    let entries = path.parent().and_then(|folder| fs::read_dir(folder).ok());
    entries.into_iter().flatten().flatten().any(|entry| {
        let has_length = entry.metadata().is_ok_and(|meta| meta.len() == text.len() as u64);
        has_length && fs::read(entry.path()).is_ok_and(|bytes| bytes == text.as_bytes())
    })
}

fn create_folder(path: &Path) -> io::Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    fs::DirBuilder::new().mode(0o700).recursive(true).create(folder)
}

fn private_options() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::{add_private, has_equal_file};

    #[test]
    fn a_file_that_exists_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs/now_idle.json");
        for text in ["first", "second", "third"] {
            assert!(!has_equal_file(&path, text));
            add_private(&path, text).unwrap();
            assert!(has_equal_file(&path, text));
        }
        let read = |name: &str| std::fs::read_to_string(folder.path().join("logs").join(name));
        assert_eq!(read("now_idle.json").unwrap(), "first");
        assert_eq!(read("now_idle-2.json").unwrap(), "second");
        assert_eq!(read("now_idle-3.json").unwrap(), "third");
    }
}
