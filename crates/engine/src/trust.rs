//! Which project hooks may run: those that a person trusted, as they are now. The hash covers the
//! definition and every file of the project that the command names.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use gambrel_model::{Hook, TrustEntry};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::Loaded;

/// A script larger than this cannot be trusted by content.
const SCRIPT_CAP: u64 = 16 * 1024 * 1024;

/// Which project hooks may run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TrustMode {
    /// Those in the trust store.
    #[default]
    Store,
    /// All of them.
    All,
    /// None of them.
    None,
}

/// How a hook stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The user's or the administrator's own.
    Managed,
    /// Trusted as it is.
    Trusted,
    /// Nobody has looked at it.
    Untrusted,
    /// It, or a file it runs, is not what was trusted.
    Changed,
    /// A person refused it.
    Denied,
}

impl Trust {
    /// Its word in lists.
    pub fn word(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
            Self::Changed => "changed",
            Self::Denied => "denied",
        }
    }

    /// How a hook of the loaded set stands with these entries.
    pub fn of(
        hook: &Hook,
        loaded: &Loaded,
        entries: &BTreeMap<String, TrustEntry>,
        mode: TrustMode,
    ) -> Self {
        if hook.draft.source.scope.is_own() {
            return Self::Managed;
        }
        match mode {
            TrustMode::All => return Self::Trusted,
            TrustMode::None => return Self::Untrusted,
            TrustMode::Store => {}
        }
        let own = key(hook);
        match entries.get(&own) {
            Some(entry) if entry.denied => Self::Denied,
            Some(entry) if entry.hash == hash(hook) => Self::Trusted,
            Some(_) => Self::Changed,
            None if was_another(hook, loaded, entries) => Self::Changed,
            None => Self::Untrusted,
        }
    }
}

/// Whether a hook has to be looked up at all.
pub(crate) fn needed(hook: &Hook, mode: TrustMode) -> bool {
    !hook.draft.source.scope.is_own() && mode != TrustMode::All
}

/// An entry of the same file and event that fits no hook any more: this one took its place.
fn was_another(hook: &Hook, loaded: &Loaded, entries: &BTreeMap<String, TrustEntry>) -> bool {
    let prefix = prefix(hook);
    let stale = |entry_key: &String| !loaded.hooks.iter().any(|other| key(other) == *entry_key);
    entries
        .range(prefix.clone()..)
        .take_while(|(k, _)| k.starts_with(&prefix))
        .any(|(k, _)| stale(k))
}

/// Names a hook in the trust store: the file it stands in, its event and its identity.
pub fn key(hook: &Hook) -> String {
    format!("{}{}", prefix(hook), hook.id)
}

fn prefix(hook: &Hook) -> String {
    let file = &hook.draft.source.spot.path;
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.clone());
    format!("{}#{}#", file.display(), hook.draft.event)
}

/// The hash of a definition and of every project file that it names.
pub fn hash(hook: &Hook) -> String {
    let draft = &hook.draft;
    let mut sum = Sha256::new();
    draft.define(&mut |part| sum.update(part));
    sum.update(draft.terms.timeout.as_millis().to_le_bytes());
    for path in named_files(hook) {
        sum.update(path.display().to_string());
        sum.update(contents(&path));
    }
    sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of a script, or a mark that never equals any.
fn contents(path: &Path) -> Vec<u8> {
    let read = || -> std::io::Result<Vec<u8>> {
        let file = fs::File::open(path)?;
        if file.metadata()?.len() > SCRIPT_CAP {
            return Err(std::io::Error::other("too large"));
        }
        let mut bytes = Vec::new();
        file.take(SCRIPT_CAP).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().unwrap_or_else(|error| format!("unreadable: {error}").into_bytes())
}

/// Files under the project that a word of the command names.
pub fn named_files(hook: &Hook) -> Vec<PathBuf> {
    let base = hook.draft.source.base.clone();
    let Ok(root) = fs::canonicalize(&base) else { return Vec::new() };
    let mut files: Vec<PathBuf> = Vec::new();
    for text in texts(&hook.draft.config) {
        let mut words = words(&text);
        // An argument or a path is one word, whatever stands in it.
        words.extend(Some(text.clone()).filter(|text| text.len() < 4_096));
        // A command may go somewhere first: `cd tools && ./check.sh`.
        let folders = words.iter().map(|word| base.join(word)).filter(|path| path.is_dir());
        let folders: Vec<PathBuf> = std::iter::once(base.clone()).chain(folders.take(8)).collect();
        for word in &words {
            let real = folders.iter().filter_map(|folder| fs::canonicalize(folder.join(word)).ok());
            for path in real.filter(|path| path.starts_with(&root) && path.is_file()) {
                if !files.contains(&path) {
                    files.push(path);
                }
            }
        }
    }
    follow(&root, &mut files);
    files.sort();
    files
}

/// A hook is not made of more files than this.
const FILES: usize = 500;

/// What scripts in JavaScript and TypeScript pull in by a relative name belongs to them.
fn follow(root: &Path, files: &mut Vec<PathBuf>) {
    let mut next = 0;
    while next < files.len() && files.len() < FILES {
        let file = files[next].clone();
        next += 1;
        let script =
            file.extension().and_then(|e| e.to_str()).is_some_and(|e| SCRIPTS.contains(&e));
        let text =
            script.then(|| contents(&file)).map(|b| String::from_utf8_lossy(&b).into_owned());
        for name in text.iter().flat_map(|text| relative(text)) {
            let Some(folder) = file.parent() else { continue };
            let found = ways(&folder.join(name)).find_map(|path| fs::canonicalize(path).ok());
            let inside = found.filter(|path| path.starts_with(root) && path.is_file());
            files.extend(inside.filter(|path| !files.contains(path)));
        }
    }
}

const SCRIPTS: [&str; 6] = ["ts", "js", "mjs", "cjs", "mts", "cts"];

/// Every text in quotes that begins like a relative path.
fn relative(text: &str) -> Vec<&str> {
    let quoted = |quote: char| text.split(quote).skip(1);
    let names = ['"', '\'', '`'].into_iter().flat_map(quoted);
    names.filter(|n| (n.starts_with("./") || n.starts_with("../")) && n.len() < 400).collect()
}

/// The files that a name may stand for.
fn ways(path: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    let with = |ending: &str| PathBuf::from(format!("{}{ending}", path.display()));
    let endings = SCRIPTS.iter().map(move |ending| with(&format!(".{ending}")));
    // A TypeScript file is often named by what it becomes.
    let source = path.with_extension("ts");
    let inside = ["index.ts", "index.js"].into_iter().map(|name| path.join(name));
    std::iter::once(path.to_owned())
        .filter(|p| p.is_file())
        .chain(endings)
        .chain([source])
        .chain(inside)
}

fn texts(config: &Value) -> Vec<String> {
    match config {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// Anything in a command that could be a path, with variables that stand for the project undone.
fn words(text: &str) -> Vec<String> {
    let mut text = text.to_owned();
    for name in ["CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "PWD"] {
        text = text.replace(&format!("${{{name}}}"), ".").replace(&format!("${name}"), ".");
    }
    let stop = |c: char| c.is_whitespace() || "\"'`;|&()<>=".contains(c);
    let joined: String = text.chars().filter(|c| !matches!(c, '"' | '\'')).collect();
    let split = |text: &str| text.split(stop).map(str::to_owned).collect::<Vec<_>>();
    let mut words = split(&joined);
    words.extend(split(&text));
    words.retain(|word| !word.is_empty() && word != "." && word.len() < 4_096);
    words.sort();
    words.dedup();
    words
}
