//! Whether the API that a factory is given stays in plain sight: used as `pi.name`, or handed to a
//! function of the same file that does no more. Everything else may register handlers unseen, and
//! when in doubt it does. It judges names and calls, never what they do.

use std::collections::{BTreeSet, HashMap};

use oxc_ast::ast::{
    Argument, BindingPattern, CallExpression, ExportDefaultDeclarationKind, Expression,
    FormalParameters, Function, IdentifierReference, ModuleExportName, Program, Statement,
    StaticMemberExpression, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_semantic::{ScopeFlags, Scoping, SymbolId};

/// The parameters of one function, as far as they are plain names.
type Params = Vec<Option<SymbolId>>;

/// Whether nothing is done with the API but what can be seen.
pub fn plain(program: &Program<'_>, scoping: &Scoping) -> bool {
    let mut known = Known { scoping, functions: HashMap::new() };
    known.visit_program(program);
    let Some(mut held) = known.given(program) else { return false };
    loop {
        let before = held.len();
        let functions = &known.functions;
        let mut uses = Uses { scoping, functions, held, seen: true, plainly: BTreeSet::new() };
        uses.visit_program(program);
        held = uses.held;
        if !uses.seen || held.len() == before {
            return uses.seen;
        }
    }
}

fn symbol(scoping: &Scoping, name: &IdentifierReference<'_>) -> Option<SymbolId> {
    scoping.get_reference(name.reference_id.get()?).symbol_id()
}

/// The functions of a file, by their names.
struct Known<'s> {
    scoping: &'s Scoping,
    functions: HashMap<SymbolId, Params>,
}

impl Known<'_> {
    fn learn(&mut self, name: Option<SymbolId>, params: Params) {
        // One that is given another value later is nobody we know.
        if let Some(name) = name.filter(|name| !self.scoping.symbol_is_mutated(*name)) {
            self.functions.insert(name, params);
        }
    }

    /// What holds the API when the file's factory is called; nothing if that cannot be told.
    fn given(&self, program: &Program<'_>) -> Option<BTreeSet<SymbolId>> {
        let mut held = BTreeSet::new();
        for factory in program.body.iter().filter_map(|statement| self.factory(statement)) {
            if let Some(api) = factory?.first() {
                held.insert((*api)?);
            }
        }
        Some(held)
    }

    /// The factory that a statement hands out, if it does; one that is no function of this file
    /// has no parameters that we know.
    fn factory(&self, statement: &Statement<'_>) -> Option<Option<Params>> {
        match statement {
            Statement::ExportDefaultDeclaration(export) => Some(match &export.declaration {
                ExportDefaultDeclarationKind::FunctionDeclaration(function) => {
                    Some(params(&function.params))
                }
                ExportDefaultDeclarationKind::Identifier(name) => self.named(name),
                other => other.as_expression().and_then(params_of),
            }),
            Statement::ExportNamedDeclaration(export) => {
                let one = export.specifiers.iter().find(|one| one.exported.name() == "default")?;
                Some(match &one.local {
                    ModuleExportName::IdentifierReference(name) => self.named(name),
                    _ => None,
                })
            }
            Statement::ExportFromDeclaration(export) => {
                let one = export.specifiers.iter().find(|one| one.exported.name() == "default")?;
                // The default of another file is looked at there; any other name of it is not.
                (one.local.name() != "default").then_some(None)
            }
            _ => None,
        }
    }

    fn named(&self, name: &IdentifierReference<'_>) -> Option<Params> {
        self.functions.get(&symbol(self.scoping, name)?).cloned()
    }
}

fn params(given: &FormalParameters<'_>) -> Params {
    let plain = |pattern: &BindingPattern<'_>| match pattern {
        BindingPattern::BindingIdentifier(name) => name.symbol_id.get(),
        _ => None,
    };
    let rest = given.rest.iter().map(|_| None);
    given.items.iter().map(|one| plain(&one.pattern)).chain(rest).collect()
}

/// The parameters of an expression that is a function.
fn params_of(made: &Expression<'_>) -> Option<Params> {
    match made.without_parentheses() {
        Expression::ArrowFunctionExpression(arrow) => Some(params(&arrow.params)),
        Expression::FunctionExpression(function) => Some(params(&function.params)),
        _ => None,
    }
}

impl<'a> Visit<'a> for Known<'_> {
    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        self.learn(it.id.as_ref().and_then(|name| name.symbol_id.get()), params(&it.params));
        walk::walk_function(self, it, flags);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if let BindingPattern::BindingIdentifier(name) = &it.id
            && let Some(params) = it.init.as_ref().and_then(params_of)
        {
            self.learn(name.symbol_id.get(), params);
        }
        walk::walk_variable_declarator(self, it);
    }
}

/// Every mention of what holds the API.
struct Uses<'s> {
    scoping: &'s Scoping,
    functions: &'s HashMap<SymbolId, Params>,
    held: BTreeSet<SymbolId>,
    seen: bool,
    /// Mentions that have been found plain, by where they start.
    plainly: BTreeSet<u32>,
}

impl Uses<'_> {
    fn holds(&self, name: &IdentifierReference<'_>) -> bool {
        symbol(self.scoping, name).is_some_and(|name| self.held.contains(&name))
    }

    /// Follows the API into a function of this file.
    fn hand_over(&mut self, call: &CallExpression<'_>) {
        let Expression::Identifier(callee) = &call.callee else { return };
        let Some(params) = symbol(self.scoping, callee).and_then(|name| self.functions.get(&name))
        else {
            return;
        };
        if call.arguments.iter().any(Argument::is_spread) {
            return;
        }
        for (nth, argument) in call.arguments.iter().enumerate() {
            let Some(Expression::Identifier(name)) = argument.as_expression() else { continue };
            if self.holds(name)
                && let Some(Some(param)) = params.get(nth)
            {
                self.held.insert(*param);
                self.plainly.insert(name.span.start);
            }
        }
    }
}

impl<'a> Visit<'a> for Uses<'_> {
    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        self.hand_over(it);
        walk::walk_call_expression(self, it);
    }

    fn visit_static_member_expression(&mut self, it: &StaticMemberExpression<'a>) {
        if let Expression::Identifier(name) = &it.object {
            self.plainly.insert(name.span.start);
        }
        walk::walk_static_member_expression(self, it);
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        let unseen = it.name == "arguments" || self.holds(it);
        if unseen && !self.plainly.contains(&it.span.start) {
            self.seen = false;
        }
    }
}
