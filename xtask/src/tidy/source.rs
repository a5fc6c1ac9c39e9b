//! Source files as the rules see them: text, syntax tree without `#[cfg(test)]` items, and whether
//! the file belongs to tests.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use proc_macro2::{Ident, LineColumn, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};

/// One parsed file.
pub struct SourceFile {
    /// The path from the repository's root.
    pub path: String,
    pub text: String,
    /// The syntax tree. Production files have no `#[cfg(test)]` items in it.
    pub tree: syn::File,
    /// The lines that belong to `#[cfg(test)]` items of a production file.
    pub test_lines: Vec<(usize, usize)>,
    /// Whether the file is compiled for tests only.
    pub is_test: bool,
}

impl SourceFile {
    pub fn parse(path: &str, text: &str) -> syn::Result<Self> {
        let mut tree = syn::parse_file(text)?;
        let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
        let mut remover = TestRemover::default();
        if !is_test {
            remover.visit_file_mut(&mut tree);
        }
        let (path, text) = (path.to_owned(), text.to_owned());
        Ok(Self { path, text, tree, test_lines: remover.lines, is_test })
    }

    /// Whether the file is part of a shipped crate.
    pub fn is_production(&self) -> bool {
        self.path.starts_with("crates/") && self.path.contains("/src/") && !self.is_test
    }

    /// The file's name without its ending.
    pub fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.strip_suffix(".rs").unwrap_or(name)
    }

    /// Formats a violation with its position in this file.
    pub fn format_violation(&self, span: Span, message: &str) -> String {
        let LineColumn { line, column } = span.start();
        format!("{}:{line}:{}: {message}", self.path, column + 1)
    }

    /// Every identifier of the file, also inside macro calls.
    pub fn identifiers(&self) -> Vec<Ident> {
        let mut found = Vec::new();
        collect_identifiers(self.tree.to_token_stream(), &mut found);
        found
    }
}

fn collect_identifiers(tokens: TokenStream, found: &mut Vec<Ident>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => found.push(ident),
            TokenTree::Group(group) => collect_identifiers(group.stream(), found),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// Removes items under `#[cfg(test)]` and records their lines.
#[derive(Default)]
struct TestRemover {
    lines: Vec<(usize, usize)>,
}

impl TestRemover {
    fn should_keep(&mut self, item: &syn::Item) -> bool {
        let is_test = item_attributes(item).iter().any(is_test_attribute);
        if is_test {
            self.lines.push((item.span().start().line, item.span().end().line));
        }
        !is_test
    }
}

impl VisitMut for TestRemover {
    fn visit_file_mut(&mut self, file: &mut syn::File) {
        file.items.retain(|item| self.should_keep(item));
        visit_mut::visit_file_mut(self, file);
    }

    fn visit_item_mod_mut(&mut self, module: &mut syn::ItemMod) {
        if let Some((_, items)) = &mut module.content {
            items.retain(|item| self.should_keep(item));
        }
        visit_mut::visit_item_mod_mut(self, module);
    }
}

fn item_attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Const(item) => &item.attrs,
        _ => &[],
    }
}

fn is_test_attribute(attribute: &syn::Attribute) -> bool {
    let tokens = attribute.meta.to_token_stream().to_string();
    attribute.path().is_ident("cfg") && tokens.replace(' ', "") == "cfg(test)"
}

/// Loads every Rust file of the repository, sorted by path.
pub fn load_sources(root: &Path) -> anyhow::Result<Vec<SourceFile>> {
    let mut paths = Vec::new();
    for folder in ["crates", "bench", "xtask"] {
        list_files(&root.join(folder), "rs", &mut paths)?;
    }
    paths.sort();
    let parse = |path: &PathBuf| {
        let name = path.strip_prefix(root).unwrap_or(path).display().to_string();
        let text = fs::read_to_string(path).with_context(|| name.clone())?;
        SourceFile::parse(&name, &text).with_context(|| name.clone())
    };
    paths.iter().map(parse).collect()
}

/// Adds the files below a folder whose names have this ending.
pub fn list_files(folder: &Path, ending: &str, paths: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list_files(&path, ending, paths)?;
        } else if path.extension().is_some_and(|own| own == ending) {
            paths.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::SourceFile;

    #[test]
    fn removes_test_items_of_production_files() -> syn::Result<()> {
        let text = "fn kept() {}\n#[cfg(test)]\nmod tests {\n    fn removed() {}\n}\n";
        let file = SourceFile::parse("crates/x/src/a.rs", text)?;
        let names: Vec<String> = file.identifiers().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["fn", "kept"]);
        assert_eq!(file.test_lines, [(2, 5)]);
        let file = SourceFile::parse("crates/x/tests/it/a.rs", text)?;
        assert!(file.is_test && file.identifiers().len() > 2);
        Ok(())
    }
}
