//! `check` of modules: by folder or by file, with line and column; what is not trusted is looked at
//! and nothing of it runs.

use crate::ground::{Ground, text};

const GOOD: &str = "export default (pi) => pi.on('tool_call', () => {});\n";

fn check(ground: &Ground, args: &[&str]) -> (Option<i32>, String) {
    let output = ground.run(&[&["check", "--color=never"], args].concat(), b"");
    (output.status.code(), text(&output.stdout))
}

#[test]
fn a_file_is_checked_as_the_module_that_it_is() {
    let ground = Ground::new();
    ground.file(".omp/hooks/pre/g.ts", GOOD);
    ground.file("x/h.ts", GOOD);
    ground.file("x/bare.mjs", "export const x = 1;\n");
    for good in [".omp/hooks/pre/g.ts", "x/h.ts"] {
        let (code, out) = check(&ground, &[good]);
        assert_eq!(
            (code, out.contains("1 hooks, nothing to complain of")),
            (Some(0), true),
            "{out}"
        );
    }
    let (code, out) = check(&ground, &["x/bare.mjs"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("Hook must export a default function"), "{out}");
    assert!(out.contains("x/bare.mjs:1:1"), "{out}");
}

#[test]
fn a_member_of_the_api_that_is_not_known_is_a_warning() {
    let ground = Ground::new();
    let text = format!("{}\n{GOOD}", "const on = (pi) => pi.registerEntryRenderer('x', () => {});");
    ground.file("x/h.ts", &text.replace("pi.on('tool_call'", "on(pi) ?? pi.on('tool_call'"));
    let (code, out) = check(&ground, &["x/h.ts"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("pi.registerEntryRenderer is not known here"), "{out}");
    assert!(out.contains("0 errors, 1 warning,"), "{out}");
}

#[test]
fn a_mistake_has_its_line_and_column() {
    let ground = Ground::new();
    ground.file("typo.ts", "const ä = 1;\nexport const x: = 3;\n");
    let (code, out) = check(&ground, &["typo.ts"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("typo.ts:2:17"), "{out}");
    ground.file("import.ts", "const a = 1;\nimport x from './nope';\nexport default () => x(a);\n");
    let (code, out) = check(&ground, &["import.ts"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("import.ts:2:15") && out.contains("./nope"), "{out}");
}

#[test]
fn what_is_not_trusted_is_looked_at_and_does_not_run() {
    let ground = Ground::new().with("GAMBREL_TRUST", "store");
    let mark = ground.root.join("ran");
    let code = format!("import fs from 'fs'; fs.writeFileSync({mark:?}, '');\n{GOOD}");
    ground.file(".omp/hooks/a.ts", &code);
    ground.file(".omp/hooks/b.ts", "export default (pi) => {\n");
    for args in [&[][..], &[".omp/hooks/b.ts"]] {
        let (code, out) = check(&ground, args);
        assert_eq!(code, Some(1), "{out}");
        assert!(out.contains("b.ts:"), "{out}");
    }
    assert!(!mark.exists(), "an untrusted module ran");
}

#[test]
fn what_is_named_is_meant_from_the_folder_of_c() {
    let ground = Ground::new();
    ground.file(
        "x/h.ts",
        "export default (pi) => pi.on('tool_call', () => ({ block: true, reason: 'h' }));\n",
    );
    let event =
        br#"{"type":"tool_call","toolName":"bash","toolCallId":"1","input":{"command":"ls"}}"#;
    let root = ground.root.display().to_string();
    let mut fire = ground.command(&["-C", &root, "fire", "--from", "omp", "--hook", "x/h.ts"]);
    let mut child = fire.current_dir(&ground.base).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), event).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        text(&output.stdout).trim(),
        r#"{"block":true,"reason":"h"}"#,
        "{}",
        text(&output.stderr)
    );
}
