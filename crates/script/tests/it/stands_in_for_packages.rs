//! Packages of the host do nothing and say so; typebox builds real schemas; what needs a full
//! host names what it needs.

use gambrel_script::{FullHost, ScriptSettings};
use serde_json::json;

use crate::full_hosts::each;
use crate::stand::{Stand, bash, unstarted};

#[test]
fn host_packages_can_be_used_without_harm() {
    let stand = Stand::new();
    let text = r#"import { Container, Text as T, isToolCallEventType } from "@mariozechner/pi-coding-agent";
import * as tui from "@oh-my-pi/pi-tui";
import Whole from "@oh-my-pi/pi-ai";
class Box extends Container { constructor() { super(1); this.kept = 2; } render() { return this.kept; } }
export default (pi) => { pi.on("tool_call", (event) => {
  const t = new T("x", 0); t.setText("y"); tui.something.deep.call("a"); new tui.Other(); Whole.x();
  return { kept: new Box().render(), bash: isToolCallEventType("bash", event), read: isToolCallEventType("read", event), text: `${tui.word}`, none: pi.pi.any.thing() };
}); };"#;
    stand.write("m.ts", text);
    let answer = stand.answer("m.ts", bash("ls"));
    assert_eq!(answer["errors"], json!([]));
    let expected = json!({"kept": 2, "bash": true, "read": false, "text": ""});
    assert_eq!(answer["results"][0], expected);
    let warnings = answer["effects"].as_array().unwrap().iter().filter(|e| e["type"] == "warning");
    assert!(warnings.count() >= 3, "{answer}");
}

#[test]
fn small_helpers_of_the_host_are_real_wherever_a_module_runs() {
    let test = |stand: &Stand, head: &str| {
        let text = include_str!("probes/helpers.ts");
        stand.write("m.ts", &format!("{head}{text}"));
        let answer = stand.answer("m.ts", bash("ls"));
        assert_eq!((&answer["errors"], &answer["effects"]), (&json!([]), &json!([])), "{answer}");
        let told = &answer["results"][0];
        let home = std::env::var("HOME").unwrap_or_default();
        assert_eq!(told["places"], json!([format!("{home}/.omp/agent"), "/else/where"]));
        assert_eq!(told["limits"], json!([3000, 51200]));
        assert_eq!(told["sizes"], json!(["0B", "1023B", "1.5KB", "1.0MB", "4.7GB"]));
        assert_eq!(told["turns"], json!(["one", "other", "one over", "two", "two over", 2, "no"]));
        let front = json!({"name": "x", "allowedTools": ["a", "b c", 3], "deep": {"someKey": null,
            "list": [{"y": 2, "z": "it's"}, true]}, "text": "one\n two\n", "d": "a: b # no"});
        assert_eq!(told["front"], json!({"frontmatter": front, "body": "body"}));
        assert_eq!(told["none"], json!({"frontmatter": {}, "body": "plain"}));
        assert_eq!(told["bad"], "FrontmatterError");
        let cut = |content, by, lines, bytes| json!([content, by, lines, bytes, 3, 8]);
        let expected = [
            cut("a\nbb\nccc", json!(null), 3, 8),
            cut("a\nbb", json!("lines"), 2, 4),
            cut("bb\nccc", json!("bytes"), 2, 6),
        ];
        assert_eq!(told["cuts"], json!(expected));
        assert_eq!(told["partial"], json!(["é", true, 1]));
        assert_eq!(told["exceeds"], json!(["", true]));
    };
    test(&Stand::new(), "");
    each(|host| {
        let settings = ScriptSettings { full_host: host.clone(), ..Default::default() };
        test(&Stand::with(settings), "import 'node:net';");
    });
}

#[test]
fn typebox_builds_schemas() {
    let stand = Stand::new();
    for source in ["typebox", "@sinclair/typebox"] {
        let text = format!(
            "import {{ Type, type Static }} from '{source}';
const S = Type.Object({{ a: Type.String({{ description: 'd' }}), b: Type.Optional(Type.Array(Type.Number())), c: Type.Union([Type.Literal('x'), Type.Null()]) }});
export default (pi) => {{ pi.on('tool_call', () => ({{ S, same: pi.typebox.Type === Type }})); }};"
        );
        stand.write("m.ts", &text);
        let expected = json!({"same": true, "S": {"type": "object", "required": ["a", "c"], "properties": {
            "a": {"type": "string", "description": "d"},
            "b": {"type": "array", "items": {"type": "number"}},
            "c": {"anyOf": [{"const": "x", "type": "string"}, {"type": "null"}]}}}});
        assert_eq!(stand.answer("m.ts", bash("ls"))["results"][0], expected);
    }
}

#[test]
fn builtins_are_found_under_both_names() {
    let stand = Stand::new();
    let text = "import p, { pid } from 'node:process'; import * as q from 'process';
export default (pi) => { pi.on('tool_call', async () => { const r = await import('node:process'); return { same: p === process && q.pid === pid && r.default === p && require('process') === p }; }); };";
    stand.write("m.ts", text);
    assert_eq!(stand.answer("m.ts", bash("ls"))["results"][0], json!({"same": true}));
}

#[test]
fn what_needs_a_full_host_is_named() {
    let settings = ScriptSettings { full_host: FullHost::Nobody, ..Default::default() };
    let stand = Stand::with(settings);
    for (line, named) in [
        ("import yaml from 'yaml'; yaml;", "'yaml'"),
        ("import http from 'node:http'; http;", "'node:http'"),
        ("const y = require('left-pad');", "'left-pad'"),
        ("new Intl.DateTimeFormat();", "Intl"),
        ("Bun.file('x');", "Bun"),
    ] {
        stand.write(
            "m.ts",
            &format!("{line}\nexport default (pi) => {{ pi.on('tool_call', () => 1); }};"),
        );
        let outcome = stand.call("m.ts", bash("ls"));
        let why = unstarted(&outcome);
        assert!(why.starts_with("Failed to load hook: ") && why.contains(named), "{why}");
    }
}

#[test]
fn a_name_that_a_module_of_node_does_not_have_is_told() {
    let misspelt = "import { readFilSync } from 'node:fs'; export default (pi: any) => { pi.on('tool_call', () => readFilSync('x')); };";
    let again = "export { readFilSync } from 'fs'; export default (pi: any) => { pi.on('tool_call', () => {}); };";
    let space = "import * as fs from 'node:fs'; export default (pi: any) => { pi.on('tool_call', () => ({ t: typeof fs.readFilSync })); };";
    let told = |stand: &Stand, text: &str| {
        stand.write("m.ts", text);
        unstarted(&stand.call("m.ts", bash("ls"))).to_owned()
    };
    let nobody = ScriptSettings { full_host: FullHost::Nobody, ..Default::default() };
    let stand = Stand::with(nobody);
    for text in [misspelt, again] {
        assert!(told(&stand, text).contains("readFilSync"), "{text}");
    }
    stand.write("m.ts", space);
    assert_eq!(stand.answer("m.ts", bash("ls"))["results"], json!([{"t": "undefined"}]));
    each(|host| {
        let stand = Stand::with(ScriptSettings { full_host: host.clone(), ..Default::default() });
        assert!(told(&stand, misspelt).contains("readFilSync"), "{host:?}");
        // What ours lacks and a full host has is found there.
        stand.write("m.ts", "import { lchownSync } from 'node:fs'; export default (pi: any) => { pi.on('tool_call', () => ({ t: typeof lchownSync })); };");
        assert_eq!(stand.answer("m.ts", bash("ls"))["results"], json!([{"t": "function"}]));
    });
}
