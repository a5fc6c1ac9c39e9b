//! `__dirname` and `__filename` in modules that are written as such: bun has them, so modules use
//! them.

use gambrel_script::{FullHost, ScriptSettings};
use serde_json::{Value, json};

use crate::full_hosts::each;
use crate::stand::{Stand, bash};

/// In the embedded engine and, by something that only they have, in full hosts.
fn everywhere(check: impl Fn(&dyn Fn(&str) -> Value)) {
    let run = |host: &FullHost, head: &str, text: &str| {
        let stand = Stand::with(ScriptSettings { full_host: host.clone(), ..Default::default() });
        stand.write("lib/where.ts", "export const where = () => [__filename, __dirname];");
        stand.write("m.ts", &format!("{head}{text}"));
        let answer = stand.answer("m.ts", bash("ls"));
        let folder = stand.folder.path().to_str().unwrap();
        serde_json::from_str(&answer.to_string().replace(folder, "<base>")).unwrap()
    };
    check(&|text| run(&FullHost::Nobody, "", text));
    each(|host| check(&|text| run(host, "import 'node:net'; ", text)));
}

#[test]
fn where_they_are_used_and_not_declared() {
    everywhere(|run| {
        let answer = run(
            "import { where } from './lib/where';
export default (pi: any) => { pi.on('tool_call', () => ({ all: [__dirname, __filename, ...where()], inner: ((__dirname: string) => __dirname)('own') })); };",
        );
        let all = ["<base>", "<base>/m.ts", "<base>/lib/where.ts", "<base>/lib"];
        assert_eq!(answer["results"], json!([{"all": all, "inner": "own"}]), "{answer}");
    });
}

#[test]
fn where_they_are_only_said_to_be_there() {
    everywhere(|run| {
        let answer = run("declare const __dirname: string; declare const __filename: string;
export default (pi: any) => { pi.on('tool_call', () => ({ all: [__dirname, __filename] })); };");
        assert_eq!(answer["results"], json!([{"all": ["<base>", "<base>/m.ts"]}]), "{answer}");
    });
}

#[test]
fn who_has_a_name_of_its_own_keeps_it() {
    everywhere(|run| {
        let answer =
            run("import { dirname } from 'node:path'; import { fileURLToPath } from 'node:url';
const __filename = fileURLToPath(import.meta.url); const __dirname = dirname(__filename) + '/own';
export default (pi: any) => { pi.on('tool_call', () => ({ all: [__dirname, __filename] })); };");
        assert_eq!(answer["results"], json!([{"all": ["<base>/own", "<base>/m.ts"]}]), "{answer}");
    });
}

#[test]
fn no_line_moves() {
    everywhere(|run| {
        let answer = run("export default (pi: any) => { pi.on('tool_call', () => {
  if (__dirname) throw new Error('here');
}); };");
        assert_eq!(answer["errors"][0]["at"], "<base>/m.ts:2", "{answer}");
    });
}
