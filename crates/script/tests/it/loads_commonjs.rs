//! Loads modules in CommonJS form (`module.exports = …`).

use gambrel_script::{FullHost, ScriptSettings};
use serde_json::json;

use crate::full_hosts::run_in_each_host;
use crate::module_dir::{ModuleDir, bash_body, load_error};

const GUARDS: &[(&str, &str)] = &[
    (
        "m.js",
        "module.exports = pi => { pi.on('tool_call', () => ({ block: true, reason: 'no' })) };",
    ),
    (
        "m.cjs",
        "#!/usr/bin/env node\n'use strict'; const path = require('node:path'); module.exports = function (pi) { pi.on('tool_call', () => ({ block: true, reason: path.basename('/a/no') })) };",
    ),
    (
        "m.js",
        "Object.defineProperty(exports, '__esModule', { value: true }); exports.default = (pi) => pi.on('tool_call', () => ({ block: true, reason: 'no' }));",
    ),
    (
        "m.cjs",
        "const at = __dirname + '|' + __filename; module.exports = pi => pi.on('tool_call', () => ({ block: true, reason: at === DIR + '|' + DIR + '/m.cjs' ? 'no' : at }));",
    ),
    (
        "m.ts",
        "import { word } from './lib.cjs'; import lib from './lib.cjs'; export default (pi: any) => pi.on('tool_call', () => ({ block: true, reason: word + lib.rest() }));",
    ),
];

fn assert_blocks(dir: &ModuleDir, name: &str, text: &str) {
    let folder = json!(dir.folder.path());
    dir.write_file("lib.cjs", "module.exports = { word: 'n' }; module.exports.rest = () => 'o';");
    dir.write_file(name, &text.replace("DIR", &folder.to_string()));
    let answer = dir.answer(name, bash_body("ls"));
    let expected = json!([{"block": true, "reason": "no"}]);
    assert_eq!(answer["results"], expected, "{text} {answer}");
}

#[test]
fn loads_commonjs_in_the_embedded_engine() {
    let settings = ScriptSettings { full_host: FullHost::Disabled, ..Default::default() };
    let dir = ModuleDir::with_settings(settings);
    for (name, text) in GUARDS {
        assert_blocks(&dir, name, text);
    }
    dir.write_file(
        "m.js",
        "\n\nmodule.exports = pi => pi.on('tool_call', () => {\n throw new Error('x'); });",
    );
    let answer = dir.answer("m.js", bash_body("ls"));
    assert_eq!(answer["errors"][0]["at"], format!("{}:4", dir.path("m.js").display()));
    dir.write_file("m.js", "module.exports = { tool_call() {} };");
    let outcome = dir.call("m.js", json!({"op": "load"}));
    assert!(load_error(&outcome).starts_with("Hook must export a default function"), "{outcome:?}");
}

#[test]
fn loads_commonjs_in_a_full_host() {
    run_in_each_host(|host| {
        let dir = ModuleDir::with_settings(ScriptSettings {
            full_host: host.clone(),
            ..Default::default()
        });
        dir.write_file("node_modules/old/package.json", r#"{"name":"old","main":"main.js"}"#);
        dir.write_file("node_modules/old/main.js", "module.exports = 'no';");
        let text = "const reason = require('old'); module.exports = pi => pi.on('tool_call', () => ({ block: true, reason }));";
        assert_blocks(&dir, "m.js", text);
        assert_blocks(&dir, "m.cjs", &text.replace("const", "require('node:net'); const"));
    });
}
