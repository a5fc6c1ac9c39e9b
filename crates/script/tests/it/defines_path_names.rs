//! `__dirname` and `__filename` exist in ES modules too, as in bun.

use gambrel_script::{FullHost, ScriptSettings};
use serde_json::{Value, json};

use crate::full_hosts::run_in_each_host;
use crate::module_dir::{ModuleDir, bash_body};

/// Runs a check in the embedded engine and in full hosts. An import of `node:net` requires a full
/// host.
fn run_everywhere(check: impl Fn(&dyn Fn(&str) -> Value)) {
    let run = |host: &FullHost, head: &str, text: &str| {
        let dir = ModuleDir::with_settings(ScriptSettings {
            full_host: host.clone(),
            ..Default::default()
        });
        dir.write_file("lib/where.ts", "export const where = () => [__filename, __dirname];");
        dir.write_file("m.ts", &format!("{head}{text}"));
        let answer = dir.answer("m.ts", bash_body("ls"));
        let folder = dir.folder.path().to_str().unwrap();
        serde_json::from_str(&answer.to_string().replace(folder, "<base>")).unwrap()
    };
    check(&|text| run(&FullHost::Disabled, "", text));
    run_in_each_host(|host| check(&|text| run(host, "import 'node:net'; ", text)));
}

#[test]
fn defines_undeclared_path_names() {
    run_everywhere(|run| {
        let answer = run(
            "import { where } from './lib/where';
export default (pi: any) => { pi.on('tool_call', () => ({ all: [__dirname, __filename, ...where()], inner: ((__dirname: string) => __dirname)('own') })); };",
        );
        let all = ["<base>", "<base>/m.ts", "<base>/lib/where.ts", "<base>/lib"];
        assert_eq!(answer["results"], json!([{"all": all, "inner": "own"}]), "{answer}");
    });
}

#[test]
fn defines_path_names_declared_as_types() {
    run_everywhere(|run| {
        let answer = run("declare const __dirname: string; declare const __filename: string;
export default (pi: any) => { pi.on('tool_call', () => ({ all: [__dirname, __filename] })); };");
        assert_eq!(answer["results"], json!([{"all": ["<base>", "<base>/m.ts"]}]), "{answer}");
    });
}

#[test]
fn keeps_path_names_of_the_file() {
    run_everywhere(|run| {
        let answer =
            run("import { dirname } from 'node:path'; import { fileURLToPath } from 'node:url';
const __filename = fileURLToPath(import.meta.url); const __dirname = dirname(__filename) + '/own';
export default (pi: any) => { pi.on('tool_call', () => ({ all: [__dirname, __filename] })); };");
        assert_eq!(answer["results"], json!([{"all": ["<base>/own", "<base>/m.ts"]}]), "{answer}");
    });
}

#[test]
fn keeps_line_numbers() {
    run_everywhere(|run| {
        let answer = run("export default (pi: any) => { pi.on('tool_call', () => {
  if (__dirname) throw new Error('here');
}); };");
        assert_eq!(answer["errors"][0]["at"], "<base>/m.ts:2", "{answer}");
    });
}
