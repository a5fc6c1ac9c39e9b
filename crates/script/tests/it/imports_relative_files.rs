//! Static and dynamic relative imports of every spelling, JSON, and `import.meta`.

use gambrel_script::ScriptSettings;
use serde_json::json;

use crate::full_hosts::run_in_each_host;
use crate::module_dir::{ModuleDir, bash_body, load_error};

/// Runs a test in the embedded engine and in every full host. The second argument is the head of
/// the module that selects the host.
fn run_everywhere(test: impl Fn(&ModuleDir, &str)) {
    test(&ModuleDir::new(), "");
    run_in_each_host(|host| {
        let settings = ScriptSettings { full_host: host.clone(), ..ScriptSettings::default() };
        test(&ModuleDir::with_settings(settings), "import 'node:net';");
    });
}

#[test]
fn imports_json_fields_by_name() {
    run_everywhere(|dir, head| {
        let data =
            r#"{"k": [1], "class": 2, "default": 3, "m": 4, "x0": 5, "a-b": 6, "π": 7, "$": 8}"#;
        dir.write_file("d.json", data);
        dir.write_file("c.jsonc", "{ \"on\": true, /* why */ }");
        dir.write_file("list.json", "[1]");
        let text = "import whole, { k, class as kind, m, x0, $ } from './d.json' with { type: 'json' };
import * as space from './d.json'; import { on as set } from './c.jsonc'; import list from './list.json'; export { k as again } from './d.json';
export default (pi) => { pi.on('tool_call', async () => {
  const late = await import('./d.json');
  return { named: [k, kind, m, x0, $, set, list], same: whole.k === k && space.k === k && late.k === k && space.default === whole, rest: [whole.default, whole['a-b'], whole['π']] };
}); };";
        dir.write_file("m.ts", &format!("{head}{text}"));
        let answer = dir.answer("m.ts", bash_body("ls"));
        let named = json!([[1], 2, 4, 5, 8, true, [1]]);
        let expected = json!({"named": named, "same": true, "rest": [3, 6, 7]});
        assert_eq!(answer["results"][0], expected, "{answer}");
    });
}

#[test]
fn finds_every_spelling() {
    run_everywhere(check_spellings);
}

fn check_spellings(dir: &ModuleDir, head: &str) {
    dir.write_file("lib/a.ts", "export const a: string = 'a'; export { b as bee } from './b.js';");
    dir.write_file("lib/b.ts", "import { c } from '../c/';\nexport const b = 'b' + c;");
    dir.write_file("c/index.ts", "export const c = 'c';");
    dir.write_file("d.mjs", "export default 'd';");
    dir.write_file("data.json", "{\"e\": [1, \"\\u2028\"]}");
    dir.write_file("late.ts", "export const late = (x: number) => x + 1;");
    let text = "import * as lib from './lib/a';\nimport d from './d.mjs';\nimport data from './data.json' with { type: 'json' };
export default (pi) => { pi.on('tool_call', async () => {
  const { late } = await import('./late.ts'); const name = './la' + 'te';
  const again = await import(name);
  return { a: lib.a, bee: lib.bee, d, e: data.e[0], late: late(1), same: again.late === late };
}); };";
    dir.write_file("m.ts", &format!("{head}{text}"));
    let answer = dir.answer("m.ts", bash_body("ls"));
    let expected = json!({"a": "a", "bee": "bc", "d": "d", "e": 1, "late": 2, "same": true});
    assert_eq!(answer["results"][0], expected, "{answer}");
    let mut found = gambrel_script::module_imports(&dir.path("m.ts"));
    found.sort();
    let mut wanted: Vec<_> =
        ["lib/a.ts", "lib/b.ts", "c/index.ts", "d.mjs", "data.json", "late.ts"]
            .map(|name| dir.path(name))
            .into();
    wanted.sort();
    assert_eq!(found, wanted);
}

