//! `process.chdir` changes the working directory of the current call only, not that of gambrel or
//! of the next event.

use gambrel_script::{FullHost, ScriptSettings};
use serde_json::json;

use crate::module_dir::{ModuleDir, bash_body};
use crate::node_oracle::probe;

#[test]
fn chdir_matches_node() {
    let result = probe(
        "import fs from 'node:fs'; import path from 'node:path'; import { execSync, spawnSync } from 'node:child_process';
const failed = (to) => { try { return process.chdir(to) ?? null; } catch (e) { return [e.name, e.message, e.code, e.errno, e.syscall, e.path, e.dest]; } };
export const probe = () => {
  fs.mkdirSync('one/two', { recursive: true }); fs.writeFileSync('one/two/file', 'here'); fs.symlinkSync('one', 'link');
  const base = process.cwd();
  const out = [process.chdir('one') ?? null, process.cwd(), process.chdir('two') ?? null, process.cwd(), fs.readFileSync('file', 'utf8'), path.resolve('x'), execSync('pwd').toString(), spawnSync('cat', ['file'], { encoding: 'utf8' }).stdout];
  out.push(spawnSync('pwd', { cwd: '..', encoding: 'utf8' }).stdout);
  out.push(failed('none'), failed('file'), failed(''), failed(5), failed(undefined), process.cwd());
  process.chdir(base); process.chdir('link/two/..'); out.push(process.cwd());
  process.chdir('/'); out.push(process.cwd());
  process.chdir(base);
  return out;
};",
    );
    assert_eq!(result[3], "<base>/one/two");
    assert_eq!(result[9][1], "ENOENT: no such file or directory, chdir '<base>/one/two' -> 'none'");
    assert_eq!(
        (&result[10][2], &result[12][2]),
        (&json!("ENOTDIR"), &json!("ERR_INVALID_ARG_TYPE"))
    );
}

#[test]
fn each_event_starts_in_its_own_directory() {
    let before = std::env::current_dir().unwrap();
    let dir = ModuleDir::with_settings(ScriptSettings {
        full_host: FullHost::Disabled,
        ..Default::default()
    });
    dir.write_file(
        "m.ts",
        "export default (pi: any) => { pi.on('tool_call', () => { const was = process.cwd(); process.chdir('/usr'); return { was, is: process.cwd() }; }); };",
    );
    for _ in 0..2 {
        let answer = dir.answer("m.ts", bash_body("ls"));
        assert_eq!(answer["results"], json!([{"was": "/", "is": "/usr"}]), "{answer}");
    }
    assert_eq!(std::env::current_dir().unwrap(), before);
}
