//! Imports whose specifier is not in the text, in the embedded engine and in full hosts: TypeScript
//! is read as anywhere else.

use gambrel_script::{FullHost, ScriptSettings};
use serde_json::{Value, json};

use crate::full_hosts::each;
use crate::stand::{Stand, bash};

fn told(host: &FullHost, head: &str, code: &str) -> Value {
    let stand = Stand::with(ScriptSettings { full_host: host.clone(), ..Default::default() });
    stand.write(
        "guard.config.ts",
        "import { up } from './lib/up.js';\nenum Level { High = 3 }
export default { level: Level.High as number, up: up('x'), dir: __dirname };",
    );
    stand.write("lib/up.ts", "export const up = (s: string): string => s.toUpperCase();");
    stand.write("lib/s.ts", "export const n: number = 1;\nexport const made = {};");
    stand.write("lib/index.ts", "export const whole: string = 'index';");
    stand.write("data.json", r#"{"a": 1}"#);
    stand.write("broken.ts", "export const a = 1;\nlet = = 2;");
    stand.write(
        "m.ts",
        &format!(
            "{head} import path from 'node:path';
export default (pi: any) => {{ pi.on('tool_call', async (event: any, ctx: any) => {{ {code} }}); }};"
        ),
    );
    let mut body = bash("ls");
    body["ctx"]["cwd"] = json!(stand.folder.path());
    let answer = stand.answer("m.ts", body);
    assert_eq!(answer["errors"], json!([]));
    let folder = stand.folder.path().to_str().unwrap();
    serde_json::from_str(&answer["results"][0].to_string().replace(folder, "<base>")).unwrap()
}

/// In the embedded engine and, by something that only they have, in full hosts.
fn everywhere(check: impl Fn(&dyn Fn(&str) -> Value)) {
    check(&|code| told(&FullHost::Nobody, "", code));
    each(|host| check(&|code| told(host, "import 'node:net';", code)));
}

#[test]
fn by_a_path_of_the_project() {
    everywhere(|told| {
        let told = told("return (await import(path.join(ctx.cwd, 'guard.config.ts'))).default;");
        let expected = json!({"level": 3, "up": "X", "dir": "<base>"});
        assert_eq!(told, expected);
    });
}

#[test]
fn by_an_address() {
    everywhere(|told| {
        let told = told(
            "const up = await import(new URL('./lib/up.ts', import.meta.url).href); return { up: up.up('y') };",
        );
        assert_eq!(told, json!({"up": "Y"}));
    });
}

#[test]
fn anew_for_each_question() {
    everywhere(|told| {
        let told = told(
            "const [a, b] = [await import('./lib/s.ts?t=' + 1), await import('./lib/s.ts?t=' + 2)]; return { n: a.n + b.n };",
        );
        assert_eq!(told, json!({"n": 2}));
    });
}

#[test]
fn without_an_ending_a_folder_and_data() {
    everywhere(|told| {
        let told = told(
            "const name = (s: string) => './' + s; const all = [await import(name('lib/up')), await import(name('lib')), await import(name('data.json'))];
             return { up: all[0].up('z'), whole: all[1].whole, a: all[2].default.a };",
        );
        assert_eq!(told, json!({"up": "Z", "whole": "index", "a": 1}));
    });
}

#[test]
fn one_that_cannot_be_read_or_is_not_there_is_an_error() {
    everywhere(|told| {
        let told = told(
            "const failed = (s: string) => import('./' + s).then(() => 'read', (e) => e instanceof Error && e.message.length > 0);
             return { broken: await failed('broken.ts'), none: await failed('none.ts') };",
        );
        assert_eq!((&told["none"], &told["broken"]), (&json!(true), &json!(true)), "{told}");
    });
}
