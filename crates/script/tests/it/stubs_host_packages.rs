//! Stubs of host packages do nothing and warn. Typebox builds real schemas. Errors name APIs that
//! need a full host.

use gambrel_script::{FullHost, ScriptSettings};
use serde_json::json;

use crate::full_hosts::run_in_each_host;
use crate::module_dir::{ModuleDir, bash_body, load_error};

#[test]
fn stubs_accept_any_use() {
    let dir = ModuleDir::new();
    let text = r#"import { Container, Text as T, isToolCallEventType } from "@mariozechner/pi-coding-agent";
import * as tui from "@oh-my-pi/pi-tui";
import Whole from "@oh-my-pi/pi-ai";
class Box extends Container { constructor() { super(1); this.kept = 2; } render() { return this.kept; } }
export default (pi) => { pi.on("tool_call", (event) => {
  const t = new T("x", 0); t.setText("y"); tui.something.deep.call("a"); new tui.Other(); Whole.x();
  return { kept: new Box().render(), bash: isToolCallEventType("bash", event), read: isToolCallEventType("read", event), text: `${tui.word}`, none: pi.pi.any.thing() };
}); };"#;
    dir.write_file("m.ts", text);
    let answer = dir.answer("m.ts", bash_body("ls"));
    assert_eq!(answer["errors"], json!([]));
    let expected = json!({"kept": 2, "bash": true, "read": false, "text": ""});
    assert_eq!(answer["results"][0], expected);
    let warnings = answer["effects"].as_array().unwrap().iter().filter(|e| e["type"] == "warning");
    assert!(warnings.count() >= 3, "{answer}");
}

#[test]
fn small_host_helpers_work_in_every_host() {
    let test = |dir: &ModuleDir, head: &str| {
        let text = include_str!("probes/helpers.ts");
        dir.write_file("m.ts", &format!("{head}{text}"));
        let answer = dir.answer("m.ts", bash_body("ls"));
        assert_eq!((&answer["errors"], &answer["effects"]), (&json!([]), &json!([])), "{answer}");
        let result = &answer["results"][0];
        let home = std::env::var("HOME").unwrap_or_default();
        assert_eq!(result["places"], json!([format!("{home}/.omp/agent"), "/else/where"]));
        assert_eq!(result["limits"], json!([3000, 51200]));
        assert_eq!(result["sizes"], json!(["0B", "1023B", "1.5KB", "1.0MB", "4.7GB"]));
        assert_eq!(
            result["turns"],
            json!(["one", "other", "one over", "two", "two over", 2, "no"])
        );
        let front = json!({"name": "x", "allowedTools": ["a", "b c", 3], "deep": {"someKey": null,
            "list": [{"y": 2, "z": "it's"}, true]}, "text": "one\n two\n", "d": "a: b # no"});
        assert_eq!(result["front"], json!({"frontmatter": front, "body": "body"}));
        assert_eq!(result["none"], json!({"frontmatter": {}, "body": "plain"}));
        assert_eq!(result["bad"], "FrontmatterError");
        let cut = |content, by, lines, bytes| json!([content, by, lines, bytes, 3, 8]);
        let expected = [
            cut("a\nbb\nccc", json!(null), 3, 8),
            cut("a\nbb", json!("lines"), 2, 4),
            cut("bb\nccc", json!("bytes"), 2, 6),
        ];
        assert_eq!(result["cuts"], json!(expected));
        assert_eq!(result["partial"], json!(["é", true, 1]));
        assert_eq!(result["exceeds"], json!(["", true]));
    };
    test(&ModuleDir::new(), "");
    run_in_each_host(|host| {
        let settings = ScriptSettings { full_host: host.clone(), ..Default::default() };
        test(&ModuleDir::with_settings(settings), "import 'node:net';");
    });
}

