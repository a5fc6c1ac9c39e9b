//! Dynamic imports with computed specifiers, also of TypeScript, in the embedded engine and in full
//! hosts.

use gambrel_script::{FullHost, ScriptSettings};
use serde_json::{Value, json};

use crate::full_hosts::run_in_each_host;
use crate::module_dir::{ModuleDir, bash_body};

fn run_handler(host: &FullHost, head: &str, code: &str) -> Value {
    let dir =
        ModuleDir::with_settings(ScriptSettings { full_host: host.clone(), ..Default::default() });
    dir.write_file(
        "guard.config.ts",
        "import { up } from './lib/up.js';\nenum Level { High = 3 }
export default { level: Level.High as number, up: up('x'), dir: __dirname };",
    );
    dir.write_file("lib/up.ts", "export const up = (s: string): string => s.toUpperCase();");
    dir.write_file("lib/s.ts", "export const n: number = 1;\nexport const made = {};");
    dir.write_file("lib/index.ts", "export const whole: string = 'index';");
    dir.write_file("data.json", r#"{"a": 1}"#);
    dir.write_file("broken.ts", "export const a = 1;\nlet = = 2;");
    dir.write_file(
        "m.ts",
        &format!(
            "{head} import path from 'node:path';
export default (pi: any) => {{ pi.on('tool_call', async (event: any, ctx: any) => {{ {code} }}); }};"
        ),
    );

    let mut body = bash_body("ls");
    body["ctx"]["cwd"] = json!(dir.folder.path());
    let answer = dir.answer("m.ts", body);
    assert_eq!(answer["errors"], json!([]));
    let folder = dir.folder.path().to_str().unwrap();
    serde_json::from_str(&answer["results"][0].to_string().replace(folder, "<base>")).unwrap()
}

/// Runs a check in the embedded engine and in full hosts. An import of `node:net` requires a full
/// host.
fn run_everywhere(check: impl Fn(&dyn Fn(&str) -> Value)) {
    check(&|code| run_handler(&FullHost::Disabled, "", code));
    run_in_each_host(|host| check(&|code| run_handler(host, "import 'node:net';", code)));
}

#[test]
fn imports_by_an_absolute_path() {
    run_everywhere(|run| {
        let result = run("return (await import(path.join(ctx.cwd, 'guard.config.ts'))).default;");
        let expected = json!({"level": 3, "up": "X", "dir": "<base>"});
        assert_eq!(result, expected);
    });
}

#[test]
fn imports_by_a_url() {
    run_everywhere(|run| {
        let result = run(
            "const up = await import(new URL('./lib/up.ts', import.meta.url).href); return { up: up.up('y') };",
        );
        assert_eq!(result, json!({"up": "Y"}));
    });
}

#[test]
fn imports_with_a_query() {
    run_everywhere(|run| {
        let result = run(
            "const [a, b] = [await import('./lib/s.ts?t=' + 1), await import('./lib/s.ts?t=' + 2)]; return { n: a.n + b.n };",
        );
        assert_eq!(result, json!({"n": 2}));
    });
}

#[test]
fn imports_directories_and_data() {
    run_everywhere(|run| {
        let result = run(
            "const name = (s: string) => './' + s; const all = [await import(name('lib/up')), await import(name('lib')), await import(name('data.json'))];
             return { up: all[0].up('z'), whole: all[1].whole, a: all[2].default.a };",
        );
        assert_eq!(result, json!({"up": "Z", "whole": "index", "a": 1}));
    });
}

#[test]
fn rejects_broken_and_missing_files() {
    run_everywhere(|run| {
        let result = run(
            "const failed = (s: string) => import('./' + s).then(() => 'read', (e) => e instanceof Error && e.message.length > 0);
             return { broken: await failed('broken.ts'), none: await failed('none.ts') };",
        );
        assert_eq!((&result["none"], &result["broken"]), (&json!(true), &json!(true)), "{result}");
    });
}
