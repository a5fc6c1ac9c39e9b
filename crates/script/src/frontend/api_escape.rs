//! Escape analysis: does the `pi` object of a factory leave its file? It stays local if the file
//! uses it only as `pi.name`, or passes it to a function of the same file that does so. If unsure,
//! assume that it leaves.

use std::collections::{BTreeSet, HashMap};

use oxc_ast::ast::{
    Argument, BindingPattern, CallExpression, ExportDefaultDeclarationKind, Expression,
    FormalParameters, Function, IdentifierReference, ModuleExportName, Program, Statement,
    StaticMemberExpression, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_semantic::{ScopeFlags, Scoping, SymbolId};

/// The parameters of one function; `None` for a pattern.
type ParamSymbols = Vec<Option<SymbolId>>;

/// Whether the API object stays in this file, as far as the tree shows.
pub fn api_stays_local(program: &Program<'_>, scoping: &Scoping) -> bool {
    let mut table = FunctionTable { scoping, functions: HashMap::new() };
    table.visit_program(program);

    let Some(mut api_symbols) = table.factory_params(program) else { return false };
    loop {
        let before = api_symbols.len();
        let functions = &table.functions;
        let mut uses = ApiUses {
            scoping,
            functions,
            api_symbols,
            stays_local: true,
            local_uses: BTreeSet::new(),
        };
        uses.visit_program(program);
        api_symbols = uses.api_symbols;
        if !uses.stays_local || api_symbols.len() == before {
            return uses.stays_local;
        }
    }
}

fn symbol_of(scoping: &Scoping, name: &IdentifierReference<'_>) -> Option<SymbolId> {
    scoping.get_reference(name.reference_id.get()?).symbol_id()
}

/// The functions of a file, by their names.
struct FunctionTable<'s> {
    scoping: &'s Scoping,
    functions: HashMap<SymbolId, ParamSymbols>,
}

impl FunctionTable<'_> {
    fn add_function(&mut self, name: Option<SymbolId>, params: ParamSymbols) {
        // A name that is assigned again may be another function.
        if let Some(name) = name.filter(|name| !self.scoping.symbol_is_mutated(*name)) {
            self.functions.insert(name, params);
        }
    }

    /// The symbols that hold the API when the factory is called; `None` if they are unknown.
    fn factory_params(&self, program: &Program<'_>) -> Option<BTreeSet<SymbolId>> {
        let mut api_symbols = BTreeSet::new();
        for factory in program.body.iter().filter_map(|statement| self.exported_factory(statement))
        {
            if let Some(api) = factory?.first() {
                api_symbols.insert((*api)?);
            }
        }
        Some(api_symbols)
    }

    /// The parameters of the factory that a statement exports, if it exports one. They are unknown
    /// if the factory is not a function of this file.
    fn exported_factory(&self, statement: &Statement<'_>) -> Option<Option<ParamSymbols>> {
        match statement {
            Statement::ExportDefaultDeclaration(export) => Some(match &export.declaration {
                ExportDefaultDeclarationKind::FunctionDeclaration(function) => {
                    Some(param_symbols(&function.params))
                }
                ExportDefaultDeclarationKind::Identifier(name) => self.params_of_name(name),
                other => other.as_expression().and_then(params_of_expression),
            }),
            Statement::ExportNamedDeclaration(export) => {
                let one = export.specifiers.iter().find(|one| one.exported.name() == "default")?;
                Some(match &one.local {
                    ModuleExportName::IdentifierReference(name) => self.params_of_name(name),
                    _ => None,
                })
            }
            Statement::ExportFromDeclaration(export) => {
                let one = export.specifiers.iter().find(|one| one.exported.name() == "default")?;
                // The default export of another file is checked there; other exports are not.
                (one.local.name() != "default").then_some(None)
            }
            _ => None,
        }
    }

    fn params_of_name(&self, name: &IdentifierReference<'_>) -> Option<ParamSymbols> {
        self.functions.get(&symbol_of(self.scoping, name)?).cloned()
    }
}

fn param_symbols(given: &FormalParameters<'_>) -> ParamSymbols {
    let plain = |pattern: &BindingPattern<'_>| match pattern {
        BindingPattern::BindingIdentifier(name) => name.symbol_id.get(),
        _ => None,
    };
    let rest = given.rest.iter().map(|_| None);
    given.items.iter().map(|one| plain(&one.pattern)).chain(rest).collect()
}

/// The parameters of a function expression.
fn params_of_expression(made: &Expression<'_>) -> Option<ParamSymbols> {
    match made.without_parentheses() {
        Expression::ArrowFunctionExpression(arrow) => Some(param_symbols(&arrow.params)),
        Expression::FunctionExpression(function) => Some(param_symbols(&function.params)),
        _ => None,
    }
}

impl<'a> Visit<'a> for FunctionTable<'_> {
    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        self.add_function(
            it.id.as_ref().and_then(|name| name.symbol_id.get()),
            param_symbols(&it.params),
        );
        walk::walk_function(self, it, flags);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if let BindingPattern::BindingIdentifier(name) = &it.id
            && let Some(params) = it.init.as_ref().and_then(params_of_expression)
        {
            self.add_function(name.symbol_id.get(), params);
        }
        walk::walk_variable_declarator(self, it);
    }
}

/// All uses of the symbols that hold the API.
struct ApiUses<'s> {
    scoping: &'s Scoping,
    functions: &'s HashMap<SymbolId, ParamSymbols>,
    api_symbols: BTreeSet<SymbolId>,
    stays_local: bool,
    /// Start positions of uses that keep the API local.
    local_uses: BTreeSet<u32>,
}

impl ApiUses<'_> {
    fn holds_api(&self, name: &IdentifierReference<'_>) -> bool {
        symbol_of(self.scoping, name).is_some_and(|name| self.api_symbols.contains(&name))
    }

    /// Follows the API into a function of this file.
    fn follow_into_function(&mut self, call: &CallExpression<'_>) {
        let Expression::Identifier(callee) = &call.callee else { return };
        let Some(params) =
            symbol_of(self.scoping, callee).and_then(|name| self.functions.get(&name))
        else {
            return;
        };

        if call.arguments.iter().any(Argument::is_spread) {
            return;
        }

        for (nth, argument) in call.arguments.iter().enumerate() {
            let Some(Expression::Identifier(name)) = argument.as_expression() else { continue };
            if self.holds_api(name)
                && let Some(Some(param)) = params.get(nth)
            {
                self.api_symbols.insert(*param);
                self.local_uses.insert(name.span.start);
            }
        }
    }
}

impl<'a> Visit<'a> for ApiUses<'_> {
    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        self.follow_into_function(it);
        walk::walk_call_expression(self, it);
    }

    fn visit_static_member_expression(&mut self, it: &StaticMemberExpression<'a>) {
        if let Expression::Identifier(name) = &it.object {
            self.local_uses.insert(name.span.start);
        }
        walk::walk_static_member_expression(self, it);
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        let is_api = it.name == "arguments" || self.holds_api(it);
        if is_api && !self.local_uses.contains(&it.span.start) {
            self.stays_local = false;
        }
    }
}
