//! Checks that native event names appear only in the dialects crate.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use gambrel_dialects::DIALECTS;
use syn::LitStr;
use syn::visit::Visit;

use super::source::SourceFile;

/// Native event names that are not ordinary words.
static EVENT_NAMES: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    let names = DIALECTS.iter().flat_map(|dialect| dialect.events()).map(|row| row.name);
    let is_native = |name: &&str| {
        name.contains('_') || name.chars().filter(|c| c.is_ascii_uppercase()).count() > 1
    };
    names.filter(is_native).collect()
});

pub fn check(file: &SourceFile) -> Vec<String> {
    // The table of moments has neutral names, some of which are native names too.
    let is_exempt =
        file.path.starts_with("crates/dialects/") || file.path == "crates/model/src/moment.rs";
    if is_exempt || !file.is_production() {
        return Vec::new();
    }
    let mut finder = LiteralFinder::default();
    finder.visit_file(&file.tree);
    let native = finder.literals.iter().filter(|text| EVENT_NAMES.contains(text.value().as_str()));
    let describe = |text: &LitStr| {
        let message =
            format!("the native event `{}` is named outside crates/dialects", text.value());
        file.format_violation(text.span(), &message)
    };
    native.map(describe).collect()
}

#[derive(Default)]
struct LiteralFinder {
    literals: Vec<LitStr>,
}

impl Visit<'_> for LiteralFinder {
    fn visit_lit_str(&mut self, text: &LitStr) {
        self.literals.push(text.clone());
    }

    fn visit_macro(&mut self, call: &syn::Macro) {
        self.visit_tokens(call.tokens.clone());
    }
}

impl LiteralFinder {
    fn visit_tokens(&mut self, tokens: proc_macro2::TokenStream) {
        for token in tokens {
            match token {
                proc_macro2::TokenTree::Literal(literal) => {
                    if let syn::Lit::Str(text) = syn::Lit::new(literal) {
                        self.literals.push(text);
                    }
                }
                proc_macro2::TokenTree::Group(group) => self.visit_tokens(group.stream()),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::source::SourceFile;

    #[test]
    fn finds_native_names_outside_their_dialect() -> syn::Result<()> {
        let text = "fn f() { g(\"PreToolUse\"); h!([\"tool_call\"]); g(\"Stop\"); g(\"other\") }";
        let found = check(&SourceFile::parse("crates/cli/src/a.rs", text)?);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(check(&SourceFile::parse("crates/dialects/src/claude/a.rs", text)?).is_empty());
        Ok(())
    }
}
