//! Relative imports of every spelling, dynamic ones, JSON, and `import.meta`.

use gambrel_script::ScriptSettings;
use serde_json::json;

use crate::full_hosts::each;
use crate::stand::{Stand, bash, unstarted};

/// The embedded engine, and every full host with a reason to be one: what is given, and the first
/// line of a module there.
fn everywhere(test: impl Fn(&Stand, &str)) {
    test(&Stand::new(), "");
    each(|host| {
        let settings = ScriptSettings { full_host: host.clone(), ..ScriptSettings::default() };
        test(&Stand::with(settings), "import 'node:net';");
    });
}

#[test]
fn fields_of_a_document_are_imported_by_name() {
    everywhere(|stand, head| {
        let data =
            r#"{"k": [1], "class": 2, "default": 3, "m": 4, "x0": 5, "a-b": 6, "π": 7, "$": 8}"#;
        stand.write("d.json", data);
        stand.write("c.jsonc", "{ \"on\": true, /* why */ }");
        stand.write("list.json", "[1]");
        let text = "import whole, { k, class as kind, m, x0, $ } from './d.json' with { type: 'json' };
import * as space from './d.json'; import { on as set } from './c.jsonc'; import list from './list.json'; export { k as again } from './d.json';
export default (pi) => { pi.on('tool_call', async () => {
  const late = await import('./d.json');
  return { named: [k, kind, m, x0, $, set, list], same: whole.k === k && space.k === k && late.k === k && space.default === whole, rest: [whole.default, whole['a-b'], whole['π']] };
}); };";
        stand.write("m.ts", &format!("{head}{text}"));
        let answer = stand.answer("m.ts", bash("ls"));
        let named = json!([[1], 2, 4, 5, 8, true, [1]]);
        let expected = json!({"named": named, "same": true, "rest": [3, 6, 7]});
        assert_eq!(answer["results"][0], expected, "{answer}");
    });
}

#[test]
fn every_spelling_is_found() {
    everywhere(spellings);
}

fn spellings(stand: &Stand, head: &str) {
    stand.write("lib/a.ts", "export const a: string = 'a'; export { b as bee } from './b.js';");
    stand.write("lib/b.ts", "import { c } from '../c/';\nexport const b = 'b' + c;");
    stand.write("c/index.ts", "export const c = 'c';");
    stand.write("d.mjs", "export default 'd';");
    stand.write("data.json", "{\"e\": [1, \"\\u2028\"]}");
    stand.write("late.ts", "export const late = (x: number) => x + 1;");
    let text = "import * as lib from './lib/a';\nimport d from './d.mjs';\nimport data from './data.json' with { type: 'json' };
export default (pi) => { pi.on('tool_call', async () => {
  const { late } = await import('./late.ts'); const name = './la' + 'te';
  const again = await import(name);
  return { a: lib.a, bee: lib.bee, d, e: data.e[0], late: late(1), same: again.late === late };
}); };";
    stand.write("m.ts", &format!("{head}{text}"));
    let answer = stand.answer("m.ts", bash("ls"));
    let expected = json!({"a": "a", "bee": "bc", "d": "d", "e": 1, "late": 2, "same": true});
    assert_eq!(answer["results"][0], expected, "{answer}");
    let mut found = gambrel_script::imports(&stand.path("m.ts"));
    found.sort();
    let mut wanted: Vec<_> =
        ["lib/a.ts", "lib/b.ts", "c/index.ts", "d.mjs", "data.json", "late.ts"]
            .map(|name| stand.path(name))
            .into();
    wanted.sort();
    assert_eq!(found, wanted);
}

