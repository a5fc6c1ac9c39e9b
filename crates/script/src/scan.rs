//! What a module asks for, read from its syntax tree after types have gone: imports, globals that
//! the engine lacks, and the events that it registers for. It judges nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use oxc_ast::ast::{
    Argument, AssignmentExpression, AssignmentTarget, BindingIdentifier, BindingPattern,
    BindingProperty, CallExpression, ComputedMemberExpression, Expression, IdentifierReference,
    ImportDeclarationSpecifier, ImportExpression, ModuleExportName, ObjectPropertyKind, Program,
    Statement, StaticMemberExpression, StringLiteral, UnaryExpression, VariableDeclarator,
    WithClause,
};
use oxc_ast_visit::{Visit, walk};
use oxc_semantic::{Scoping, SymbolId};
use oxc_syntax::operator::UnaryOperator;

use crate::loader::PLACES;
use crate::sight;

/// Globals of the web that the engine lacks.
const WEB: &[&str] = &[
    "Blob",
    "BroadcastChannel",
    "CompressionStream",
    "CustomEvent",
    "DecompressionStream",
    "File",
    "FormData",
    "MessageChannel",
    "ReadableStream",
    "TransformStream",
    "WebAssembly",
    "WebSocket",
    "Worker",
    "WritableStream",
    "navigator",
];

/// What one file asks for.
#[derive(Debug, Clone, Default)]
pub struct Needs {
    /// Specifier to the names that are used of it.
    pub imports: BTreeMap<String, BTreeSet<String>>,
    /// Where the first import of each specifier begins, in bytes.
    pub starts: BTreeMap<String, u32>,
    /// Specifier and name of what must be there for the file to load.
    pub named: BTreeSet<(String, String)>,
    /// Specifiers that are imported as texts.
    pub texts: BTreeSet<String>,
    /// Specifiers of dynamic imports with a literal.
    pub lazy: BTreeSet<String>,
    /// Specifiers given to `require`.
    pub required: BTreeSet<String>,
    /// Whether `require` is meant that the host gives, and not a name of the file's own.
    pub requires: bool,
    /// Specifier and name of what is looked up in what was imported or required as a whole.
    pub members: BTreeSet<(String, String)>,
    /// Globals that only a full host has: `Intl.`, `Bun.`, `require(` of something unknown.
    pub globals: BTreeSet<&'static str>,
    /// The same for those that a module may well do without.
    pub wishes: BTreeSet<&'static str>,
    /// Events named in `.on("…")`.
    pub events: BTreeSet<String>,
    /// Whether the file hands out what it makes through `module.exports`, and by which names.
    pub commonjs: Option<BTreeSet<String>>,
    /// The names of CommonJS for the file and its folder that it uses without having them.
    pub places: BTreeSet<&'static str>,
    /// Whether events may be registered in a way that the tree does not show.
    pub dynamic: bool,
}

/// Reads what a program asks for.
pub fn scan(program: &Program<'_>, scoping: &Scoping) -> Needs {
    let mut scan = Scan::new(scoping);
    for statement in &program.body {
        scan.statement(statement);
    }
    scan.visit_program(program);
    scan.needs.requires &= !scan.binds_require;
    let commonjs = scan.mentions_exports && !scan.binds_exports && !program.body.iter().any(is_esm);
    scan.needs.dynamic |= commonjs || !sight::plain(program, scoping);
    let declared = |symbol: &Option<SymbolId>| symbol.is_some_and(|s| scan.bound.contains(&s));
    let free = scan.placed.iter().filter(|(_, symbol)| !declared(symbol));
    scan.needs.places = free.map(|(name, _)| *name).collect();
    scan.needs.commonjs = commonjs.then_some(scan.handed_out);
    scan.needs
}

struct Scan<'s> {
    scoping: &'s Scoping,
    needs: Needs,
    /// Names that stand for a whole module, and its specifier.
    wholes: HashMap<SymbolId, String>,
    /// The `on` of a call that has been read already, by where it starts.
    read: BTreeSet<u32>,
    /// Whether the file has a `require` of its own somewhere.
    binds_require: bool,
    /// Whether it speaks of `module` or `exports`, and whether these are its own.
    mentions_exports: bool,
    binds_exports: bool,
    /// Mentions of the file or its folder, and what declares those names: types have gone, and with
    /// them what was only declared to be there.
    placed: Vec<(&'static str, Option<SymbolId>)>,
    bound: HashSet<SymbolId>,
    /// The names in `exports.name = …` and `module.exports = { name }`.
    handed_out: BTreeSet<String>,
}

impl<'s> Scan<'s> {
    fn new(scoping: &'s Scoping) -> Self {
        Self {
            scoping,
            needs: Needs::default(),
            wholes: HashMap::new(),
            read: BTreeSet::new(),
            binds_require: false,
            mentions_exports: false,
            binds_exports: false,
            placed: Vec::new(),
            bound: HashSet::new(),
            handed_out: BTreeSet::new(),
        }
    }

