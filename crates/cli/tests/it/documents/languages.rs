//! Checks the text of a block by its language, without running it.

use std::time::Duration;

use serde_json::Value;

use super::container::is_allowed;
use super::fresh_root::{FreshRoot, read_repository_file};

/// Longer than `gambrel check` takes on a busy machine.
const CHECK_TIMEOUT: Duration = Duration::from_secs(60);
/// Documents whose Rust code is compiled and run as doctests, and the file that includes them.
const DOCTESTS: [(&str, &str, &str); 1] = [(
    "docs/library.md",
    "crates/gambrel/src/lib.rs",
    "#[doc = include_str!(\"../../../docs/library.md\")]",
)];

/// Checks a block of code. An error says what is wrong.
pub fn check_code(document: &str, language: &str, text: &str) -> Result<(), String> {
    match language {
        "json" => serde_json::from_str::<Value>(text).map(drop).map_err(|error| error.to_string()),
        "yaml" => check_yaml(text),
        "ts" | "js" => check_module(text, language),
        "rust" => check_doctests(document),
        "" => Err("the block names no language".to_owned()),
        other => Err(format!("nothing checks `{other}`, and the table of exceptions has no entry")),
    }
}

pub fn parse_yaml(text: &str) -> Result<Value, String> {
    serde_saphyr::from_str(text).map_err(|error| error.to_string())
}

/// Parses YAML. A file of hooks, or a list of actions, must pass `gambrel check`; a file of cases
/// must be one that `gambrel test` accepts.
fn check_yaml(text: &str) -> Result<(), String> {
    let tree = parse_yaml(text)?;
    let root = FreshRoot::new();
    if tree.get("cases").is_some() {
        root.write_file("a.case.yaml", text);
        let (code, printed) =
            root.run_command(root.gambrel_in_project("test a.case.yaml"), CHECK_TIMEOUT);
        return if code == Some(64) { Err(printed) } else { Ok(()) };
    }
    if let Some(actions) = tree.as_array() {
        let hooks = serde_json::json!({"hooks": {"on_tool_before": actions}});
        root.write_file(".gambrel/hooks.yaml", &hooks.to_string());
    } else if tree.get("hooks").is_some() {
        root.write_file(".gambrel/hooks.yaml", text);
    }
    check_project(&root)
}

fn check_module(text: &str, language: &str) -> Result<(), String> {
    let root = FreshRoot::new();
    let export = if text.contains("export default") { "" } else { "\nexport default () => {};\n" };
    root.write_file(&format!(".omp/hooks/module.{language}"), &format!("{text}{export}"));
    check_project(&root)
}

fn check_doctests(document: &str) -> Result<(), String> {
    let row = DOCTESTS.iter().find(|(name, _, _)| *name == document);
    let (_, file, line) = row.ok_or("Rust code that no doctest compiles")?;
    let is_included = read_repository_file(file).contains(line);
    if is_included { Ok(()) } else { Err(format!("{file} does not include the document")) }
}

/// `gambrel check` in the project of a document.
pub fn check_project(root: &FreshRoot) -> Result<(), String> {
    let (code, printed) = root.run_command(root.gambrel_in_project("check"), CHECK_TIMEOUT);
    if code == Some(0) { Ok(()) } else { Err(format!("`gambrel check`: {printed}")) }
}

#[test]
fn finds_mistakes_in_each_language() {
    if !is_allowed() {
        return;
    }
    for (language, good, bad) in [
        ("json", "{\"a\": 1}", "{a: 1}"),
        ("yaml", "a: [1]", "a: [1"),
        ("yaml", "hooks: {on_error: [{type: shell, command: ls}]}", "hooks: {on_eror: []}"),
        ("yaml", "- {type: shell, command: ls}", "- {type: shell, comand: ls}"),
        ("yaml", "cases: [{name: a, fire: {from: claude, event: Stop}}]", "cases: [{nam: a}]"),
        ("ts", "const a: number = 1;", "const a: = 1;"),
        ("js", "export default (pi) => {};", "export default (pi => {};"),
    ] {
        assert_eq!(check_code("a.md", language, good), Ok(()), "{language}: {good}");
        assert!(check_code("a.md", language, bad).is_err(), "{language}: {bad}");
    }
    assert!(check_code("a.md", "rust", "fn a() {}").is_err());
    assert!(check_code("a.md", "toml", "a = 1").is_err());
    assert!(check_code("a.md", "", "a").is_err());
}
