//! Checks that an error is a type: no `Result<_, String>` in production code.

use syn::visit::{self, Visit};
use syn::{GenericArgument, PathArguments, PathSegment, Type};

use super::source::SourceFile;

pub fn check(file: &SourceFile) -> Vec<String> {
    if !file.is_production() {
        return Vec::new();
    }
    let mut finder = TextErrorFinder { file, violations: Vec::new() };
    finder.visit_file(&file.tree);
    finder.violations
}

struct TextErrorFinder<'a> {
    file: &'a SourceFile,
    violations: Vec<String>,
}

impl Visit<'_> for TextErrorFinder<'_> {
    fn visit_path_segment(&mut self, segment: &PathSegment) {
        if segment.ident == "Result" && has_text_error(&segment.arguments) {
            let message = "the error is a `String`; give it a type that implements `Error`";
            self.violations.push(self.file.format_violation(segment.ident.span(), message));
        }
        visit::visit_path_segment(self, segment);
    }
}

fn has_text_error(arguments: &PathArguments) -> bool {
    let PathArguments::AngleBracketed(list) = arguments else { return false };
    let Some(GenericArgument::Type(Type::Path(error))) = list.args.get(1) else { return false };
    error.path.segments.last().is_some_and(|segment| segment.ident == "String")
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::source::SourceFile;

    #[test]
    fn finds_errors_that_are_texts() -> syn::Result<()> {
        let text = "fn a() -> Result<u8, String> {}\nfn b() -> Result<String, Error> {}\n\
                    type C = dyn Fn() -> std::result::Result<(), std::string::String>;\n\
                    fn d() -> io::Result<String> {}\n";
        let found = check(&SourceFile::parse("crates/x/src/a.rs", text)?);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("a.rs:1:11: the error is a `String`"), "{found:?}");
        assert!(found[1].contains("a.rs:3:"), "{found:?}");
        assert_eq!(check(&SourceFile::parse("crates/x/tests/it/a.rs", text)?).len(), 0);
        Ok(())
    }
}