#[test]
fn texts_data_and_folders_are_found() {
    everywhere(|stand, head| {
        stand.write("rules.txt", "no \"rm\"\n${x}\u{2028}");
        stand.write("prompt.md", "# Title\n");
        stand.write("odd.yaml", "a: [1\n");
        stand.write("own.ts", "export default 1;");
        stand.write("set.jsonc", "{\n  // why\n  \"a\": [1, /* two */ 2,],\n}\n");
        stand.write("pkg/package.json", r#"{"main": "./lib/main"}"#);
        stand.write("pkg/lib/main.ts", "export const main: string = 'main';");
        stand.write("pkg/index.ts", "export const main = 'index';");
        let text = "import rules from './rules.txt' with { type: 'text' };\nimport prompt from './prompt.md'; import odd from './odd.yaml' with { type: 'text' };
import own from './own.ts' with { type: 'text' }; import set from './set.jsonc'; import { main } from './pkg';
export default (pi) => { pi.on('tool_call', () => ({ rules, prompt, odd, own, set, main })); };";
        stand.write("m.ts", &format!("{head}{text}"));
        let answer = stand.answer("m.ts", bash("ls"));
        let expected = json!({"rules": "no \"rm\"\n${x}\u{2028}", "prompt": "# Title\n", "odd": "a: [1\n",
            "own": "export default 1;", "set": {"a": [1, 2]}, "main": "main"});
        assert_eq!(answer["results"][0], expected, "{answer}");
    });
}

#[test]
fn a_file_that_cannot_be_read_is_named_whole() {
    let stand = Stand::new();
    stand.write("lib/a.toml", "a = 1");
    stand.write("lib/b.json", "{\n]");
    for name in ["lib/a.toml", "lib/b.json", "lib/none.txt"] {
        stand.write(
            "m.ts",
            &format!(
                "import x from './{name}';\nexport default (pi) => pi.on('tool_call', () => x);"
            ),
        );
        let outcome = stand.call("m.ts", bash("ls"));
        let whole = if name.contains("none") { stand.path("m.ts") } else { stand.path(name) };
        let told = unstarted(&outcome);
        assert!(told.contains(whole.to_str().unwrap()), "{told}");
        let late = format!(
            "export default (pi) => pi.on('tool_call', async () => {{ const n = './{name}'; await import(n); }});"
        );
        stand.write("m.ts", &late);
        let answer = stand.answer("m.ts", bash("ls"));
        let told = answer["errors"][0]["error"].as_str().unwrap();
        assert!(told.contains(name), "{told}");
    }
}

#[test]
fn files_that_import_each_other() {
    let stand = Stand::new();
    stand.write("a.ts", "import { b } from './b'; export const a = () => b; export default (pi) => { pi.on('tool_call', () => ({ b: b() })); };");
    stand.write("b.ts", "import { a } from './a'; export const b = () => typeof a;");
    assert_eq!(stand.answer("a.ts", bash("ls"))["results"], json!([{"b": "function"}]));
    assert_eq!(gambrel_script::imports(&stand.path("a.ts")), [stand.path("b.ts")]);
}

#[test]
fn import_meta_tells_the_place() {
    everywhere(meta);
}

fn meta(stand: &Stand, head: &str) {
    let names = "url dir dirname filename path".split(' ').map(|n| format!("{n}: import.meta.{n}"));
    let fields = names.collect::<Vec<_>>().join(", ");
    let text =
        format!("{head}export default (pi) => {{ pi.on('tool_call', () => ({{ {fields} }})); }};");
    let path = stand.write("m.ts", &text);
    let meta = stand.answer("m.ts", bash("ls"))["results"][0].clone();
    let folder = path.parent().unwrap();
    assert_eq!(meta["filename"], json!(path));
    assert_eq!(meta["path"], json!(path));
    assert_eq!(meta["dirname"], json!(folder));
    assert_eq!(meta["dir"], json!(folder));
    let url = format!("file://{}", path.display()).replace(' ', "%20");
    assert_eq!(meta["url"], json!(url));
}

#[test]
fn a_handler_that_a_relative_file_registers() {
    let stand = Stand::new();
    stand.write("rules.ts", "export const install = (pi) => pi.on('tool_call', () => ({ n: 1 }));");
    stand.write("m.ts", "import { install } from './rules';\nexport default install;");
    assert_eq!(stand.answer("m.ts", bash("ls"))["results"], json!([{"n": 1}]));
}
