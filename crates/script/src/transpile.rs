//! One file's text in, JavaScript and what it asks for out. It starts nothing, and reads nothing of
//! the disk but, for a file with decorators, which kind is meant.

use std::collections::BTreeMap;
use std::path::Path;

use oxc_allocator::Allocator;
use oxc_ast::ast::{Decorator, Program, Statement};
use oxc_ast_visit::Visit;
use oxc_codegen::{Codegen, CodegenOptions};
use oxc_diagnostics::{OxcDiagnostic, Severity};
use oxc_parser::Parser;
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;
use oxc_transformer::{HelperLoaderMode, TransformOptions, Transformer};

use crate::documents;
use crate::loader;
use crate::merged;
use crate::positions::Positions;
use crate::resolve;
use crate::scan::{self, Needs};

/// The largest text that is taken as a module.
pub const MAX_TEXT: usize = 4 << 20;

/// One file, ready for an engine.
#[derive(Debug, Clone)]
pub struct Unit {
    /// JavaScript.
    pub code: String,
    /// From the lines of `code` to the lines that a person wrote.
    pub positions: Positions,
    /// What the file asks for, after types have gone.
    pub needs: Needs,
    /// Where each of its imports stands.
    pub imported_at: BTreeMap<String, Point>,
}

/// A place in a text, both counted from one; the column in letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// Why a text is no module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong, without a place.
    pub message: String,
    /// Where it stands, if that is known.
    pub at: Option<Point>,
}

/// Takes types away, lowers what the engine does not know, and notes what is asked for. A file that
/// is no code, or that `as_text` says is none, becomes what it says.
pub fn transpile(path: &Path, text: &str, as_text: bool) -> Result<Unit, Refusal> {
    if text.len() > MAX_TEXT {
        return Err(refusal("the file is larger than 4 MiB"));
    }
    if text.as_bytes().contains(&0) {
        return Err(refusal("the file contains a NUL byte"));
    }
    if let Some(read) = documents::read(path, text, as_text) {
        return read;
    }
    // The parser recurses with the nesting of the text, and a stack that runs out ends the whole
    // process: so the stack is as large as the text can ask for.
    let stack = (32 << 20) + text.len().saturating_mul(6 << 10);
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(stack)
            .spawn_scoped(scope, || compile(path, text))
            .map_err(|e| refusal(&format!("no thread to read it: {e}")))?
            .join()
            .unwrap_or_else(|_| Err(refusal("the file cannot be read as a module")))
    })
}

fn refusal(message: &str) -> Refusal {
    Refusal { message: message.into(), at: None }
}

fn compile(path: &Path, text: &str) -> Result<Unit, Refusal> {
    let kind = source_type(path);
    let written_out = merged::written_out(text, kind);
    let text = written_out.as_deref().unwrap_or(text);
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, kind).parse();
    refuse_on(&parsed.diagnostics, text)?;
    if parsed.panicked {
        return Err(refusal("the file cannot be parsed"));
    }
    let mut program = parsed.program;
    refuse_decorators(path, &program, text)?;
    let semantic = SemanticBuilder::new().with_excess_capacity(2.0).with_enum_eval(true);
    let scoping = semantic.build(&program).semantic.into_scoping();
    let turned =
        Transformer::new(&allocator, path, &options()).build_with_scoping(scoping, &mut program);
    refuse_on(&turned.diagnostics, text)?;
    let needs = scan::scan(&program, &turned.scoping);
    strip_attributes(&mut program);
    let (mut code, positions) = print(path, &program);
    if let Some(names) = &needs.commonjs {
        code = loader::wrapped(&code, names);
    } else if !needs.places.is_empty() {
        code = loader::placed(&code, &needs.places);
    }
    let starts = needs.starts.iter();
    let imported_at = starts.map(|(from, start)| (from.clone(), point(text, *start))).collect();
    Ok(Unit { code, positions, needs, imported_at })
}

/// Only the legacy kind can be lowered; one that is run as the other would do something else than
/// what was written.
fn refuse_decorators(path: &Path, program: &Program<'_>, text: &str) -> Result<(), Refusal> {
    let mut found = Decorators::default();
    found.visit_program(program);
    match found.first {
        Some(offset) if !resolve::wants_legacy_decorators(path) => Err(Refusal {
            message: "standard decorators are not supported, only those of experimentalDecorators"
                .into(),
            at: Some(point(text, offset)),
        }),
        _ => Ok(()),
    }
}