#[test]
fn typebox_builds_schemas() {
    let dir = ModuleDir::new();
    for source in ["typebox", "@sinclair/typebox"] {
        let text = format!(
            "import {{ Type, type Static }} from '{source}';
const S = Type.Object({{ a: Type.String({{ description: 'd' }}), b: Type.Optional(Type.Array(Type.Number())), c: Type.Union([Type.Literal('x'), Type.Null()]) }});
export default (pi) => {{ pi.on('tool_call', () => ({{ S, same: pi.typebox.Type === Type }})); }};"
        );
        dir.write_file("m.ts", &text);
        let expected = json!({"same": true, "S": {"type": "object", "required": ["a", "c"], "properties": {
            "a": {"type": "string", "description": "d"},
            "b": {"type": "array", "items": {"type": "number"}},
            "c": {"anyOf": [{"const": "x", "type": "string"}, {"type": "null"}]}}}});
        assert_eq!(dir.answer("m.ts", bash_body("ls"))["results"][0], expected);
    }
}

#[test]
fn finds_builtins_under_both_names() {
    let dir = ModuleDir::new();
    let text = "import p, { pid } from 'node:process'; import * as q from 'process';
export default (pi) => { pi.on('tool_call', async () => { const r = await import('node:process'); return { same: p === process && q.pid === pid && r.default === p && require('process') === p }; }); };";
    dir.write_file("m.ts", text);
    assert_eq!(dir.answer("m.ts", bash_body("ls"))["results"][0], json!({"same": true}));
}

#[test]
fn names_what_needs_a_full_host() {
    let settings = ScriptSettings { full_host: FullHost::Disabled, ..Default::default() };
    let dir = ModuleDir::with_settings(settings);
    for (line, named) in [
        ("import yaml from 'yaml'; yaml;", "'yaml'"),
        ("import http from 'node:http'; http;", "'node:http'"),
        ("const y = require('left-pad');", "'left-pad'"),
        ("new Intl.DateTimeFormat();", "Intl"),
        ("Bun.file('x');", "Bun"),
    ] {
        dir.write_file(
            "m.ts",
            &format!("{line}\nexport default (pi) => {{ pi.on('tool_call', () => 1); }};"),
        );
        let outcome = dir.call("m.ts", bash_body("ls"));
        let why = load_error(&outcome);
        assert!(why.starts_with("Failed to load hook: ") && why.contains(named), "{why}");
    }
}

#[test]
fn names_a_missing_export_of_a_node_module() {
    let misspelt = "import { readFilSync } from 'node:fs'; export default (pi: any) => { pi.on('tool_call', () => readFilSync('x')); };";
    let again = "export { readFilSync } from 'fs'; export default (pi: any) => { pi.on('tool_call', () => {}); };";
    let space = "import * as fs from 'node:fs'; export default (pi: any) => { pi.on('tool_call', () => ({ t: typeof fs.readFilSync })); };";
    let load_failure = |dir: &ModuleDir, text: &str| {
        dir.write_file("m.ts", text);
        load_error(&dir.call("m.ts", bash_body("ls"))).to_owned()
    };
    let nobody = ScriptSettings { full_host: FullHost::Disabled, ..Default::default() };
    let dir = ModuleDir::with_settings(nobody);
    for text in [misspelt, again] {
        assert!(load_failure(&dir, text).contains("readFilSync"), "{text}");
    }
    dir.write_file("m.ts", space);
    assert_eq!(dir.answer("m.ts", bash_body("ls"))["results"], json!([{"t": "undefined"}]));
    run_in_each_host(|host| {
        let dir = ModuleDir::with_settings(ScriptSettings {
            full_host: host.clone(),
            ..Default::default()
        });
        assert!(load_failure(&dir, misspelt).contains("readFilSync"), "{host:?}");
        // A full host provides an export that the builtin lacks.
        dir.write_file("m.ts", "import { lchownSync } from 'node:fs'; export default (pi: any) => { pi.on('tool_call', () => ({ t: typeof lchownSync })); };");
        assert_eq!(dir.answer("m.ts", bash_body("ls"))["results"], json!([{"t": "function"}]));
    });
}
