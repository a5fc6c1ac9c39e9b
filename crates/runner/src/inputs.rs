//! The files that a run receives: a file, a folder, or a pattern.

use std::path::{Path, PathBuf};

use gambrel_model::glob::glob_matches;

/// Endings of the files that a folder contributes.
const TEXT_ENDINGS: [&str; 4] = ["md", "yaml", "json", "txt"];
/// The most files of one input.
const MAX_INPUT_FILES: usize = 10_000;

/// The files of one written input, sorted; empty when nothing is there.
pub fn expand_input(project: &Path, written: &str) -> Vec<PathBuf> {
    let path = project.join(written);
    if path.is_file() {
        return vec![absolute(&path)];
    }
    let mut found = Vec::new();
    if path.is_dir() {
        collect_texts(&path, &mut found);
    } else if written.contains(['*', '?', '[']) {
        let parts: Vec<&str> = written.split('/').filter(|part| !part.is_empty()).collect();
        let base = if written.starts_with('/') { Path::new("/") } else { project };
        collect_matches(base, &parts, &mut found);
    }
    found.sort();
    found
}

fn absolute(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn entries_of(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn collect_texts(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in entries_of(folder) {
        // A link to a folder may lead back here.
        if path.is_dir() && !path.is_symlink() {
            collect_texts(&path, found);
        } else if has_text_ending(&path) && path.is_file() && found.len() < MAX_INPUT_FILES {
            found.push(absolute(&path));
        }
    }
}

fn has_text_ending(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| TEXT_ENDINGS.contains(&ending))
}

fn collect_matches(folder: &Path, parts: &[&str], found: &mut Vec<PathBuf>) {
    let [part, rest @ ..] = parts else { return };
    if *part == "**" {
        collect_matches(folder, rest, found);
        for path in entries_of(folder).iter().filter(|path| path.is_dir() && !path.is_symlink()) {
            collect_matches(path, parts, found);
        }
        return;
    }

    for path in entries_of(folder) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_display_control = name.starts_with('.') && !part.starts_with('.');
        if is_display_control || !glob_matches(part, &name) || found.len() >= MAX_INPUT_FILES {
            continue;
        }
        if rest.is_empty() && path.is_file() {
            found.push(absolute(&path));
        } else if !rest.is_empty() && path.is_dir() {
            collect_matches(&path, rest, found);
        }
    }
}
