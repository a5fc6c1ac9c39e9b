//! What a module was trusted with is what runs: a file that changes between the look and the run,
//! one that only running code names, and one outside of the project run as they were trusted, or
//! not at all.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::ground::{Ground, text};

const CALL: &[u8] = br#"{"type":"tool_call","toolName":"bash","toolCallId":"1","sessionId":"s","input":{"command":"ls"}}"#;
const GOOD: &str =
    "export default (pi) => pi.on('tool_call', () => ({ block: true, reason: 'L' }));\n";

fn trusting() -> Ground {
    Ground::new().with("GAMBREL_TRUST", "store")
}

fn trust(ground: &Ground) {
    let output = ground.run(&["trust", "--all", "--yes"], b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

fn fired(ground: &Ground, more: &[&str]) -> String {
    text(&ground.run(&[&["fire", "--from", "omp"], more].concat(), CALL).stdout)
}

#[test]
fn a_file_that_is_swapped_all_the_time_runs_as_it_was_trusted_or_not_at_all() {
    let rounds = 40;
    let ground = trusting();
    let module = ground.file(".omp/hooks/m.ts", GOOD);
    trust(&ground);
    let mark = ground.root.join("ran");
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
            let new = ground.root.join("new");
            while !over.load(Ordering::Relaxed) {
                put(&new, &bad);
                std::thread::yield_now();
                put(&new, GOOD);
            }
        });
        for _ in 0..rounds {
            let reply = fired(&ground, &["--strict"]);
            assert!(
                reply.contains("\"block\":true"),
                "a gate that was not asked let it pass: {reply}"
            );
        }
        over.store(true, Ordering::Relaxed);
    });
    assert!(!mark.exists(), "what nobody trusted ran");
}

/// Trusted, asked, changed, asked again: the change must not run.
fn holds(ground: &Ground, change: impl FnOnce()) {
    trust(ground);
    let first = fired(ground, &[]);
    assert!(first.contains("\"reason\":\"L\""), "{first}");
    change();
    let reply = fired(ground, &["--strict"]);
    assert!(reply.contains("\"block\":true") && !reply.contains("\"reason\":\"L\""), "{reply}");
}

const LIB: &str = "export const f = () => ({ block: true, reason: 'L' });\n";
const OTHER: &str = "export const f = () => ({});\n";

#[test]
fn what_a_folders_package_names_is_part_of_the_module() {
    let module = "import { f } from '../../lib';\nexport default (pi) => pi.on('tool_call', f);\n";
    for change in ["lib/a.ts", "lib/package.json"] {
        let ground = trusting();
        ground.file(".omp/hooks/m.ts", module);
        ground.file("lib/package.json", "{\"main\": \"a.ts\"}");
        ground.file("lib/a.ts", LIB);
        ground.file("lib/b.ts", OTHER);
        let text = if change == "lib/a.ts" { OTHER } else { "{\"main\": \"b.ts\"}" };
        holds(&ground, || drop(ground.file(change, text)));
    }
}

#[test]
fn what_lies_outside_of_the_project_is_part_of_it_too() {
    let ground = trusting();
    ground.file(
        ".omp/hooks/m.ts",
        "import { f } from '../../../out';\nexport default (pi) => pi.on('tool_call', f);\n",
    );
    let out = ground.base.join("out.ts");
    fs::write(&out, LIB).unwrap();
    holds(&ground, || fs::write(&out, OTHER).unwrap());
}

#[test]
fn what_only_running_code_names_is_not_read() {
    let ground = trusting();
    ground.file("lib/a.ts", LIB);
    ground.file(".omp/hooks/m.ts", "export default (pi) => pi.on('tool_call', async () => (await import('../../lib/' + 'a.ts')).f());\n");
    trust(&ground);
    let reply = fired(&ground, &[]);
    assert!(reply.contains("was not there to be looked at"), "{reply}");
    // Who trusts everything, or only what is the user's own, is not kept from it.
    let all = text(&ground.run(&["fire", "--from", "omp", "--trust", "all"], CALL).stdout);
    assert!(all.contains("\"reason\":\"L\""), "{all}");
}

/// Whatever a name may stand for was looked at.
#[test]
fn what_is_imported_in_plain_words_is_read() {
    let ground = trusting();
    ground.file("index.ts", "export const top = 1;\n");
    ground.file("lib/a.tsx", "export const a: number = 1;\n");
    ground.file("lib/b.mts", "export const b = 1;\n");
    ground.file("lib/c.json", "{\"c\": 1}");
    ground.file("lib/d/index.js", "export const d = 1;\n");
    ground.file("lib/e.ts", "export * from './f.js?v=1';\n");
    ground.file("lib/f.ts", "export { top as f } from '..';\n");
    ground.file("lib/g.txt", "1");
    ground.file("lib/h.ts", "export const h = 1;\n");
    let module = "import { a } from '../../lib/a';\nimport { b } from \"../../lib/b.mjs\";\nimport c from '../../lib/c.json' with { type: 'json' };\n\
        import { d } from '../../lib/d';\nimport { f } from '../../lib/e';\nimport g from '../../lib/g.txt' with { type: 'text' };\n\
        export default (pi) => pi.on('tool_call', async () => ({ block: true, reason: [a, b, c.c, d, f, g, (await import('../../lib/h')).h].join('') }));\n";
    ground.file(".omp/hooks/m.ts", module);
    trust(&ground);
    let reply = fired(&ground, &[]);
    assert!(reply.contains("\"reason\":\"1111111\""), "{reply}");
}
