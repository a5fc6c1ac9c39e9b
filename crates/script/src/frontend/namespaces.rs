//! TypeScript namespaces in several blocks: a block may use an export of another block by its bare
//! name. The transformer handles each block alone, so this step qualifies such names first. Text
//! in, text out; line numbers stay.

use std::collections::{BTreeMap, HashMap, HashSet};

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    AssignmentTargetPropertyIdentifier, Declaration, IdentifierReference, ObjectProperty,
    Statement, TSModuleBlock, TSNamespaceDeclaration, TSNamespaceDeclarationBody,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_semantic::{ScopeId, Scoping, SemanticBuilder};
use oxc_span::SourceType;

/// The text with such names qualified; `None` if it has none.
pub fn qualify_cross_block_names(text: &str, kind: SourceType) -> Option<String> {
    // Most files have no namespaces and are not parsed twice.
    if !kind.is_typescript() || text.matches("namespace").nth(1).is_none() {
        return None;
    }

    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, kind).parse();
    if parsed.panicked {
        return None;
    }

    let scoping = SemanticBuilder::new().build(&parsed.program).semantic.into_scoping();

    let mut blocks = BlockCollector::default();
    blocks.visit_program(&parsed.program);
    let mut bare = BareNames::new(&scoping, &blocks.exports);
    bare.visit_program(&parsed.program);
    (!bare.insertions.is_empty()).then(|| insert_texts(text, &bare.insertions))
}

/// By full namespace name: each exported name and the block that exports it.
type NamespaceExports = HashMap<String, Vec<(ScopeId, String)>>;

#[derive(Default)]
struct BlockCollector {
    path: Vec<String>,
    exports: NamespaceExports,
}

impl BlockCollector {
    fn collect_exports(&mut self, scope: ScopeId, block: &TSModuleBlock<'_>) {
        let exports = self.exports.entry(self.path.join(".")).or_default();
        for statement in &block.body {
            if let Statement::ExportDeclaration(export) = statement {
                exports.extend(
                    declared_names(&export.declaration).into_iter().map(|name| (scope, name)),
                );
            }
        }
    }
}

impl<'a> Visit<'a> for BlockCollector {
    fn visit_ts_namespace_declaration(&mut self, it: &TSNamespaceDeclaration<'a>) {
        self.path.push(it.id.name.to_string());
        if let (Some(scope), TSNamespaceDeclarationBody::TSModuleBlock(block), false) =
            (it.scope_id.get(), &it.body, it.declare)
        {
            self.collect_exports(scope, block);
        }
        walk::walk_ts_namespace_declaration(self, it);
        self.path.pop();
    }
}

/// The declared names that remain after types are removed.
fn declared_names(declaration: &Declaration<'_>) -> Vec<String> {
    match declaration {
        Declaration::VariableDeclaration(several) => {
            let patterns = several.declarations.iter().map(|one| &one.id);
            let found = patterns.flat_map(|pattern| pattern.get_binding_identifiers());
            found.map(|name| name.name.to_string()).collect()
        }
        Declaration::TSTypeAliasDeclaration(_) | Declaration::TSInterfaceDeclaration(_) => {
            Vec::new()
        }
        other => other.id().map(|id| id.name.to_string()).into_iter().collect(),
    }
}

/// Bare names that another block exports.
struct BareNames<'s> {
    scoping: &'s Scoping,
    exports: &'s NamespaceExports,
    /// The enclosing namespaces, innermost last: full name and block.
    enclosing: Vec<(String, Option<ScopeId>)>,
    /// Positions of shorthand properties, where a name is both key and value.
    shorthands: HashSet<u32>,
    /// The text to insert at each position.
    insertions: BTreeMap<u32, String>,
}

impl<'s> BareNames<'s> {
    fn new(scoping: &'s Scoping, exports: &'s NamespaceExports) -> Self {
        let (enclosing, shorthands, insertions) = (Vec::new(), HashSet::new(), BTreeMap::new());
        Self { scoping, exports, enclosing, shorthands, insertions }
    }

