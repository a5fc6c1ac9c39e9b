//! Checks that the name of a `Duration` constant ends in its role.

use syn::visit::{self, Visit};
use syn::{Ident, Type};

use super::source::SourceFile;

const ENDINGS: &[&str] = &["_TIMEOUT", "_INTERVAL", "_DELAY", "_GRACE", "_WINDOW"];

pub fn check(file: &SourceFile) -> Vec<String> {
    let mut finder = DurationFinder::default();
    finder.visit_file(&file.tree);
    let wrong = finder.names.iter().filter(|name| {
        let name = format!("_{name}");
        !ENDINGS.iter().any(|ending| name.ends_with(ending))
    });
    let describe = |name: &Ident| {
        let message = format!("`{name}` is a Duration; end its name in {}", ENDINGS.join(", "));
        file.format_violation(name.span(), &message)
    };
    wrong.map(describe).collect()
}

#[derive(Default)]
struct DurationFinder {
    names: Vec<Ident>,
}

impl DurationFinder {
    fn add(&mut self, name: &Ident, kind: &Type) {
        let Type::Path(path) = kind else { return };
        if path.path.segments.last().is_some_and(|segment| segment.ident == "Duration") {
            self.names.push(name.clone());
        }
    }
}

impl Visit<'_> for DurationFinder {
    fn visit_item_const(&mut self, item: &syn::ItemConst) {
        self.add(&item.ident, &item.ty);
    }

    fn visit_item_static(&mut self, item: &syn::ItemStatic) {
        self.add(&item.ident, &item.ty);
    }

    fn visit_impl_item_const(&mut self, item: &syn::ImplItemConst) {
        self.add(&item.ident, &item.ty);
    }

    fn visit_block(&mut self, block: &syn::Block) {
        visit::visit_block(self, block);
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::source::SourceFile;

    #[test]
    fn finds_durations_without_a_role() -> syn::Result<()> {
        let text = "const LOOK: Duration = D;\nconst POLL_INTERVAL: Duration = D;\n\
                    const TIMEOUT: Duration = D;\nconst LOOKS: u32 = 3;\n\
                    fn f() { const DRAIN: std::time::Duration = D; }";
        let found = check(&SourceFile::parse("crates/x/src/a.rs", text)?);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("a.rs:1:7: `LOOK`") && found[1].contains("`DRAIN`"));
        Ok(())
    }
}
