//! Every link in the documents of the repository leads to a file, and to a heading where it names
//! one. No text cites a document that is not in the repository.

use std::path::{Path, PathBuf};

use crate::markdown::{anchor, anchors, links};

/// Documents, and folders of documents. One that does not exist is skipped.
const DOCUMENTS: [&str; 10] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "docs",
    "contracts",
    "examples",
    "integrations",
    "packaging",
];

/// Folders whose texts may cite only documents of the repository.
const SOURCES: [&str; 8] =
    ["crates", "xtask", "bench", "contracts", "examples", "integrations", "schemas", "types"];

/// Citations of documents outside the repository, written so that this file has none.
const CITATIONS: [&str; 5] = [
    concat!("contract", " 00"),
    concat!("contracts", " 00"),
    concat!("house", " §"),
    concat!("house", " rule"),
    concat!("nouns", " §"),
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "md")
}

/// Every file below a path, without built and installed files.
fn list_files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let skipped = |path: &PathBuf| path.ends_with("target") || path.ends_with("node_modules");
    paths
        .filter(|path| !path.is_symlink() && !skipped(path))
        .flat_map(|path| list_files(&path))
        .collect()
}

/// The reason why a link of a file is broken, if it is.
fn link_error(file: &Path, target: &str) -> Option<String> {
    let (path, fragment) = target.split_once('#').unwrap_or((target, ""));
    let is_external = path.contains(':') || path.starts_with("//");
    if is_external {
        return None;
    }
    let path = match path.replace("%20", " ").as_str() {
        "" => file.to_owned(),
        path => file.parent()?.join(path),
    };
    if !path.exists() {
        return Some(format!("`{target}`: no such file"));
    }
    if fragment.is_empty() || !is_markdown(&path) {
        return None;
    }
    let text = std::fs::read_to_string(&path).unwrap();
    let is_there = anchors(&text).contains(fragment);
    (!is_there).then(|| format!("`{target}`: no such heading"))
}

fn broken_links(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let broken = |(line, target): (usize, String)| {
        link_error(file, &target).map(|why| format!("{}:{line}: {why}", file.display()))
    };
    links(&text).into_iter().filter_map(broken).collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let root = repository();
    let documents = DOCUMENTS.iter().flat_map(|path| list_files(&root.join(path)));
    let documents: Vec<PathBuf> = documents.filter(|path| is_markdown(path)).collect();
    assert!(documents.len() > 8, "{documents:?}");
    let wrong: Vec<String> = documents.iter().flat_map(|file| broken_links(file)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A reader who begins at the index finds every page.
#[test]
fn the_index_names_every_page() {
    let docs = repository().join("docs");
    let index = std::fs::read_to_string(docs.join("README.md")).unwrap();
    let named: Vec<PathBuf> =
        links(&index).into_iter().map(|(_, target)| docs.join(target)).collect();
    let pages = list_files(&docs).into_iter().filter(|path| is_markdown(path));
    let missing: Vec<PathBuf> =
        pages.filter(|page| !page.ends_with("docs/README.md") && !named.contains(page)).collect();
    assert!(missing.is_empty(), "docs/README.md does not name {missing:?}");
}

#[test]
fn no_text_cites_a_document_outside_the_repository() {
    let root = repository();
    let mut wrong = Vec::new();
    for file in SOURCES.iter().flat_map(|path| list_files(&root.join(path))) {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        for (number, line) in text.lines().enumerate() {
            let lower = line.to_lowercase();
            if CITATIONS.iter().any(|citation| lower.contains(citation)) {
                wrong.push(format!("{}:{}: {}", file.display(), number + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn reports_links_to_missing_files_and_headings() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    write("other.md", "# Other file\n\n## Twice\n\n## Twice\n\n```sh\n# not a heading\n```\n");
    let good = "# Good\n[a](other.md), [b](other.md#twice-1), [c](#good), [d](<other.md> \"title\"),\n\
                [e](https://example.com/#x), ![f](other.md), [g][ref]\n\n[ref]: other.md#other-file\n";
    assert_eq!(broken_links(&write("good.md", good)), Vec::<String>::new());
    let bad = "[a](gone.md)\n[b](other.md#gone), [c](#gone)\n![d](gone.png)\n\n[e]: gone.md#x\n\
               [f](other.md#not-a-heading) <img src=\"gone.svg\">\n";
    let wrong = broken_links(&write("bad.md", bad));
    let ends = [
        ":1: `gone.md`: no such file",
        ":2: `other.md#gone`: no such heading",
        ":2: `#gone`: no such heading",
        ":3: `gone.png`: no such file",
        ":5: `gone.md#x`: no such file",
        ":6: `other.md#not-a-heading`: no such heading",
        ":6: `gone.svg`: no such file",
    ];
    assert_eq!(wrong.len(), ends.len(), "{wrong:#?}");
    assert!(wrong.iter().zip(ends).all(|(why, end)| why.ends_with(end)), "{wrong:#?}");
}

#[test]
fn ignores_links_in_code() {
    let text = "`[a](gone.md)` ``[`b`](gone.md)``\n\n```\n[c](gone.md)\n```\n\n~~~\n```\n[d](x)\n~~~\n\
                [e](real.md) and one ` tick\n\n[f](last.md)\n";
    assert_eq!(links(text), [(11, "real.md".to_owned()), (13, "last.md".to_owned())]);
}

#[test]
fn makes_anchors_as_github_does() {
    for (heading, expected) in [
        ("Matchers", "matchers"),
        ("Permission rules in if", "permission-rules-in-if"),
        ("`.gambrel/hooks.yaml`: every moment", "gambrelhooksyaml-every-moment"),
        ("What's new — and *old*", "whats-new--and-old"),
        ("The [guide](docs/guide.md) in on_tool_before", "the-guide-in-on_tool_before"),
    ] {
        assert_eq!(anchor(heading), expected);
    }
}