    fn statement(&mut self, statement: &Statement<'_>) {
        match statement {
            Statement::ImportDeclaration(import) => {
                let source = self.imported(&import.source);
                if import.with_clause.as_ref().is_some_and(|with| says_text(with)) {
                    self.needs.texts.insert(source.clone());
                }
                for specifier in import.specifiers.iter().flatten() {
                    self.specifier(&source, specifier);
                }
            }
            Statement::ExportFromDeclaration(export) => {
                let source = self.imported(&export.source);
                for specifier in &export.specifiers {
                    self.named(&source, exported(&specifier.local));
                }
            }
            Statement::ExportAllDeclaration(export) => {
                self.imported(&export.source);
            }
            _ => {}
        }
    }

    fn imported(&mut self, from: &StringLiteral<'_>) -> String {
        let source = from.value.to_string();
        self.needs.imports.entry(source.clone()).or_default();
        self.needs.starts.entry(source.clone()).or_insert(from.span.start);
        source
    }

    fn specifier(&mut self, source: &str, specifier: &ImportDeclarationSpecifier<'_>) {
        let (name, local) = match specifier {
            ImportDeclarationSpecifier::ImportSpecifier(named) => {
                let name = exported(&named.imported);
                if let ("fs" | "node:fs", "promises") = (source, name.as_str()) {
                    self.whole(&named.local, "node:fs/promises");
                }
                return self.named(source, name);
            }
            ImportDeclarationSpecifier::ImportDefaultSpecifier(whole) => {
                (Some("default"), &whole.local)
            }
            ImportDeclarationSpecifier::ImportNamespaceSpecifier(whole) => (None, &whole.local),
        };
        self.whole(local, source);
        name.into_iter().for_each(|name| self.named(source, name.into()));
    }

    fn whole(&mut self, local: &BindingIdentifier<'_>, source: &str) {
        let local = local.symbol_id.get();
        self.wholes.extend(local.map(|local| (local, source.to_owned())));
    }

