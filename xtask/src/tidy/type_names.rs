//! Checks that names of `pub` and `pub(crate)` types are unique in the workspace.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};
use syn::{Ident, Visibility};

use super::source::SourceFile;

pub fn check(files: &[SourceFile]) -> Vec<String> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_production()) {
        let mut finder = TypeFinder::default();
        finder.visit_file(&file.tree);
        for name in finder.names {
            let place = format!("{}:{}", file.path, name.span().start().line);
            places.entry(name.to_string()).or_default().push(place);
        }
    }
    places.retain(|_, places| places.len() > 1);
    let describe = |(name, places): (&String, &Vec<String>)| {
        format!("type `{name}` is declared {} times: {}", places.len(), places.join(", "))
    };
    places.iter().map(describe).collect()
}

#[derive(Default)]
struct TypeFinder {
    names: Vec<Ident>,
}

impl TypeFinder {
    fn add(&mut self, visibility: &Visibility, name: &Ident) {
        let is_shared = match visibility {
            Visibility::Public(_) => true,
            Visibility::Restricted(to) => to.path.is_ident("crate"),
            Visibility::Inherited => false,
        };
        if is_shared {
            self.names.push(name.clone());
        }
    }
}

impl Visit<'_> for TypeFinder {
    fn visit_item_struct(&mut self, item: &syn::ItemStruct) {
        self.add(&item.vis, &item.ident);
    }

    fn visit_item_enum(&mut self, item: &syn::ItemEnum) {
        self.add(&item.vis, &item.ident);
    }

    fn visit_item_trait(&mut self, item: &syn::ItemTrait) {
        self.add(&item.vis, &item.ident);
    }

    fn visit_item_type(&mut self, item: &syn::ItemType) {
        self.add(&item.vis, &item.ident);
    }

    fn visit_item_mod(&mut self, item: &syn::ItemMod) {
        visit::visit_item_mod(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::source::SourceFile;

    #[test]
    fn finds_shared_types_with_one_name() -> syn::Result<()> {
        let a = "pub struct Reply; struct Private; pub(crate) enum Own { A }";
        let b = "mod inner { pub(crate) trait Reply {} } struct Private; pub type Other = u8;";
        let files = [
            SourceFile::parse("crates/a/src/lib.rs", a)?,
            SourceFile::parse("crates/b/src/lib.rs", b)?,
            SourceFile::parse("crates/b/tests/it/main.rs", a)?,
        ];
        let found = check(&files);
        assert_eq!(
            found,
            ["type `Reply` is declared 2 times: crates/a/src/lib.rs:1, crates/b/src/lib.rs:1"]
        );
        Ok(())
    }
}
