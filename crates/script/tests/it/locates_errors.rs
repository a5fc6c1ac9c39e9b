//! Errors name the source file and line.

use serde_json::json;

use crate::module_dir::{ModuleDir, bash_body, load_error};

#[test]
fn locates_a_syntax_error() {
    let dir = ModuleDir::new();
    let path = dir.write_file("m.ts", "export default (pi) => {\n\n  let = = 1;\n};\n");
    let outcome = dir.call("m.ts", bash_body("ls"));
    let why = load_error(&outcome);
    assert!(why.starts_with("Failed to load hook: "), "{why}");
    assert!(why.ends_with(&format!("({}:3:9)", path.display())), "{why}");
}

#[test]
fn locates_a_throw_in_the_factory() {
    let dir = ModuleDir::new();
    let text = "interface Long {\n a: string;\n b: string;\n}\n\nexport default (pi) => {\n  pi.on('tool_call', () => 1);\n\n  throw new Error('no good');\n};\n";
    let path = dir.write_file("m.ts", text);
    let why = format!("Failed to load hook: no good ({}:9)", path.display());
    assert_eq!(load_error(&dir.call("m.ts", bash_body("ls"))), why);
    dir.write_file(
        "m.ts",
        "export default async (pi) => { pi.on('tool_call', () => 1); throw 'text'; };",
    );
    let outcome = dir.call("m.ts", bash_body("ls"));
    assert!(load_error(&outcome).starts_with("Failed to load hook: text ("));
}

#[test]
fn rejects_a_default_export_that_is_no_function() {
    let dir = ModuleDir::new();
    for text in ["export const a = 1;", "export default { on: 1 };", "", "export default null"] {
        dir.write_file("m.ts", text);
        let outcome = dir.call("m.ts", json!({"op": "load"}));
        let why = load_error(&outcome);
        assert!(why.starts_with("Hook must export a default function ("), "{text}: {why}");
        assert!(why.ends_with("m.ts:1:1)"), "{text}: {why}");
    }
}

#[test]
fn locates_throws_in_handlers_and_imports() {
    let dir = ModuleDir::new();
    let lib = dir.write_file("lib/check.ts", "type A = {\n  a: 1;\n};\n\nexport const check = (a: A) => {\n  throw new Error('deep');\n};\n");
    let text = "import { check } from './lib/check';\n\ntype X = {\n x: 1 };\nexport default (pi) => {\n  pi.on('tool_call', async (e) => {\n    if (e.input.command === 'deep') check(e);\n    await null;\n    null.field;\n  });\n};\n";
    let path = dir.write_file("m.ts", text);
    let answer = dir.answer("m.ts", bash_body("ls"));
    assert_eq!(answer["errors"][0]["at"], format!("{}:9", path.display()));
    let answer = dir.answer("m.ts", bash_body("deep"));
    assert_eq!(answer["errors"][0]["at"], format!("{}:6", lib.display()));
}

#[test]
fn reports_missing_imports() {
    let dir = ModuleDir::new();
    dir.write_file(
        "m.ts",
        "import { a } from './gone';\nexport default (pi) => { pi.on('tool_call', a); };",
    );
    let outcome = dir.call("m.ts", bash_body("ls"));
    assert!(load_error(&outcome).starts_with("Failed to load hook: Cannot find module './gone'"));
    dir.write_file("there.ts", "export const b = 1;");
    dir.write_file(
        "m.ts",
        "import { a } from './there';\nexport default (pi) => { pi.on('tool_call', a); };",
    );
    let outcome = dir.call("m.ts", bash_body("ls"));
    assert!(load_error(&outcome).starts_with("Failed to load hook: "), "{outcome:?}");
}

#[test]
fn reports_missing_and_binary_files() {
    let dir = ModuleDir::new();
    assert!(load_error(&dir.call("gone.ts", bash_body("ls"))).starts_with("Failed to load hook: "));
    std::fs::write(dir.path("m.ts"), b"\xff\xfe\x00").unwrap();
    assert!(load_error(&dir.call("m.ts", bash_body("ls"))).contains("UTF-8"));
    std::fs::create_dir(dir.path("folder.ts")).unwrap();
    assert!(
        load_error(&dir.call("folder.ts", bash_body("ls"))).starts_with("Failed to load hook: ")
    );
}

#[test]
fn rejects_invalid_requests() {
    let dir = ModuleDir::new();
    load_error(&dir.call("m.ts", json!({"op": "dance"})));
    load_error(&dir.call("m.ts", json!({})));
}