    /// The specifier of the module that an expression is the whole of.
    fn source_of(&self, object: &Expression<'_>) -> Option<String> {
        match object {
            Expression::Identifier(name) => self.wholes.get(&self.symbol(name)?).cloned(),
            Expression::CallExpression(call) if is_require(&call.callee) => {
                match call.arguments.first() {
                    Some(Argument::StringLiteral(text)) => Some(text.value.to_string()),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn symbol(&self, name: &IdentifierReference<'_>) -> Option<SymbolId> {
        self.scoping.get_reference(name.reference_id.get()?).symbol_id()
    }

    fn named(&mut self, source: &str, name: String) {
        self.needs.imports.entry(source.into()).or_default().insert(name.clone());
        self.needs.named.insert((source.into(), name));
    }

    fn full_host(&mut self, object: &Expression<'_>) {
        if let Expression::Identifier(name) = object {
            match name.name.as_str() {
                "Intl" => _ = self.needs.globals.insert("Intl"),
                "Bun" => _ = self.needs.globals.insert("Bun"),
                // `require.resolve` and its kin.
                "require" => _ = self.needs.globals.insert("require"),
                _ => {}
            }
        }
    }

    fn call(&mut self, call: &CallExpression<'_>) {
        let literal = match call.arguments.first() {
            Some(Argument::StringLiteral(text)) => Some(text.value.to_string()),
            _ => None,
        };
        match &call.callee {
            Expression::StaticMemberExpression(member) if member.property.name == "on" => {
                if let Some(event) = literal {
                    self.needs.events.insert(event);
                    self.read.insert(member.property.span.start);
                }
            }
            Expression::StaticMemberExpression(member)
                if names_a_locale(&member.property.name, call.arguments.len()) =>
            {
                self.needs.wishes.insert("Intl");
            }
            Expression::ComputedMemberExpression(_) => self.needs.dynamic = true,
            callee if is_require(callee) => match literal {
                Some(source) => _ = self.needs.required.insert(source),
                None => _ = self.needs.globals.insert("require"),
            },
            _ => {}
        }
    }
}

/// Whether a method with so many arguments is told how a language writes.
fn names_a_locale(method: &str, arguments: usize) -> bool {
    match method {
        "localeCompare" => arguments > 1,
        "toLocaleString" | "toLocaleDateString" | "toLocaleTimeString" => arguments > 0,
        _ => false,
    }
}

/// Whether it says `with { type: "text" }`.
fn says_text(with: &WithClause<'_>) -> bool {
    let mut entries = with.with_entries.iter();
    entries.any(|entry| entry.key.as_arena_str() == "type" && entry.value.value == "text")
}

fn is_require(callee: &Expression<'_>) -> bool {
    matches!(callee, Expression::Identifier(name) if name.name == "require")
}

fn is_esm(statement: &Statement<'_>) -> bool {
    matches!(
        statement,
        Statement::ImportDeclaration(_)
            | Statement::ExportFromDeclaration(_)
            | Statement::ExportAllDeclaration(_)
            | Statement::ExportDefaultDeclaration(_)
            | Statement::ExportNamedDeclaration(_)
    )
}

/// Whether an expression is `exports` or `module.exports`.
fn is_exports(object: &Expression<'_>) -> bool {
    match object {
        Expression::Identifier(name) => name.name == "exports",
        Expression::StaticMemberExpression(member) => is_module_exports(member),
        _ => false,
    }
}

fn is_module_exports(member: &StaticMemberExpression<'_>) -> bool {
    let of =
        |name: &Expression<'_>| matches!(name, Expression::Identifier(n) if n.name == "module");
    member.property.name == "exports" && of(&member.object)
}

fn exported(name: &ModuleExportName<'_>) -> String {
    name.name().to_string()
}

impl<'a> Visit<'a> for Scan<'_> {
    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        self.call(it);
        walk::walk_call_expression(self, it);
    }

    fn visit_static_member_expression(&mut self, it: &StaticMemberExpression<'a>) {
        if it.property.name == "on" && !self.read.contains(&it.property.span.start) {
            self.needs.dynamic = true;
        }
        if let Some(source) = self.source_of(&it.object) {
            self.needs.members.insert((source, it.property.name.to_string()));
        }
        self.full_host(&it.object);
        walk::walk_static_member_expression(self, it);
    }

    fn visit_computed_member_expression(&mut self, it: &ComputedMemberExpression<'a>) {
        self.full_host(&it.object);
        walk::walk_computed_member_expression(self, it);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if let Some(source) = it.init.as_ref().and_then(|init| self.source_of(init)) {
            match &it.id {
                BindingPattern::BindingIdentifier(local) => self.whole(local, &source),
                BindingPattern::ObjectPattern(taken) => {
                    let names = taken.properties.iter().filter_map(|one| one.key.static_name());
                    let members = names.map(|name| (source.clone(), name.to_string()));
                    self.needs.members.extend(members);
                }
                _ => {}
            }
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_unary_expression(&mut self, it: &UnaryExpression<'a>) {
        // Who asks whether a name is there can do without it.
        if it.operator != UnaryOperator::Typeof || !it.argument.is_identifier_reference() {
            walk::walk_unary_expression(self, it);
        }
    }

    fn visit_binding_property(&mut self, it: &BindingProperty<'a>) {
        if it.key.static_name().is_none_or(|name| name == "on") {
            self.needs.dynamic = true;
        }
        walk::walk_binding_property(self, it);
    }

    fn visit_string_literal(&mut self, it: &StringLiteral<'a>) {
        // `pi["on"]`, `Reflect.get(pi, "on")`: somebody reaches for it by name.
        if it.value == "on" {
            self.needs.dynamic = true;
        }
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        if matches!(it.name.as_str(), "eval" | "Function" | "Proxy" | "Reflect") {
            self.needs.dynamic = true;
        }
        if let Some(global) = WEB.iter().find(|global| it.name == **global)
            && self.symbol(it).is_none()
        {
            self.needs.wishes.insert(global);
        }
        if let Some((name, _)) = PLACES.iter().find(|(name, _)| it.name == *name) {
            self.placed.push((name, self.symbol(it)));
        }
        self.needs.requires |= it.name == "require";
        self.mentions_exports |= matches!(it.name.as_str(), "module" | "exports");
    }

    fn visit_assignment_expression(&mut self, it: &AssignmentExpression<'a>) {
        if let AssignmentTarget::StaticMemberExpression(member) = &it.left {
            if is_exports(&member.object) {
                self.handed_out.insert(member.property.name.to_string());
            } else if is_module_exports(member)
                && let Expression::ObjectExpression(object) = &it.right
            {
                let names = object.properties.iter().filter_map(|property| match property {
                    ObjectPropertyKind::ObjectProperty(one) => one.key.static_name(),
                    ObjectPropertyKind::SpreadProperty(_) => None,
                });
                self.handed_out.extend(names.map(|name| name.to_string()));
            }
        }
        walk::walk_assignment_expression(self, it);
    }

    fn visit_binding_identifier(&mut self, it: &BindingIdentifier<'a>) {
        self.binds_require |= it.name == "require";
        self.binds_exports |= matches!(it.name.as_str(), "module" | "exports");
        if PLACES.iter().any(|(name, _)| it.name == *name) {
            self.bound.extend(it.symbol_id.get());
        }
    }

    fn visit_import_expression(&mut self, it: &ImportExpression<'a>) {
        match &it.source {
            Expression::StringLiteral(text) => _ = self.needs.lazy.insert(text.value.to_string()),
            // What a computed import registers cannot be seen from here.
            _ => self.needs.dynamic = true,
        }
        walk::walk_import_expression(self, it);
    }
}
