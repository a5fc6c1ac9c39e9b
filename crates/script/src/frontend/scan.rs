//! Collects the needs of a module from its syntax tree, after types are removed: imports, globals
//! that the engine lacks, and the events that it registers for.

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

use super::api_escape;
use super::module_text::PATH_GLOBALS;

/// Web globals that the engine lacks.
const MISSING_WEB_GLOBALS: &[&str] = &[
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

/// The needs of one file.
#[derive(Debug, Clone, Default)]
pub struct Needs {
    /// Specifier to the names used from it.
    pub imports: BTreeMap<String, BTreeSet<String>>,
    /// Byte offset of the first import of each specifier.
    pub import_offsets: BTreeMap<String, u32>,
    /// Specifier and name of each export that must exist for the file to load.
    pub named_exports: BTreeSet<(String, String)>,
    /// Specifiers imported as text.
    pub text_imports: BTreeSet<String>,
    /// Specifiers of dynamic imports with a literal.
    pub dynamic_imports: BTreeSet<String>,
    /// Specifiers passed to `require`.
    pub required: BTreeSet<String>,
    /// Whether the file uses the host's `require`, not one of its own.
    pub uses_host_require: bool,
    /// Specifier and name of each member that the file uses of a whole module.
    pub members: BTreeSet<(String, String)>,
    /// Globals that only a full host has: `Intl.`, `Bun.`, a `require` of a computed name.
    pub globals: BTreeSet<&'static str>,
    /// The same for globals that the module may do without.
    pub optional_globals: BTreeSet<&'static str>,
    /// Events named in `.on("…")`.
    pub events: BTreeSet<String>,
    /// The exported names of a CommonJS file; `None` for an ES module.
    pub commonjs: Option<BTreeSet<String>>,
    /// The CommonJS path names that the file uses without declaring them.
    pub path_globals: BTreeSet<&'static str>,
    /// Whether the file may register handlers in a way that the tree does not show.
    pub dynamic: bool,
}

/// Collects the needs of a program.
pub fn scan_program(program: &Program<'_>, scoping: &Scoping) -> Needs {
    let mut collector = NeedsCollector::new(scoping);
    for statement in &program.body {
        collector.scan_statement(statement);
    }
    collector.visit_program(program);

    collector.needs.uses_host_require &= !collector.binds_require;
    let commonjs =
        collector.mentions_exports && !collector.binds_exports && !program.body.iter().any(is_esm);
    collector.needs.dynamic |= commonjs || !api_escape::api_stays_local(program, scoping);

    let declared =
        |symbol: &Option<SymbolId>| symbol.is_some_and(|s| collector.bound_paths.contains(&s));
    let free = collector.path_uses.iter().filter(|(_, symbol)| !declared(symbol));
    collector.needs.path_globals = free.map(|(name, _)| *name).collect();

    collector.needs.commonjs = commonjs.then_some(collector.exported_names);
    collector.needs
}

struct NeedsCollector<'s> {
    scoping: &'s Scoping,
    needs: Needs,
    /// Names that refer to a whole module, and its specifier.
    whole_modules: HashMap<SymbolId, String>,
    /// Start positions of `on` members whose call was already handled.
    handled_on: BTreeSet<u32>,
    /// Whether the file declares its own `require`.
    binds_require: bool,
    /// Whether the file uses `module` or `exports`, and whether it declares them.
    mentions_exports: bool,
    binds_exports: bool,
    /// Uses of CommonJS path names, each with its symbol. A `declare` statement leaves no binding.
    path_uses: Vec<(&'static str, Option<SymbolId>)>,
    bound_paths: HashSet<SymbolId>,
    /// Names in `exports.name = …` and `module.exports = { name }`.
    exported_names: BTreeSet<String>,
}

impl<'s> NeedsCollector<'s> {
    fn new(scoping: &'s Scoping) -> Self {
        Self {
            scoping,
            needs: Needs::default(),
            whole_modules: HashMap::new(),
            handled_on: BTreeSet::new(),
            binds_require: false,
            mentions_exports: false,
            binds_exports: false,
            path_uses: Vec::new(),
            bound_paths: HashSet::new(),
            exported_names: BTreeSet::new(),
        }
    }

    fn scan_statement(&mut self, statement: &Statement<'_>) {
        match statement {
            Statement::ImportDeclaration(import) => {
                let source = self.add_import(&import.source);
                if import.with_clause.as_ref().is_some_and(|with| imports_text(with)) {
                    self.needs.text_imports.insert(source.clone());
                }
                for specifier in import.specifiers.iter().flatten() {
                    self.add_specifier(&source, specifier);
                }
            }
            Statement::ExportFromDeclaration(export) => {
                let source = self.add_import(&export.source);
                for specifier in &export.specifiers {
                    self.add_named_export(&source, export_name(&specifier.local));
                }
            }
            Statement::ExportAllDeclaration(export) => {
                self.add_import(&export.source);
            }
            _ => {}
        }
    }

    fn add_import(&mut self, from: &StringLiteral<'_>) -> String {
        let source = from.value.to_string();
        self.needs.imports.entry(source.clone()).or_default();
        self.needs.import_offsets.entry(source.clone()).or_insert(from.span.start);
        source
    }

    fn add_specifier(&mut self, source: &str, specifier: &ImportDeclarationSpecifier<'_>) {
        let (name, local) = match specifier {
            ImportDeclarationSpecifier::ImportSpecifier(named) => {
                let name = export_name(&named.imported);
                if let ("fs" | "node:fs", "promises") = (source, name.as_str()) {
                    self.add_whole_module(&named.local, "node:fs/promises");
                }
                return self.add_named_export(source, name);
            }
            ImportDeclarationSpecifier::ImportDefaultSpecifier(whole) => {
                (Some("default"), &whole.local)
            }
            ImportDeclarationSpecifier::ImportNamespaceSpecifier(whole) => (None, &whole.local),
        };
        self.add_whole_module(local, source);
        name.into_iter().for_each(|name| self.add_named_export(source, name.into()));
    }

    fn add_whole_module(&mut self, local: &BindingIdentifier<'_>, source: &str) {
        let local = local.symbol_id.get();
        self.whole_modules.extend(local.map(|local| (local, source.to_owned())));
    }

    /// The specifier of the module to which an expression refers.
    fn source_of(&self, object: &Expression<'_>) -> Option<String> {
        match object {
            Expression::Identifier(name) => self.whole_modules.get(&self.symbol_of(name)?).cloned(),
            Expression::CallExpression(call) if is_require(&call.callee) => {
                match call.arguments.first() {
                    Some(Argument::StringLiteral(text)) => Some(text.value.to_string()),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn symbol_of(&self, name: &IdentifierReference<'_>) -> Option<SymbolId> {
        self.scoping.get_reference(name.reference_id.get()?).symbol_id()
    }

    fn add_named_export(&mut self, source: &str, name: String) {
        self.needs.imports.entry(source.into()).or_default().insert(name.clone());
        self.needs.named_exports.insert((source.into(), name));
    }

    fn check_full_host_global(&mut self, object: &Expression<'_>) {
        if let Expression::Identifier(name) = object {
            match name.name.as_str() {
                "Intl" => _ = self.needs.globals.insert("Intl"),
                "Bun" => _ = self.needs.globals.insert("Bun"),
                // `require.resolve` and similar members.
                "require" => _ = self.needs.globals.insert("require"),
                _ => {}
            }
        }
    }

    fn scan_call(&mut self, call: &CallExpression<'_>) {
        let literal = match call.arguments.first() {
            Some(Argument::StringLiteral(text)) => Some(text.value.to_string()),
            _ => None,
        };
        match &call.callee {
            Expression::StaticMemberExpression(member) if member.property.name == "on" => {
                if let Some(event) = literal {
                    self.needs.events.insert(event);
                    self.handled_on.insert(member.property.span.start);
                }
            }
            Expression::StaticMemberExpression(member)
                if names_a_locale(&member.property.name, call.arguments.len()) =>
            {
                self.needs.optional_globals.insert("Intl");
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

/// Whether a method call with this many arguments names a locale.
fn names_a_locale(method: &str, arguments: usize) -> bool {
    match method {
        "localeCompare" => arguments > 1,
        "toLocaleString" | "toLocaleDateString" | "toLocaleTimeString" => arguments > 0,
        _ => false,
    }
}

/// Whether the clause is `with { type: "text" }`.
fn imports_text(with: &WithClause<'_>) -> bool {
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

fn export_name(name: &ModuleExportName<'_>) -> String {
    name.name().to_string()
}

impl<'a> Visit<'a> for NeedsCollector<'_> {
    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        self.scan_call(it);
        walk::walk_call_expression(self, it);
    }

    fn visit_static_member_expression(&mut self, it: &StaticMemberExpression<'a>) {
        if it.property.name == "on" && !self.handled_on.contains(&it.property.span.start) {
            self.needs.dynamic = true;
        }
        if let Some(source) = self.source_of(&it.object) {
            self.needs.members.insert((source, it.property.name.to_string()));
        }
        self.check_full_host_global(&it.object);
        walk::walk_static_member_expression(self, it);
    }

    fn visit_computed_member_expression(&mut self, it: &ComputedMemberExpression<'a>) {
        self.check_full_host_global(&it.object);
        walk::walk_computed_member_expression(self, it);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if let Some(source) = it.init.as_ref().and_then(|init| self.source_of(init)) {
            match &it.id {
                BindingPattern::BindingIdentifier(local) => self.add_whole_module(local, &source),
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
        // `typeof name` tests for the name, so the code can do without it.
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
        // `pi["on"]`, `Reflect.get(pi, "on")`: access by name.
        if it.value == "on" {
            self.needs.dynamic = true;
        }
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        if matches!(it.name.as_str(), "eval" | "Function" | "Proxy" | "Reflect") {
            self.needs.dynamic = true;
        }
        if let Some(global) = MISSING_WEB_GLOBALS.iter().find(|global| it.name == **global)
            && self.symbol_of(it).is_none()
        {
            self.needs.optional_globals.insert(global);
        }
        if let Some((name, _)) = PATH_GLOBALS.iter().find(|(name, _)| it.name == *name) {
            self.path_uses.push((name, self.symbol_of(it)));
        }
        self.needs.uses_host_require |= it.name == "require";
        self.mentions_exports |= matches!(it.name.as_str(), "module" | "exports");
    }

    fn visit_assignment_expression(&mut self, it: &AssignmentExpression<'a>) {
        if let AssignmentTarget::StaticMemberExpression(member) = &it.left {
            if is_exports(&member.object) {
                self.exported_names.insert(member.property.name.to_string());
            } else if is_module_exports(member)
                && let Expression::ObjectExpression(object) = &it.right
            {
                let names = object.properties.iter().filter_map(|property| match property {
                    ObjectPropertyKind::ObjectProperty(one) => one.key.static_name(),
                    ObjectPropertyKind::SpreadProperty(_) => None,
                });
                self.exported_names.extend(names.map(|name| name.to_string()));
            }
        }
        walk::walk_assignment_expression(self, it);
    }

    fn visit_binding_identifier(&mut self, it: &BindingIdentifier<'a>) {
        self.binds_require |= it.name == "require";
        self.binds_exports |= matches!(it.name.as_str(), "module" | "exports");
        if PATH_GLOBALS.iter().any(|(name, _)| it.name == *name) {
            self.bound_paths.extend(it.symbol_id.get());
        }
    }

    fn visit_import_expression(&mut self, it: &ImportExpression<'a>) {
        match &it.source {
            Expression::StringLiteral(text) => {
                _ = self.needs.dynamic_imports.insert(text.value.to_string())
            }
            // A computed import may register any handler.
            _ => self.needs.dynamic = true,
        }
        walk::walk_import_expression(self, it);
    }
}
