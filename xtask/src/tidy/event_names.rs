//! Checks that native event names, and the folders and variables of a dialect, appear only in the
//! dialects crate.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use gambrel_dialects::DIALECTS;
use gambrel_dialects::claude::settings_files::CONFIG_DIR_VAR;
use gambrel_model::{Dialect, DialectProperties};
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

/// Words of one dialect that may be part of a text: its folders and its variables.
static DIALECT_WORDS: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    let of_dialect = |dialect: &&'static Dialect| {
        let DialectProperties { project_markers, project_dir_vars, path_vars, .. } =
            dialect.properties;
        [project_markers, project_dir_vars, path_vars].concat()
    };
    let words = DIALECTS.iter().flat_map(of_dialect).filter(|word| *word != ".gambrel");
    words.chain([CONFIG_DIR_VAR]).chain(DIALECT_TEXTS).collect()
});

/// Beginnings of variables of a dialect, and its files that no property names.
const DIALECT_TEXTS: [&str; 5] = ["CLAUDE_", "PI_TEAMS_", ".iteratr", "iteratr.yml", "mcp__"];

/// Files that name words of a dialect, each with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("crates/cli/src/init/starters.rs", "writes the example files of one product"),
    ("crates/cli/src/demo.rs", "writes the example files of several products"),
    ("crates/runner/src/files/find.rs", "users of agent-pipelines keep their plans there"),
    ("crates/runner/src/changed_files.rs", "agent-pipelines keeps its runs there"),
    ("crates/runner/src/facts.rs", "agents of agent-pipelines read these variables"),
    ("crates/runner/src/spec.rs", "users of iteratr keep the template of their specs there"),
    ("crates/model/src/tool.rs", "all agents name the tools of MCP servers like this"),
];

pub fn check(file: &SourceFile) -> Vec<String> {
    // The table of moments has neutral names, some of which are native names too.
    let is_exempt =
        file.path.starts_with("crates/dialects/") || file.path == "crates/model/src/moment.rs";
    if is_exempt || !file.is_production() {
        return Vec::new();
    }
    let mut finder = LiteralFinder::default();
    finder.visit_file(&file.tree);
    let may_name_words = EXCEPTIONS.iter().any(|(path, _)| file.path == *path);
    let describe = |text: &LitStr| {
        let value = text.value();
        let event =
            EVENT_NAMES.get(value.as_str()).map(|name| format!("the native event `{name}`"));
        // Variables of gambrel may name a dialect.
        let may_name_words = may_name_words || value.starts_with("GAMBREL_");
        let word = DIALECT_WORDS.iter().find(|word| !may_name_words && value.contains(**word));
        let what = event.or_else(|| word.map(|word| format!("`{word}` of a dialect")))?;
        let message = format!("{what} is named outside crates/dialects");
        Some(file.format_violation(text.span(), &message))
    };
    finder.literals.iter().filter_map(describe).collect()
}

#[derive(Default)]
struct LiteralFinder {
    literals: Vec<LitStr>,
}

impl Visit<'_> for LiteralFinder {
    fn visit_lit_str(&mut self, text: &LitStr) {
        self.literals.push(text.clone());
    }

    /// Comments may name what they like.
    fn visit_attribute(&mut self, _: &syn::Attribute) {}

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

    #[test]
    fn finds_folders_and_variables_of_a_dialect() -> syn::Result<()> {
        let text = "fn f() { g(\".claude/settings.json\"); g(\"$CLAUDE_PROJECT_DIR/x\"); \
                    g(\".omp\"); g(\".gambrel\"); g(\"claude\"); g(\"CLAUDE_X\"); g(\"GAMBREL_CLAUDE_X\") }";
        let found = check(&SourceFile::parse("crates/engine/src/a.rs", text)?);
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(check(&SourceFile::parse("crates/cli/src/init/starters.rs", text)?).is_empty());
        Ok(())
    }
}
