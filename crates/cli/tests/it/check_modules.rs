//! `check` of modules, by folder or by file, with line and column. It reads untrusted modules and
//! runs nothing of them.

use crate::test_project::{TestProject, text};

const GOOD: &str = "export default (pi) => pi.on('tool_call', () => {});\n";

fn check(project: &TestProject, args: &[&str]) -> (Option<i32>, String) {
    let output = project.run(&[&["check", "--color=never"], args].concat(), b"");
    (output.status.code(), text(&output.stdout))
}

#[test]
fn checks_single_module_files() {
    let project = TestProject::new();
    project.file(".omp/hooks/pre/g.ts", GOOD);
    project.file("x/h.ts", GOOD);
    project.file("x/bare.mjs", "export const x = 1;\n");
    for good in [".omp/hooks/pre/g.ts", "x/h.ts"] {
        let (code, out) = check(&project, &[good]);
        assert_eq!((code, out.contains("1 hook, no complaints")), (Some(0), true), "{out}");
    }
    let (code, out) = check(&project, &["x/bare.mjs"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("Hook must export a default function"), "{out}");
    assert!(out.contains("x/bare.mjs:1:1"), "{out}");
}

#[test]
fn warns_about_unknown_api_members() {
    let project = TestProject::new();
    let text = format!("{}\n{GOOD}", "const on = (pi) => pi.registerEntryRenderer('x', () => {});");
    project.file("x/h.ts", &text.replace("pi.on('tool_call'", "on(pi) ?? pi.on('tool_call'"));
    let (code, out) = check(&project, &["x/h.ts"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("pi.registerEntryRenderer is not known here"), "{out}");
    assert!(out.contains("0 errors, 1 warning,"), "{out}");
}

#[test]
fn a_mistake_has_its_line_and_column() {
    let project = TestProject::new();
    project.file("typo.ts", "const ä = 1;\nexport const x: = 3;\n");
    let (code, out) = check(&project, &["typo.ts"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("typo.ts:2:17"), "{out}");
    project
        .file("import.ts", "const a = 1;\nimport x from './nope';\nexport default () => x(a);\n");
    let (code, out) = check(&project, &["import.ts"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("import.ts:2:15") && out.contains("./nope"), "{out}");
}

#[test]
fn checks_untrusted_modules_without_running_them() {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    let mark = project.root.join("ran");
    let code = format!("import fs from 'fs'; fs.writeFileSync({mark:?}, '');\n{GOOD}");
    project.file(".omp/hooks/a.ts", &code);
    project.file(".omp/hooks/b.ts", "export default (pi) => {\n");
    for args in [&[][..], &[".omp/hooks/b.ts"]] {
        let (code, out) = check(&project, args);
        assert_eq!(code, Some(1), "{out}");
        assert!(out.contains("b.ts:"), "{out}");
    }
    assert!(!mark.exists(), "an untrusted module ran");
}

#[test]
fn resolves_hook_paths_from_the_given_folder() {
    let project = TestProject::new();
    project.file(
        "x/h.ts",
        "export default (pi) => pi.on('tool_call', () => ({ block: true, reason: 'h' }));\n",
    );
    let event =
        br#"{"type":"tool_call","toolName":"bash","toolCallId":"1","input":{"command":"ls"}}"#;
    let root = project.root.display().to_string();
    let mut fire = project.command(&["-C", &root, "fire", "--from", "omp", "--hook", "x/h.ts"]);
    let mut child = fire.current_dir(&project.base).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), event).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        text(&output.stdout).trim(),
        r#"{"block":true,"reason":"h"}"#,
        "{}",
        text(&output.stderr)
    );
}
