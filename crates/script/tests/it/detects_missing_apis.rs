//! Detects APIs that the embedded engine lacks before the code uses them, and moves the module to a
//! full host if there is one.

use gambrel_script::{FullHost, ScriptSettings};
use serde_json::json;

use crate::full_hosts::run_in_each_host;
use crate::module_dir::{ModuleDir, bash_body};

fn run_module(host: &FullHost, head: &str, code: &str) -> serde_json::Value {
    let dir =
        ModuleDir::with_settings(ScriptSettings { full_host: host.clone(), ..Default::default() });
    dir.write_file(
        "m.ts",
        &format!(
            "{head}\nexport default (pi: any) => pi.on('tool_call', async () => {{\n{code}\n}});"
        ),
    );
    dir.answer("m.ts", bash_body("ls"))
}

#[test]
fn uses_a_full_host_for_missing_apis() {
    let scrypt = "return { n: crypto.scryptSync('a', 'b', 8).length };";
    let modules = [
        ("import * as crypto from 'node:crypto';", scrypt),
        ("import crypto from 'crypto';", scrypt),
        ("const crypto = require('crypto');", scrypt),
        ("import c from 'crypto'; const crypto = c;", scrypt),
        (
            "import c from 'crypto'; const { scryptSync } = c;",
            "return { n: scryptSync('a', 'b', 8).length };",
        ),
        ("", "return { n: new Blob(['12345678']).size };"),
        (
            "",
            "const data = new FormData(); data.set('a', '12345678'); return { n: data.get('a').length };",
        ),
        (
            "",
            "return { n: ['z', 'ä', 'a10', 'a9'].sort((a, b) => a.localeCompare(b, 'de', { numeric: true })).join() === 'ä,a9,a10,z' ? 8 : 9 };",
        ),
        ("", "return { n: (1234567.5).toLocaleString('de-DE') === '1.234.567,5' ? 8 : 9 };"),
        ("", "return { n: new CustomEvent('x', { detail: 8 }).detail };"),
    ];
    run_in_each_host(|host| {
        for (head, code) in modules {
            let answer = run_module(host, head, code);
            assert_eq!(answer["results"], json!([{"n": 8}]), "{host:?} {head} {code}: {answer}");
        }
    });
}

#[test]
fn watches_files_in_a_full_host() {
    let code = "const file = `${import.meta.dirname}/watched`; fs.writeFileSync(file, '');
        const changed = new Promise((done) => fs.watch(file, done));
        const again = setInterval(() => fs.writeFileSync(file, `${Math.random()}`), 50);
        const what = await changed; clearInterval(again); return { what };";
    run_in_each_host(|host| {
        let answer = run_module(host, "import fs from 'node:fs';", code);
        assert_eq!(answer["results"], json!([{"what": "change"}]), "{host:?} {answer}");
    });
}

#[test]
fn runs_without_missing_apis() {
    let modules = [
        (
            "import * as crypto from 'node:crypto';",
            "return { n: 8, crypto: typeof crypto.scryptSync };",
        ),
        ("", "if (globalThis.never) new Blob([]); return { n: 8, crypto: typeof Blob };"),
    ];
    for (head, code) in modules {
        let answer = run_module(&FullHost::Disabled, head, code);
        assert_eq!(answer["results"], json!([{"n": 8, "crypto": "undefined"}]), "{answer}");
    }
}

#[test]
fn ignores_names_declared_in_the_file() {
    // This program does not exist, so a module that needs a full host would fail.
    let host = FullHost::At("/nowhere/bun".into());
    let modules = [
        (
            "import crypto from 'crypto';",
            "const f = (crypto) => crypto.scryptSync; return { n: f({ scryptSync: 8 }) };",
        ),
        ("class File { n = 8 }", "return { n: new File().n };"),
        ("", "return { n: typeof WebSocket === 'undefined' ? 8 : 9 };"),
        (
            "import * as crypto from 'crypto';",
            "return { n: crypto.createHash('md5').update('').digest('hex').length / 4 };",
        ),
    ];
    for (head, code) in modules {
        let answer = run_module(&host, head, code);
        assert_eq!(answer["results"], json!([{"n": 8}]), "{code}: {answer}");
    }
}

#[test]
fn offers_small_apis() {
    let code = "const mark = performance.mark('a'); console.groupCollapsed('g'); console.countReset(); console.dirxml('d'); console.timeStamp();
        console.log('%s took %dms', 'it', 5, 'all', new Map([['a', 1]]), '100%'); console.log(new Set([1]), '50%');
        const { file, path, filename } = import.meta;
        return { file, same: path === filename, mark: mark.name, measure: performance.measure('b').entryType,
            fs: import.meta.resolve('fs'), own: import.meta.resolve('./m') === import.meta.url, none: import.meta.resolve('./no ne').endsWith('/no%20ne') };";
    let answer = run_module(&FullHost::Disabled, "", code);
    let expected = json!({"file": "m.ts", "same": true, "mark": "a", "measure": "measure", "fs": "node:fs", "own": true, "none": true});
    assert_eq!(answer["results"], json!([expected]), "{answer}");
    let messages: Vec<_> =
        answer["effects"].as_array().unwrap().iter().map(|e| &e["message"]).collect();
    assert_eq!(
        messages,
        ["g", "d", "it took 5ms all Map(1) { 'a' => 1 } 100%", "Set(1) { 1 } 50%"]
    );
}
