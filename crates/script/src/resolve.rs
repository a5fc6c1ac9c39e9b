//! From a specifier to a file on disk, as bundlers of TypeScript do it. Looks at the disk, and reads
//! nothing but what a folder says of itself.

use std::path::{Component, Path, PathBuf};

use crate::documents;
use crate::positions;

const ENDINGS: &[&str] = &["ts", "tsx", "mts", "js", "mjs", "jsx", "cjs", "json"];

/// Whether a specifier names a file.
pub fn is_file(specifier: &str) -> bool {
    specifier.starts_with('.') || specifier.starts_with('/') || specifier.starts_with("file://")
}

/// The file that `specifier` means when it stands in `importer`.
pub fn resolve(importer: &Path, specifier: &str) -> Option<PathBuf> {
    let wanted = meant(importer, specifier);
    first(spellings(&wanted)).or_else(|| main_of(&wanted)).or_else(|| first(indexes(&wanted)))
}

fn first(paths: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    paths.into_iter().find(|path| path.is_file())
}

/// The file that a folder's `package.json` names.
fn main_of(folder: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(folder.join("package.json")).ok()?;
    let package: serde_json::Value = serde_json::from_str(&text).ok()?;
    let named = ["module", "main"].into_iter().filter_map(|field| package[field].as_str());
    let mut wanted = named.map(|main| tidy(&folder.join(main)));
    wanted.find_map(|main| first(spellings(&main)).or_else(|| first(indexes(&main))))
}

/// The path that `specifier` spells out, whether anything is there or not.
pub fn meant(importer: &Path, specifier: &str) -> PathBuf {
    let specifier = specifier.split(['?', '#']).next().unwrap_or(specifier);
    let folder = importer.parent().unwrap_or(Path::new("/"));
    tidy(&folder.join(positions::unescaped(specifier).as_ref()))
}

/// Whether the nearest `tsconfig.json` asks for the decorators that TypeScript had first.
pub fn wants_legacy_decorators(file: &Path) -> bool {
    let mut paths = file.ancestors().skip(1).map(|folder| folder.join("tsconfig.json"));
    let nearest = paths.find_map(|path| std::fs::read_to_string(path).ok());
    let config = nearest.map(|text| serde_json::from_str(&documents::uncommented(&text)));
    let config: serde_json::Value = config.and_then(Result::ok).unwrap_or_default();
    config["compilerOptions"]["experimentalDecorators"] == true
}

fn spellings(wanted: &Path) -> Vec<PathBuf> {
    let mut found = vec![wanted.to_path_buf()];
    // `./x.js` in TypeScript means the `x.ts` that becomes it.
    match wanted.extension().and_then(|e| e.to_str()) {
        Some("js" | "jsx") => {
            found.extend([wanted.with_extension("ts"), wanted.with_extension("tsx")]);
        }
        Some("mjs") => found.push(wanted.with_extension("mts")),
        _ => {}
    }
    for ending in ENDINGS {
        let mut name = wanted.as_os_str().to_owned();
        name.push(".");
        name.push(ending);
        found.push(PathBuf::from(name));
    }
    found
}

fn indexes(folder: &Path) -> Vec<PathBuf> {
    ENDINGS.iter().map(|ending| folder.join(format!("index.{ending}"))).collect()
}

fn tidy(path: &Path) -> PathBuf {
    let mut tidied = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = tidied.pop(),
            other => tidied.push(other),
        }
    }
    tidied
}
