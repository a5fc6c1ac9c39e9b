//! Hooks written as CommonJS (`module.exports = …`) run like any other.

use gambrel_script::{FullHost, ScriptSettings};
use serde_json::json;

use crate::full_hosts::each;
use crate::stand::{Stand, bash, unstarted};

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

fn blocks(stand: &Stand, name: &str, text: &str) {
    let folder = json!(stand.folder.path());
    stand.write("lib.cjs", "module.exports = { word: 'n' }; module.exports.rest = () => 'o';");
    stand.write(name, &text.replace("DIR", &folder.to_string()));
    let answer = stand.answer(name, bash("ls"));
    let expected = json!([{"block": true, "reason": "no"}]);
    assert_eq!(answer["results"], expected, "{text} {answer}");
}

#[test]
fn in_the_embedded_engine() {
    let settings = ScriptSettings { full_host: FullHost::Nobody, ..Default::default() };
    let stand = Stand::with(settings);
    for (name, text) in GUARDS {
        blocks(&stand, name, text);
    }
    stand.write(
        "m.js",
        "\n\nmodule.exports = pi => pi.on('tool_call', () => {\n throw new Error('x'); });",
    );
    let answer = stand.answer("m.js", bash("ls"));
    assert_eq!(answer["errors"][0]["at"], format!("{}:4", stand.path("m.js").display()));
    stand.write("m.js", "module.exports = { tool_call() {} };");
    let outcome = stand.call("m.js", json!({"op": "load"}));
    assert!(unstarted(&outcome).starts_with("Hook must export a default function"), "{outcome:?}");
}

#[test]
fn in_a_full_host() {
    each(|host| {
        let stand = Stand::with(ScriptSettings { full_host: host.clone(), ..Default::default() });
        stand.write("node_modules/old/package.json", r#"{"name":"old","main":"main.js"}"#);
        stand.write("node_modules/old/main.js", "module.exports = 'no';");
        let text = "const reason = require('old'); module.exports = pi => pi.on('tool_call', () => ({ block: true, reason }));";
        blocks(&stand, "m.js", text);
        blocks(&stand, "m.cjs", &text.replace("const", "require('node:net'); const"));
    });
}