    /// The namespace in which another block exports this name.
    fn exporting_namespace(&self, it: &IdentifierReference<'_>) -> Option<&str> {
        let reference = self.scoping.get_reference(it.reference_id.get()?);
        let declared = reference.symbol_id().map(|symbol| self.scoping.symbol_scope_id(symbol));

        let within = |block: ScopeId| {
            declared.is_some_and(|at| self.scoping.scope_ancestors(at).any(|one| one == block))
        };

        let exports_name = |(path, block): &&(String, Option<ScopeId>)| {
            let Some(block) = *block else { return false };
            let others = self.exports.get(path).into_iter().flatten();
            let mut others = others.filter(|(scope, _)| *scope != block);
            others.any(|(_, name)| it.name == name.as_str()) && !within(block)
        };

        self.enclosing.iter().rev().find(exports_name).map(|(path, _)| path.as_str())
    }
}

impl<'a> Visit<'a> for BareNames<'_> {
    fn visit_ts_namespace_declaration(&mut self, it: &TSNamespaceDeclaration<'a>) {
        let outer = self.enclosing.last().map(|(path, _)| format!("{path}."));
        let path = format!("{}{}", outer.unwrap_or_default(), it.id.name);
        self.enclosing.push((path, it.scope_id.get()));
        walk::walk_ts_namespace_declaration(self, it);
        self.enclosing.pop();
    }

    fn visit_object_property(&mut self, it: &ObjectProperty<'a>) {
        self.shorthands.extend(it.shorthand.then_some(it.span.start));
        walk::walk_object_property(self, it);
    }

    fn visit_assignment_target_property_identifier(
        &mut self,
        it: &AssignmentTargetPropertyIdentifier<'a>,
    ) {
        self.shorthands.insert(it.span.start);
        walk::walk_assignment_target_property_identifier(self, it);
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        let start = it.span.start;
        let field =
            if self.shorthands.contains(&start) { format!("{}: ", it.name) } else { String::new() };
        if let Some(insertion) = self.exporting_namespace(it).map(|path| format!("{field}{path}."))
        {
            self.insertions.insert(start, insertion);
        }
    }
}

/// Inserts the texts at their positions.
fn insert_texts(text: &str, insertions: &BTreeMap<u32, String>) -> String {
    let mut made = String::with_capacity(text.len() + insertions.len() * 16);
    let mut rest = text;
    let mut at = 0;

    for (start, insertion) in insertions {
        let start = usize::try_from(*start).unwrap_or(usize::MAX);
        let (before, after) = rest.split_at_checked(start.saturating_sub(at)).unwrap_or((rest, ""));
        made.extend([before, insertion]);
        (rest, at) = (after, start);
    }

    made.push_str(rest);
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qualify(text: &str) -> Option<String> {
        qualify_cross_block_names(text, SourceType::ts())
    }

    #[test]
    fn qualifies_exports_of_other_blocks_unless_shadowed() {
        let text = "namespace U { export const up = 1, own = 2; export interface T {} const kept = 1; }\nnamespace U { const own = 3; export const all = [up, own, kept, { up }, ((up) => up)(1)]; let t: T; ({ up } = x); }\nup;";
        let expected = text
            .replace("[up, own", "[U.up, own")
            .replace("{ up }, (", "{ up: U.up }, (")
            .replace("({ up } =", "({ up: U.up } =");
        assert_eq!(qualify(text), Some(expected));
    }

    #[test]
    fn uses_full_names_of_nested_namespaces() {
        let text = "namespace A.B { export const b = 1; } namespace A { export namespace B { export const c = b; } export const d = B.b; }";
        let expected = text.replace("c = b", "c = A.B.b");
        assert_eq!(qualify(text), Some(expected));
    }

    #[test]
    fn leaves_other_texts_unchanged() {
        for text in [
            "namespace U { export const up = 1; export const e = up; }",
            "namespace U { export const up = 1; } namespace V { export const e = up; }",
            "namespace U { export const up = 1; } namespace U { export const e = U.up; }",
            "namespace U { namespace",
        ] {
            assert_eq!(qualify(text), None, "{text}");
        }
    }
}
