//! Compiles one source file to JavaScript and collects its needs. Reads no files except
//! `tsconfig.json`, if the source has decorators.

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

use super::data_modules;
use super::module_text;
use super::namespaces;
use super::resolve;
use super::scan::{self, Needs};
use super::source_map::SourceMap;

/// The largest source text of a module.
pub const MAX_SOURCE_BYTES: usize = 4 << 20;

/// One file, ready for an engine.
#[derive(Debug, Clone)]
pub struct CompiledUnit {
    /// The JavaScript.
    pub code: String,
    /// Maps lines of `code` to lines of the source.
    pub source_map: SourceMap,
    /// The needs of the file, after types are removed.
    pub needs: Needs,
    /// The position of each import.
    pub imported_at: BTreeMap<String, SourcePoint>,
}

/// A position in a text. Line and column start at one; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourcePoint {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// Why a text cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileError {
    /// The message, without the position.
    pub message: String,
    /// The position, if known.
    pub at: Option<SourcePoint>,
}

/// Removes types, lowers syntax that the engine lacks, and collects the needs. A data file, or any
/// file if `as_text`, becomes a module that exports its content.
pub fn transpile_file(
    path: &Path,
    text: &str,
    as_text: bool,
) -> Result<CompiledUnit, CompileError> {
    if text.len() > MAX_SOURCE_BYTES {
        return Err(compile_error("the file is larger than 4 MiB"));
    }
    if text.as_bytes().contains(&0) {
        return Err(compile_error("the file contains a NUL byte"));
    }

    if let Some(read) = data_modules::parse_data_module(path, text, as_text) {
        return read;
    }
    // The parser recurses with the nesting of the text, and a stack overflow would end the process.
    // So the stack grows with the length of the text.
    let stack = (32 << 20) + text.len().saturating_mul(6 << 10);
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(stack)
            .spawn_scoped(scope, || compile_source(path, text))
            .map_err(|e| compile_error(&format!("cannot start a thread to parse the file: {e}")))?
            .join()
            .unwrap_or_else(|_| Err(compile_error("the file cannot be compiled")))
    })
}

fn compile_error(message: &str) -> CompileError {
    CompileError { message: message.into(), at: None }
}

fn compile_source(path: &Path, text: &str) -> Result<CompiledUnit, CompileError> {
    let kind = source_type(path);
    let qualified = namespaces::qualify_cross_block_names(text, kind);
    let text = qualified.as_deref().unwrap_or(text);

    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, kind).parse();
    reject_diagnostics(&parsed.diagnostics, text)?;
    if parsed.panicked {
        return Err(compile_error("the file cannot be parsed"));
    }

    let mut program = parsed.program;
    reject_standard_decorators(path, &program, text)?;

    let semantic = SemanticBuilder::new().with_excess_capacity(2.0).with_enum_eval(true);
    let scoping = semantic.build(&program).semantic.into_scoping();
    let transformed = Transformer::new(&allocator, path, &transform_options())
        .build_with_scoping(scoping, &mut program);
    reject_diagnostics(&transformed.diagnostics, text)?;

    let needs = scan::scan_program(&program, &transformed.scoping);
    strip_attributes(&mut program);

    let (mut code, source_map) = print_program(path, &program);
    if let Some(names) = &needs.commonjs {
        code = module_text::wrap_commonjs(&code, names);
    } else if !needs.path_globals.is_empty() {
        code = module_text::define_path_globals(&code, &needs.path_globals);
    }

    let starts = needs.import_offsets.iter();
    let imported_at = starts.map(|(from, start)| (from.clone(), point_at(text, *start))).collect();
    Ok(CompiledUnit { code, source_map, needs, imported_at })
}

/// Rejects standard decorators: only the legacy ones can be lowered, and they behave differently.
fn reject_standard_decorators(
    path: &Path,
    program: &Program<'_>,
    text: &str,
) -> Result<(), CompileError> {
    let mut found = DecoratorFinder::default();
    found.visit_program(program);

    match found.first {
        Some(offset) if !resolve::wants_legacy_decorators(path) => Err(CompileError {
            message: "standard decorators are not supported; set `experimentalDecorators` in tsconfig.json"
                .into(),
            at: Some(point_at(text, offset)),
        }),
        _ => Ok(()),
    }
}

