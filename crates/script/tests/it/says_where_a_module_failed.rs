//! Errors name the file and the line that a person wrote.

use serde_json::json;

use crate::stand::{Stand, bash, unstarted};

#[test]
fn a_syntax_error() {
    let stand = Stand::new();
    let path = stand.write("m.ts", "export default (pi) => {\n\n  let = = 1;\n};\n");
    let outcome = stand.call("m.ts", bash("ls"));
    let why = unstarted(&outcome);
    assert!(why.starts_with("Failed to load hook: "), "{why}");
    assert!(why.ends_with(&format!("({}:3:9)", path.display())), "{why}");
}

#[test]
fn a_throw_in_the_factory() {
    let stand = Stand::new();
    let text = "interface Long {\n a: string;\n b: string;\n}\n\nexport default (pi) => {\n  pi.on('tool_call', () => 1);\n\n  throw new Error('no good');\n};\n";
    let path = stand.write("m.ts", text);
    let why = format!("Failed to load hook: no good ({}:9)", path.display());
    assert_eq!(unstarted(&stand.call("m.ts", bash("ls"))), why);
    stand.write(
        "m.ts",
        "export default async (pi) => { pi.on('tool_call', () => 1); throw 'text'; };",
    );
    let outcome = stand.call("m.ts", bash("ls"));
    assert!(unstarted(&outcome).starts_with("Failed to load hook: text ("));
}

#[test]
fn a_default_export_that_is_no_function() {
    let stand = Stand::new();
    for text in ["export const a = 1;", "export default { on: 1 };", "", "export default null"] {
        stand.write("m.ts", text);
        let outcome = stand.call("m.ts", json!({"op": "load"}));
        let why = unstarted(&outcome);
        assert!(why.starts_with("Hook must export a default function ("), "{text}: {why}");
        assert!(why.ends_with("m.ts:1:1)"), "{text}: {why}");
    }
}

#[test]
fn a_throw_in_a_handler_and_in_a_file_it_imports() {
    let stand = Stand::new();
    let lib = stand.write("lib/check.ts", "type A = {\n  a: 1;\n};\n\nexport const check = (a: A) => {\n  throw new Error('deep');\n};\n");
    let text = "import { check } from './lib/check';\n\ntype X = {\n x: 1 };\nexport default (pi) => {\n  pi.on('tool_call', async (e) => {\n    if (e.input.command === 'deep') check(e);\n    await null;\n    null.field;\n  });\n};\n";
    let path = stand.write("m.ts", text);
    let answer = stand.answer("m.ts", bash("ls"));
    assert_eq!(answer["errors"][0]["at"], format!("{}:9", path.display()));
    let answer = stand.answer("m.ts", bash("deep"));
    assert_eq!(answer["errors"][0]["at"], format!("{}:6", lib.display()));
}

#[test]
fn imports_that_are_not_there() {
    let stand = Stand::new();
    stand.write(
        "m.ts",
        "import { a } from './gone';\nexport default (pi) => { pi.on('tool_call', a); };",
    );
    let outcome = stand.call("m.ts", bash("ls"));
    assert!(unstarted(&outcome).starts_with("Failed to load hook: Cannot find module './gone'"));
    stand.write("there.ts", "export const b = 1;");
    stand.write(
        "m.ts",
        "import { a } from './there';\nexport default (pi) => { pi.on('tool_call', a); };",
    );
    let outcome = stand.call("m.ts", bash("ls"));
    assert!(unstarted(&outcome).starts_with("Failed to load hook: "), "{outcome:?}");
}

#[test]
fn a_file_that_is_not_there_or_no_text() {
    let stand = Stand::new();
    assert!(unstarted(&stand.call("gone.ts", bash("ls"))).starts_with("Failed to load hook: "));
    std::fs::write(stand.path("m.ts"), b"\xff\xfe\x00").unwrap();
    assert!(unstarted(&stand.call("m.ts", bash("ls"))).contains("UTF-8"));
    std::fs::create_dir(stand.path("folder.ts")).unwrap();
    assert!(unstarted(&stand.call("folder.ts", bash("ls"))).starts_with("Failed to load hook: "));
}

#[test]
fn a_call_that_makes_no_sense() {
    let stand = Stand::new();
    unstarted(&stand.call("m.ts", json!({"op": "dance"})));
    unstarted(&stand.call("m.ts", json!({})));
}
