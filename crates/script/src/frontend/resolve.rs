//! Resolves a specifier to a file, as TypeScript bundlers do. Reads no files except `package.json`
//! and `tsconfig.json`.

use std::path::{Component, Path, PathBuf};

use super::data_modules;
use super::source_map;

const EXTENSIONS: &[&str] = &["ts", "tsx", "mts", "js", "mjs", "jsx", "cjs", "json"];

/// Whether a specifier names a file.
pub fn is_file(specifier: &str) -> bool {
    specifier.starts_with('.') || specifier.starts_with('/') || specifier.starts_with("file://")
}

/// The file to which `specifier` refers in `importer`.
pub fn resolve_file(importer: &Path, specifier: &str) -> Option<PathBuf> {
    let wanted = spelled_path(importer, specifier);
    first_existing(candidate_files(&wanted))
        .or_else(|| package_main(&wanted))
        .or_else(|| first_existing(index_files(&wanted)))
}

fn first_existing(paths: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    paths.into_iter().find(|path| path.is_file())
}

/// The main file of a directory's `package.json`.
fn package_main(folder: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(folder.join("package.json")).ok()?;
    let package: serde_json::Value = serde_json::from_str(&text).ok()?;
    let named = ["module", "main"].into_iter().filter_map(|field| package[field].as_str());
    let mut wanted = named.map(|main| normalize_path(&folder.join(main)));
    wanted.find_map(|main| {
        first_existing(candidate_files(&main)).or_else(|| first_existing(index_files(&main)))
    })
}

/// The path that `specifier` spells out, whether a file exists there or not.
pub fn spelled_path(importer: &Path, specifier: &str) -> PathBuf {
    let specifier = specifier.split(['?', '#']).next().unwrap_or(specifier);
    let folder = importer.parent().unwrap_or(Path::new("/"));
    normalize_path(&folder.join(source_map::url_to_path(specifier).as_ref()))
}

/// Whether the nearest `tsconfig.json` sets `experimentalDecorators`.
pub fn wants_legacy_decorators(file: &Path) -> bool {
    let mut paths = file.ancestors().skip(1).map(|folder| folder.join("tsconfig.json"));
    let nearest = paths.find_map(|path| std::fs::read_to_string(path).ok());
    let config =
        nearest.map(|text| serde_json::from_str(&data_modules::strip_json_comments(&text)));
    let config: serde_json::Value = config.and_then(Result::ok).unwrap_or_default();
    config["compilerOptions"]["experimentalDecorators"] == true
}

fn candidate_files(wanted: &Path) -> Vec<PathBuf> {
    let mut found = vec![wanted.to_path_buf()];

    // In TypeScript `./x.js` refers to the `x.ts` that compiles to it.
    match wanted.extension().and_then(|e| e.to_str()) {
        Some("js" | "jsx") => {
            found.extend([wanted.with_extension("ts"), wanted.with_extension("tsx")]);
        }
        Some("mjs") => found.push(wanted.with_extension("mts")),
        _ => {}
    }

    for ending in EXTENSIONS {
        let mut name = wanted.as_os_str().to_owned();
        name.push(".");
        name.push(ending);
        found.push(PathBuf::from(name));
    }
    found
}

fn index_files(folder: &Path) -> Vec<PathBuf> {
    EXTENSIONS.iter().map(|ending| folder.join(format!("index.{ending}"))).collect()
}

fn normalize_path(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = normalized.pop(),
            other => normalized.push(other),
        }
    }
    normalized
}