#[test]
fn imports_texts_data_and_directories() {
    run_everywhere(|dir, head| {
        dir.write_file("rules.txt", "no \"rm\"\n${x}\u{2028}");
        dir.write_file("prompt.md", "# Title\n");
        dir.write_file("odd.yaml", "a: [1\n");
        dir.write_file("own.ts", "export default 1;");
        dir.write_file("set.jsonc", "{\n  // why\n  \"a\": [1, /* two */ 2,],\n}\n");
        dir.write_file("pkg/package.json", r#"{"main": "./lib/main"}"#);
        dir.write_file("pkg/lib/main.ts", "export const main: string = 'main';");
        dir.write_file("pkg/index.ts", "export const main = 'index';");
        let text = "import rules from './rules.txt' with { type: 'text' };\nimport prompt from './prompt.md'; import odd from './odd.yaml' with { type: 'text' };
import own from './own.ts' with { type: 'text' }; import set from './set.jsonc'; import { main } from './pkg';
export default (pi) => { pi.on('tool_call', () => ({ rules, prompt, odd, own, set, main })); };";
        dir.write_file("m.ts", &format!("{head}{text}"));
        let answer = dir.answer("m.ts", bash_body("ls"));
        let expected = json!({"rules": "no \"rm\"\n${x}\u{2028}", "prompt": "# Title\n", "odd": "a: [1\n",
            "own": "export default 1;", "set": {"a": [1, 2]}, "main": "main"});
        assert_eq!(answer["results"][0], expected, "{answer}");
    });
}

#[test]
fn names_unreadable_files() {
    let dir = ModuleDir::new();
    dir.write_file("lib/a.toml", "a = 1");
    dir.write_file("lib/b.json", "{\n]");
    for name in ["lib/a.toml", "lib/b.json", "lib/none.txt"] {
        dir.write_file(
            "m.ts",
            &format!(
                "import x from './{name}';\nexport default (pi) => pi.on('tool_call', () => x);"
            ),
        );
        let outcome = dir.call("m.ts", bash_body("ls"));
        let whole = if name.contains("none") { dir.path("m.ts") } else { dir.path(name) };
        let error = load_error(&outcome);
        assert!(error.contains(whole.to_str().unwrap()), "{error}");
        let late = format!(
            "export default (pi) => pi.on('tool_call', async () => {{ const n = './{name}'; await import(n); }});"
        );
        dir.write_file("m.ts", &late);
        let answer = dir.answer("m.ts", bash_body("ls"));
        let error = answer["errors"][0]["error"].as_str().unwrap();
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn allows_circular_imports() {
    let dir = ModuleDir::new();
    dir.write_file("a.ts", "import { b } from './b'; export const a = () => b; export default (pi) => { pi.on('tool_call', () => ({ b: b() })); };");
    dir.write_file("b.ts", "import { a } from './a'; export const b = () => typeof a;");
    assert_eq!(dir.answer("a.ts", bash_body("ls"))["results"], json!([{"b": "function"}]));
    assert_eq!(gambrel_script::module_imports(&dir.path("a.ts")), [dir.path("b.ts")]);
}

#[test]
fn import_meta_has_the_paths() {
    run_everywhere(check_import_meta);
}

fn check_import_meta(dir: &ModuleDir, head: &str) {
    let names = "url dir dirname filename path".split(' ').map(|n| format!("{n}: import.meta.{n}"));
    let fields = names.collect::<Vec<_>>().join(", ");
    let text =
        format!("{head}export default (pi) => {{ pi.on('tool_call', () => ({{ {fields} }})); }};");
    let path = dir.write_file("m.ts", &text);
    let meta = dir.answer("m.ts", bash_body("ls"))["results"][0].clone();
    let folder = path.parent().unwrap();
    assert_eq!(meta["filename"], json!(path));
    assert_eq!(meta["path"], json!(path));
    assert_eq!(meta["dirname"], json!(folder));
    assert_eq!(meta["dir"], json!(folder));
    let url = format!("file://{}", path.display()).replace(' ', "%20");
    assert_eq!(meta["url"], json!(url));
}

#[test]
fn runs_handlers_of_imported_files() {
    let dir = ModuleDir::new();
    dir.write_file(
        "rules.ts",
        "export const install = (pi) => pi.on('tool_call', () => ({ n: 1 }));",
    );
    dir.write_file("m.ts", "import { install } from './rules';\nexport default install;");
    assert_eq!(dir.answer("m.ts", bash_body("ls"))["results"], json!([{"n": 1}]));
}
