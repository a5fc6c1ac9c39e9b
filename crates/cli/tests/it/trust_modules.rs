//! Modules run with the files that were trusted. Files that change before the run, computed imports
//! and files outside the project run as trusted, or not at all.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::test_project::{TestProject, text};

const CALL: &[u8] = br#"{"type":"tool_call","toolName":"bash","toolCallId":"1","sessionId":"s","input":{"command":"ls"}}"#;
const GOOD: &str =
    "export default (pi) => pi.on('tool_call', () => ({ block: true, reason: 'L' }));\n";

fn project_with_store() -> TestProject {
    TestProject::new().with("GAMBREL_TRUST", "store")
}

fn trust(project: &TestProject) {
    let output = project.run(&["trust", "--all", "--yes"], b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

fn fire_omp(project: &TestProject, more: &[&str]) -> String {
    text(&project.run(&[&["fire", "--from", "omp"], more].concat(), CALL).stdout)
}

#[test]
fn never_runs_swapped_files() {
    let rounds = 40;
    let project = project_with_store();
    let module = project.file(".omp/hooks/m.ts", GOOD);
    trust(&project);
    let mark = project.root.join("ran");
    let bad = format!(
        "import fs from 'fs'; fs.writeFileSync({mark:?}, '');\nexport default (pi) => pi.on('tool_call', () => {{}});\n"
    );
    let put = |from: &Path, code: &str| {
        fs::write(from, code).unwrap();
        fs::rename(from, &module).unwrap();
    };
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let new = project.root.join("new");
            while !over.load(Ordering::Relaxed) {
                put(&new, &bad);
                std::thread::yield_now();
                put(&new, GOOD);
            }
        });
        for _ in 0..rounds {
            let reply = fire_omp(&project, &["--strict"]);
            assert!(reply.contains("\"block\":true"), "a skipped gate let it pass: {reply}");
        }
        over.store(true, Ordering::Relaxed);
    });
    assert!(!mark.exists(), "untrusted code ran");
}

/// Trusts, fires, changes, and fires again: the change must not run.
fn assert_change_is_blocked(project: &TestProject, change: impl FnOnce()) {
    trust(project);
    let first = fire_omp(project, &[]);
    assert!(first.contains("\"reason\":\"L\""), "{first}");
    change();
    let reply = fire_omp(project, &["--strict"]);
    assert!(reply.contains("\"block\":true") && !reply.contains("\"reason\":\"L\""), "{reply}");
}

const LIB: &str = "export const f = () => ({ block: true, reason: 'L' });\n";
const OTHER: &str = "export const f = () => ({});\n";

#[test]
fn covers_the_main_file_of_a_package() {
    let module = "import { f } from '../../lib';\nexport default (pi) => pi.on('tool_call', f);\n";
    for change in ["lib/a.ts", "lib/package.json"] {
        let project = project_with_store();
        project.file(".omp/hooks/m.ts", module);
        project.file("lib/package.json", "{\"main\": \"a.ts\"}");
        project.file("lib/a.ts", LIB);
        project.file("lib/b.ts", OTHER);
        let text = if change == "lib/a.ts" { OTHER } else { "{\"main\": \"b.ts\"}" };
        assert_change_is_blocked(&project, || drop(project.file(change, text)));
    }
}

#[test]
fn covers_imports_outside_the_project() {
    let project = project_with_store();
    project.file(
        ".omp/hooks/m.ts",
        "import { f } from '../../../out';\nexport default (pi) => pi.on('tool_call', f);\n",
    );
    let out = project.base.join("out.ts");
    fs::write(&out, LIB).unwrap();
    assert_change_is_blocked(&project, || fs::write(&out, OTHER).unwrap());
}

#[test]
fn refuses_computed_imports() {
    let project = project_with_store();
    project.file("lib/a.ts", LIB);
    project.file(".omp/hooks/m.ts", "export default (pi) => pi.on('tool_call', async () => (await import('../../lib/' + 'a.ts')).f());\n");
    trust(&project);
    let reply = fire_omp(&project, &[]);
    assert!(reply.contains("was not covered when the module was trusted"), "{reply}");
    // `--trust all` allows computed imports.
    let all = text(&project.run(&["fire", "--from", "omp", "--trust", "all"], CALL).stdout);
    assert!(all.contains("\"reason\":\"L\""), "{all}");
}

/// Trust covers every file that a literal import resolves to.
#[test]
fn covers_literal_imports() {
    let project = project_with_store();
    project.file("index.ts", "export const top = 1;\n");
    project.file("lib/a.tsx", "export const a: number = 1;\n");
    project.file("lib/b.mts", "export const b = 1;\n");
    project.file("lib/c.json", "{\"c\": 1}");
    project.file("lib/d/index.js", "export const d = 1;\n");
    project.file("lib/e.ts", "export * from './f.js?v=1';\n");
    project.file("lib/f.ts", "export { top as f } from '..';\n");
    project.file("lib/g.txt", "1");
    project.file("lib/h.ts", "export const h = 1;\n");
    let module = "import { a } from '../../lib/a';\nimport { b } from \"../../lib/b.mjs\";\nimport c from '../../lib/c.json' with { type: 'json' };\n\
        import { d } from '../../lib/d';\nimport { f } from '../../lib/e';\nimport g from '../../lib/g.txt' with { type: 'text' };\n\
        export default (pi) => pi.on('tool_call', async () => ({ block: true, reason: [a, b, c.c, d, f, g, (await import('../../lib/h')).h].join('') }));\n";
    project.file(".omp/hooks/m.ts", module);
    trust(&project);
    let reply = fire_omp(&project, &[]);
    assert!(reply.contains("\"reason\":\"1111111\""), "{reply}");
}
