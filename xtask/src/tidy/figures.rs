//! Figures about production code: its size, and the share of functions with one-word names.

use syn::visit::{self, Visit};

use super::identifiers::split_words;
use super::source::SourceFile;

pub fn describe_figures(files: &[SourceFile]) -> String {
    let production: Vec<&SourceFile> = files.iter().filter(|file| file.is_production()).collect();
    let lines: usize = production.iter().map(|file| count_code_lines(file)).sum();
    let mut names = FunctionNames::default();
    for file in &production {
        names.visit_file(&file.tree);
    }
    let one_word = names.names.iter().filter(|name| split_words(name).len() == 1).count();
    let share = 100.0 * one_word as f64 / names.names.len().max(1) as f64;
    format!(
        "{lines} code lines; {one_word} of {} function names are one word ({share:.1} %)",
        names.names.len()
    )
}

/// Lines of production code without blank lines and comments.
fn count_code_lines(file: &SourceFile) -> usize {
    let is_test =
        |line: usize| file.test_lines.iter().any(|(from, to)| (*from..=*to).contains(&line));
    let lines = file.text.lines().enumerate().filter(|(at, _)| !is_test(at + 1));
    let code = lines.map(|(_, line)| line.trim());
    code.filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

/// Function names without those of trait implementations, which the trait prescribes.
#[derive(Default)]
struct FunctionNames {
    names: Vec<String>,
}

impl Visit<'_> for FunctionNames {
    fn visit_item_fn(&mut self, item: &syn::ItemFn) {
        self.names.push(item.sig.ident.to_string());
        visit::visit_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &syn::ItemImpl) {
        if item.trait_.is_none() {
            let functions = item.items.iter().filter_map(|item| match item {
                syn::ImplItem::Fn(function) => Some(function.sig.ident.to_string()),
                _ => None,
            });
            self.names.extend(functions);
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &syn::TraitItemFn) {
        self.names.push(item.sig.ident.to_string());
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::describe_figures;
    use crate::tidy::source::SourceFile;

    #[test]
    fn counts_code_and_names() -> syn::Result<()> {
        let text = "//! Header.\n\nfn one() {}\n/// Comment.\nfn two_words() {}\n\
                    impl A {\n    fn three(&self) {}\n}\n\
                    impl Display for A {\n    fn fmt(&self) {}\n}\n\
                    #[cfg(test)]\nmod tests {\n    fn test() {}\n}\n";
        let file = SourceFile::parse("crates/x/src/a.rs", text)?;
        assert_eq!(
            describe_figures(&[file]),
            "8 code lines; 2 of 3 function names are one word (66.7 %)"
        );
        Ok(())
    }
}