/// Where the first decorator stands.
#[derive(Default)]
struct Decorators {
    first: Option<u32>,
}

impl<'a> Visit<'a> for Decorators {
    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.first.get_or_insert(it.span.start);
    }
}

/// What an importer says of a file has been heard, and no engine needs to hear it again.
fn strip_attributes(program: &mut Program<'_>) {
    for statement in &mut program.body {
        if let Statement::ImportDeclaration(import) = statement
            && resolve::is_file(&import.source.value)
        {
            import.with_clause = None;
        }
    }
}

fn source_type(path: &Path) -> SourceType {
    let kind = SourceType::from_path(path).unwrap_or_else(|_| SourceType::ts());
    kind.with_module(true)
}

fn options() -> TransformOptions {
    let mut options = TransformOptions::default();
    options.env.es2026.explicit_resource_management = true;
    options.decorator.legacy = true;
    options.helper_loader.mode = HelperLoaderMode::External;
    options
}

fn print(path: &Path, program: &Program<'_>) -> (String, Positions) {
    let source_map_path = Some(path.to_path_buf());
    // Indented, a text takes room by the square of its depth.
    let options = CodegenOptions { source_map_path, indent_width: 0, ..CodegenOptions::default() };
    let printed = Codegen::new().with_options(options).build(program);
    let spots = printed.map.iter().flat_map(|map| {
        map.get_tokens().map(|t| (t.get_dst_line(), t.get_dst_col(), t.get_src_line()))
    });
    let positions = Positions::new(spots.collect());
    (printed.code, positions)
}

fn refuse_on<'a>(
    found: impl IntoIterator<Item = &'a OxcDiagnostic>,
    text: &str,
) -> Result<(), Refusal> {
    let Some(first) = found.into_iter().find(|d| d.severity == Severity::Error) else {
        return Ok(());
    };
    let at = first.labels.first().map(|label| point(text, label.offset()));
    Err(Refusal { message: first.message.to_string(), at })
}

fn point(text: &str, offset: impl TryInto<usize>) -> Point {
    let offset = text.floor_char_boundary(offset.try_into().unwrap_or(0));
    let (before, _) = text.split_at(offset);
    let letters = before.chars().rev().take_while(|letter| *letter != '\n').count();
    let counted = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).saturating_add(1);
    Point { line: counted(before.matches('\n').count()), column: counted(letters) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ts(text: &str) -> Unit {
        transpile(Path::new("/x/a.ts"), text, false).unwrap()
    }

    #[test]
    fn type_only_imports_vanish_and_lines_are_kept() {
        let text = "import { HookAPI } from \"@oh-my-pi/x\";\n\n\ninterface A { b: string }\nexport default function (pi: HookAPI) {\n\n\tpi.on(\"tool_call\", 1 as any);\n}\n";
        let unit = ts(text);
        assert!(unit.needs.imports.is_empty(), "{:?}", unit.needs);
        let line = unit.code.lines().position(|l| l.contains("pi.on")).unwrap();
        let line = u32::try_from(line).unwrap() + 1;
        assert_eq!(unit.positions.original(line, 4), 7);
    }

    #[test]
    fn depth_costs_no_room() {
        let text = format!("{}let a = 1;{}", "{".repeat(20_000), "}".repeat(20_000));
        assert!(ts(&text).code.len() < 4 * text.len());
    }

    #[test]
    fn a_syntax_error_names_its_line() {
        let refused =
            transpile(Path::new("/x/a.ts"), "const a = 1;\n\nlet = = 3;\n", false).unwrap_err();
        assert_eq!(refused.at.map(|at| at.line), Some(3));
    }

    #[test]
    fn deep_nesting_is_refused_or_read_but_never_ends_the_process() {
        for piece in ["(", "[", "{", "!", "a=>", "a=", "if(1)", "a?", "x+", "-", "`${", "<a>", "a:"]
        {
            let _ = transpile(Path::new("/x/a.ts"), &piece.repeat(20_000), false);
            let _ = transpile(Path::new("/x/a.ts"), &format!("{}1", piece.repeat(20_000)), false);
        }
    }
}