/// Finds the first decorator.
#[derive(Default)]
struct DecoratorFinder {
    first: Option<u32>,
}

impl<'a> Visit<'a> for DecoratorFinder {
    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.first.get_or_insert(it.span.start);
    }
}

/// Removes attributes from imports of files: this step handles them, the engine does not.
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

fn transform_options() -> TransformOptions {
    let mut options = TransformOptions::default();
    options.env.es2026.explicit_resource_management = true;
    options.decorator.legacy = true;
    options.helper_loader.mode = HelperLoaderMode::External;
    options
}

fn print_program(path: &Path, program: &Program<'_>) -> (String, SourceMap) {
    let source_map_path = Some(path.to_path_buf());
    // Indentation would take quadratic space for deeply nested code.
    let options = CodegenOptions { source_map_path, indent_width: 0, ..CodegenOptions::default() };
    let printed = Codegen::new().with_options(options).build(program);

    let mappings = printed.map.iter().flat_map(|map| {
        map.get_tokens().map(|t| (t.get_dst_line(), t.get_dst_col(), t.get_src_line()))
    });
    let source_map = SourceMap::new(mappings.collect());
    (printed.code, source_map)
}

fn reject_diagnostics<'a>(
    found: impl IntoIterator<Item = &'a OxcDiagnostic>,
    text: &str,
) -> Result<(), CompileError> {
    let Some(first) = found.into_iter().find(|d| d.severity == Severity::Error) else {
        return Ok(());
    };
    let at = first.labels.first().map(|label| point_at(text, label.offset()));
    Err(CompileError { message: first.message.to_string(), at })
}

fn point_at(text: &str, offset: impl TryInto<usize>) -> SourcePoint {
    let offset = text.floor_char_boundary(offset.try_into().unwrap_or(0));
    let (before, _) = text.split_at(offset);
    let column_chars = before.chars().rev().take_while(|c| *c != '\n').count();
    let counted = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).saturating_add(1);
    SourcePoint { line: counted(before.matches('\n').count()), column: counted(column_chars) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transpile_ts(text: &str) -> CompiledUnit {
        transpile_file(Path::new("/x/a.ts"), text, false).unwrap()
    }

    #[test]
    fn drops_type_only_imports_and_keeps_lines() {
        let text = "import { HookAPI } from \"@oh-my-pi/x\";\n\n\ninterface A { b: string }\nexport default function (pi: HookAPI) {\n\n\tpi.on(\"tool_call\", 1 as any);\n}\n";
        let unit = transpile_ts(text);
        assert!(unit.needs.imports.is_empty(), "{:?}", unit.needs);
        let line = unit.code.lines().position(|l| l.contains("pi.on")).unwrap();
        let line = u32::try_from(line).unwrap() + 1;
        assert_eq!(unit.source_map.original_line(line, 4), 7);
    }

    #[test]
    fn deeply_nested_output_stays_small() {
        let text = format!("{}let a = 1;{}", "{".repeat(20_000), "}".repeat(20_000));
        assert!(transpile_ts(&text).code.len() < 4 * text.len());
    }

    #[test]
    fn syntax_errors_name_their_line() {
        let error = transpile_file(Path::new("/x/a.ts"), "const a = 1;\n\nlet = = 3;\n", false)
            .unwrap_err();
        assert_eq!(error.at.map(|at| at.line), Some(3));
    }

    #[test]
    fn deep_nesting_does_not_end_the_process() {
        for piece in ["(", "[", "{", "!", "a=>", "a=", "if(1)", "a?", "x+", "-", "`${", "<a>", "a:"]
        {
            let _ = transpile_file(Path::new("/x/a.ts"), &piece.repeat(20_000), false);
            let _ =
                transpile_file(Path::new("/x/a.ts"), &format!("{}1", piece.repeat(20_000)), false);
        }
    }
}
