//! Checks the size of files, functions, parameter lists and `main.rs`.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, FnArg, Signature};

use super::source::SourceFile;

const MAX_FILE_LINE_COUNT: usize = 500;
const MAX_FUNCTION_LINE_COUNT: usize = 60;
const MAX_PARAMETER_COUNT: usize = 5;
const MAX_MAIN_LINE_COUNT: usize = 30;

pub fn check(file: &SourceFile) -> Vec<String> {
    if file.is_test {
        return Vec::new();
    }
    let lines = file.text.lines().count();
    let is_main = file.path.ends_with("crates/cli/src/main.rs");
    let most = if is_main { MAX_MAIN_LINE_COUNT } else { MAX_FILE_LINE_COUNT };
    let mut violations = Vec::new();
    if lines > most {
        violations.push(format!("{}: has {lines} lines; at most {most}", file.path));
    }

    let mut finder = FunctionFinder { file, violations };
    finder.visit_file(&file.tree);
    finder.violations
}

struct FunctionFinder<'a> {
    file: &'a SourceFile,
    violations: Vec<String>,
}

impl FunctionFinder<'_> {
    fn add(&mut self, signature: &Signature, block: &Block) {
        let name = &signature.ident;
        let lines = block.span().end().line + 1 - signature.span().start().line;
        if lines > MAX_FUNCTION_LINE_COUNT {
            let message = format!("`{name}` has {lines} lines; at most {MAX_FUNCTION_LINE_COUNT}");
            self.violations.push(self.file.format_violation(name.span(), &message));
        }
        let is_parameter = |arg: &&FnArg| matches!(arg, FnArg::Typed(_));
        let count = signature.inputs.iter().filter(is_parameter).count();
        if count > MAX_PARAMETER_COUNT {
            let message = format!("`{name}` has {count} parameters; at most {MAX_PARAMETER_COUNT}");
            self.violations.push(self.file.format_violation(name.span(), &message));
        }
    }
}

impl Visit<'_> for FunctionFinder<'_> {
    fn visit_item_fn(&mut self, item: &syn::ItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &syn::ImplItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.add(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::source::SourceFile;

    #[test]
    fn finds_large_files_and_functions() -> syn::Result<()> {
        let body = "    step();\n".repeat(60);
        let long = format!("pub async fn long() {{\n{body}}}\n");
        let found = check(&SourceFile::parse("crates/x/src/a.rs", &long)?);
        assert_eq!(found, ["crates/x/src/a.rs:1:14: `long` has 62 lines; at most 60"]);

        let many = "fn many(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8) {}";
        let found = check(&SourceFile::parse("crates/x/src/a.rs", many)?);
        assert_eq!(found, ["crates/x/src/a.rs:1:4: `many` has 6 parameters; at most 5"]);

        let lines = "fn f() {}\n".repeat(501);
        let found = check(&SourceFile::parse("crates/x/src/a.rs", &lines)?);
        assert_eq!(found, ["crates/x/src/a.rs: has 501 lines; at most 500"]);
        let found = check(&SourceFile::parse("crates/cli/src/main.rs", &lines[..310])?);
        assert_eq!(found, ["crates/cli/src/main.rs: has 31 lines; at most 30"]);
        Ok(())
    }
}
