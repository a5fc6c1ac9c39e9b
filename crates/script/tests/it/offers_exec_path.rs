//! `process.execPath` is a program that accepts Node's arguments, if one is installed.

use gambrel_script::{FullHost, ScriptSettings};
use serde_json::{Value, json};

use crate::full_hosts::run_in_each_host;
use crate::module_dir::{ModuleDir, bash_body};

fn run_handler(host: &FullHost, code: &str) -> Value {
    let dir =
        ModuleDir::with_settings(ScriptSettings { full_host: host.clone(), ..Default::default() });
    let text = format!(
        "import fs from 'fs'; import {{ execFileSync, spawnSync }} from 'child_process';
export default (pi: any) => {{ pi.on('tool_call', () => {{ {code} }}); }};"
    );
    dir.write_file("m.ts", &text);
    let answer = dir.answer("m.ts", bash_body("ls"));
    assert_eq!(answer["errors"], json!([]));
    answer["results"][0].clone()
}

#[test]
fn exec_path_runs_scripts() {
    run_in_each_host(|host| {
        let code = "return { said: execFileSync(process.execPath, ['-e', 'console.log(1 + 1)'], { encoding: 'utf8' }), same: process.argv[0] === process.execPath, title: process.title };";
        let expected = json!({"said": "2\n", "same": true, "title": "gambrel"});
        assert_eq!(run_handler(host, code), expected);
    });
}

#[test]
fn exec_path_is_gambrel_without_a_full_host() {
    let own = std::env::current_exe().unwrap();
    let result = run_handler(&FullHost::Disabled, "return { path: process.execPath };");
    assert_eq!(result, json!({ "path": own }));
}

#[test]
fn a_script_without_shebang_is_not_executable() {
    let code = "const dir = fs.mkdtempSync('/tmp/script-'); fs.writeFileSync(dir + '/s', 'echo hi\\n', { mode: 0o755 });
        const { error } = spawnSync(dir + '/s'); fs.rmSync(dir, { recursive: true });
        return { code: error.code, errno: error.errno, message: error.message.replace(dir, '') };";
    let expected = json!({"code": "ENOEXEC", "errno": -8, "message": "spawnSync /s ENOEXEC"});
    assert_eq!(run_handler(&FullHost::Disabled, code), expected);
}
