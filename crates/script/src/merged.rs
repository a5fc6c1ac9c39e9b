//! Namespaces of TypeScript that are written in several blocks: what one block exports, the others
//! may call by its bare name. The transform takes each block for itself, so such names are written
//! out here first. Text in, text out; no line moves.

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

/// The text with such names written out, if it has any.
pub fn written_out(text: &str, kind: SourceType) -> Option<String> {
    // Most files have no namespaces, and are not read twice.
    if !kind.is_typescript() || text.matches("namespace").nth(1).is_none() {
        return None;
    }
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, kind).parse();
    if parsed.panicked {
        return None;
    }
    let scoping = SemanticBuilder::new().build(&parsed.program).semantic.into_scoping();
    let mut blocks = Blocks::default();
    blocks.visit_program(&parsed.program);
    let mut bare = Bare::new(&scoping, &blocks.exports);
    bare.visit_program(&parsed.program);
    (!bare.found.is_empty()).then(|| inserted(text, &bare.found))
}

/// By the whole name of a namespace: what its blocks export, and which block does.
type Exports = HashMap<String, Vec<(ScopeId, String)>>;

#[derive(Default)]
struct Blocks {
    path: Vec<String>,
    exports: Exports,
}

impl Blocks {
    fn note(&mut self, scope: ScopeId, block: &TSModuleBlock<'_>) {
        let exports = self.exports.entry(self.path.join(".")).or_default();
        for statement in &block.body {
            if let Statement::ExportDeclaration(export) = statement {
                exports.extend(names(&export.declaration).into_iter().map(|name| (scope, name)));
            }
        }
    }
}

impl<'a> Visit<'a> for Blocks {
    fn visit_ts_namespace_declaration(&mut self, it: &TSNamespaceDeclaration<'a>) {
        self.path.push(it.id.name.to_string());
        if let (Some(scope), TSNamespaceDeclarationBody::TSModuleBlock(block), false) =
            (it.scope_id.get(), &it.body, it.declare)
        {
            self.note(scope, block);
        }
        walk::walk_ts_namespace_declaration(self, it);
        self.path.pop();
    }
}

/// The names of what is there when the types have gone.
fn names(declaration: &Declaration<'_>) -> Vec<String> {
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
struct Bare<'s> {
    scoping: &'s Scoping,
    exports: &'s Exports,
    /// The namespaces around, the innermost last: the whole name of each, and the block.
    around: Vec<(String, Option<ScopeId>)>,
    /// Where a name stands for a field and its value at once.
    short: HashSet<u32>,
    /// What to put before each.
    found: BTreeMap<u32, String>,
}

impl<'s> Bare<'s> {
    fn new(scoping: &'s Scoping, exports: &'s Exports) -> Self {
        let (around, short, found) = (Vec::new(), HashSet::new(), BTreeMap::new());
        Self { scoping, exports, around, short, found }
    }

    /// The namespace that gives a name to the block in which it is used.
    fn giver(&self, it: &IdentifierReference<'_>) -> Option<&str> {
        let reference = self.scoping.get_reference(it.reference_id.get()?);
        let declared = reference.symbol_id().map(|symbol| self.scoping.symbol_scope_id(symbol));
        let within = |block: ScopeId| {
            declared.is_some_and(|at| self.scoping.scope_ancestors(at).any(|one| one == block))
        };
        let gives = |(path, block): &&(String, Option<ScopeId>)| {
            let Some(block) = *block else { return false };
            let others = self.exports.get(path).into_iter().flatten();
            let mut others = others.filter(|(scope, _)| *scope != block);
            others.any(|(_, name)| it.name == name.as_str()) && !within(block)
        };
        self.around.iter().rev().find(gives).map(|(path, _)| path.as_str())
    }
}

impl<'a> Visit<'a> for Bare<'_> {
    fn visit_ts_namespace_declaration(&mut self, it: &TSNamespaceDeclaration<'a>) {
        let outer = self.around.last().map(|(path, _)| format!("{path}."));
        let path = format!("{}{}", outer.unwrap_or_default(), it.id.name);
        self.around.push((path, it.scope_id.get()));
        walk::walk_ts_namespace_declaration(self, it);
        self.around.pop();
    }

    fn visit_object_property(&mut self, it: &ObjectProperty<'a>) {
        self.short.extend(it.shorthand.then_some(it.span.start));
        walk::walk_object_property(self, it);
    }

    fn visit_assignment_target_property_identifier(
        &mut self,
        it: &AssignmentTargetPropertyIdentifier<'a>,
    ) {
        self.short.insert(it.span.start);
        walk::walk_assignment_target_property_identifier(self, it);
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        let start = it.span.start;
        let field =
            if self.short.contains(&start) { format!("{}: ", it.name) } else { String::new() };
        if let Some(put) = self.giver(it).map(|path| format!("{field}{path}.")) {
            self.found.insert(start, put);
        }
    }
}

/// The text with something put in at each of these places.
fn inserted(text: &str, found: &BTreeMap<u32, String>) -> String {
    let mut made = String::with_capacity(text.len() + found.len() * 16);
    let mut rest = text;
    let mut at = 0;
    for (start, put) in found {
        let start = usize::try_from(*start).unwrap_or(usize::MAX);
        let (before, after) = rest.split_at_checked(start.saturating_sub(at)).unwrap_or((rest, ""));
        made.extend([before, put]);
        (rest, at) = (after, start);
    }
    made.push_str(rest);
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out(text: &str) -> Option<String> {
        written_out(text, SourceType::ts())
    }

    #[test]
    fn only_what_another_block_exports_and_nobody_nearer_declares() {
        let text = "namespace U { export const up = 1, own = 2; export interface T {} const kept = 1; }\nnamespace U { const own = 3; export const all = [up, own, kept, { up }, ((up) => up)(1)]; let t: T; ({ up } = x); }\nup;";
        let expected = text
            .replace("[up, own", "[U.up, own")
            .replace("{ up }, (", "{ up: U.up }, (")
            .replace("({ up } =", "({ up: U.up } =");
        assert_eq!(out(text), Some(expected));
    }

    #[test]
    fn whole_names_of_inner_ones() {
        let text = "namespace A.B { export const b = 1; } namespace A { export namespace B { export const c = b; } export const d = B.b; }";
        let expected = text.replace("c = b", "c = A.B.b");
        assert_eq!(out(text), Some(expected));
    }

    #[test]
    fn where_there_is_nothing_to_write_out() {
        for text in [
            "namespace U { export const up = 1; export const e = up; }",
            "namespace U { export const up = 1; } namespace V { export const e = up; }",
            "namespace U { export const up = 1; } namespace U { export const e = U.up; }",
            "namespace U { namespace",
        ] {
            assert_eq!(out(text), None, "{text}");
        }
    }
}
