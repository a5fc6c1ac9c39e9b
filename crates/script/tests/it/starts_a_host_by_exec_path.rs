//! `process.execPath`: a program that reads arguments as Node does, where there is one.

use gambrel_script::{FullHost, ScriptSettings};
use serde_json::{Value, json};

use crate::full_hosts::each;
use crate::stand::{Stand, bash};

fn told(host: &FullHost, code: &str) -> Value {
    let stand = Stand::with(ScriptSettings { full_host: host.clone(), ..Default::default() });
    let text = format!(
        "import fs from 'fs'; import {{ execFileSync, spawnSync }} from 'child_process';
export default (pi: any) => {{ pi.on('tool_call', () => {{ {code} }}); }};"
    );
    stand.write("m.ts", &text);
    let answer = stand.answer("m.ts", bash("ls"));
    assert_eq!(answer["errors"], json!([]));
    answer["results"][0].clone()
}

#[test]
fn it_runs_what_it_is_told() {
    each(|host| {
        let code = "return { said: execFileSync(process.execPath, ['-e', 'console.log(1 + 1)'], { encoding: 'utf8' }), same: process.argv[0] === process.execPath, title: process.title };";
        let expected = json!({"said": "2\n", "same": true, "title": "gambrel"});
        assert_eq!(told(host, code), expected);
    });
}

#[test]
fn without_one_it_is_ourselves() {
    let own = std::env::current_exe().unwrap();
    let told = told(&FullHost::Nobody, "return { path: process.execPath };");
    assert_eq!(told, json!({ "path": own }));
}

#[test]
fn a_script_that_says_nothing_of_its_language_is_no_program() {
    let code = "const dir = fs.mkdtempSync('/tmp/script-'); fs.writeFileSync(dir + '/s', 'echo hi\\n', { mode: 0o755 });
        const { error } = spawnSync(dir + '/s'); fs.rmSync(dir, { recursive: true });
        return { code: error.code, errno: error.errno, message: error.message.replace(dir, '') };";
    let expected = json!({"code": "ENOEXEC", "errno": -8, "message": "spawnSync /s ENOEXEC"});
    assert_eq!(told(&FullHost::Nobody, code), expected);
}
