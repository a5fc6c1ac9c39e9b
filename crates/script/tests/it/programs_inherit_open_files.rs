//! Programs inherit files that a module has opened, and can use them after the handler has ended.

use std::path::Path;
use std::time::{Duration, Instant};

use gambrel_script::{FullHost, ScriptSettings};
use serde_json::json;

use crate::module_dir::{ModuleDir, bash_body};
use crate::node_oracle::probe;

#[test]
fn inherited_files_match_node() {
    let result = probe(
        "import fs from 'node:fs'; import { spawn, spawnSync, execFileSync, execSync } from 'node:child_process';
export const probe = async () => {
  fs.writeFileSync('in', 'one\\ntwo\\n');
  const out = fs.openSync('out', 'a'); const input = fs.openSync('in', 'r');
  fs.writeSync(out, 'first ');
  const r = spawnSync('sh', ['-c', 'cat; echo err >&2'], { stdio: [input, out, out] });
  const over = fs.openSync('in', 'r');
  const lines = [execFileSync('cat', { stdio: [over, 'pipe', 'pipe'], encoding: 'utf8' }), execSync('echo more', { stdio: ['ignore', out, 'pipe'] })];
  const again = fs.openSync('in', 'r');
  const c = spawn('sh', ['-c', 'cat; echo late'], { stdio: [again, out, 'ignore'] });
  const nothing = [c.stdin, c.stdout, c.stderr];
  fs.closeSync(again); fs.closeSync(out);
  const ended = await new Promise((done) => c.on('close', (...how) => done(how)));
  const stream = fs.createWriteStream('streamed');
  await new Promise((done) => stream.on('open', done));
  spawnSync('echo', ['by stream'], { stdio: ['ignore', stream, 'ignore'] });
  const bad = spawnSync('true', { stdio: ['ignore', 999, 'ignore'] });
  return [r.status, r.stdout, r.stderr, r.output, lines, nothing, ended, fs.readFileSync('out', 'utf8'), fs.readFileSync('streamed', 'utf8'), bad.error?.code];
};",
    );
    assert_eq!(result[7], "first one\ntwo\nerr\nmore\none\ntwo\nlate\n");
    assert_eq!((&result[8], &result[9]), (&json!("by stream\n"), &json!("EBADF")));
}

#[test]
fn programs_write_after_their_handler_ended() {
    let settings = ScriptSettings { full_host: FullHost::Disabled, ..Default::default() };
    let dir = ModuleDir::with_settings(settings);
    dir.write_file(
        "m.ts",
        "import fs from 'fs'; import { spawn } from 'child_process'; import path from 'path';
export default (pi: any) => { pi.on('tool_call', (event: any) => {
  const out = fs.openSync(path.join(event.input.command, 'd.log'), 'a');
  const words = ['-c', 'while ! [ -e \"$1/go\" ]; do sleep 0.02; done; echo out; echo err >&2; touch \"$1/done\"', 'sh', event.input.command];
  spawn('sh', words, { detached: true, stdio: ['ignore', out, out] }).unref();
  fs.closeSync(out);
}); };",
    );
    let folder = dir.folder.path().to_path_buf();
    let answer = dir.answer("m.ts", bash_body(folder.to_str().unwrap()));
    assert_eq!(answer["errors"], json!([]));

    let ModuleDir { folder, action, .. } = dir;
    drop(action);
    std::fs::write(folder.path().join("go"), "").unwrap();
    wait_for_file(&folder.path().join("done"));
    assert_eq!(std::fs::read_to_string(folder.path().join("d.log")).unwrap(), "out\nerr\n");
}

#[test]
fn programs_block_on_inherited_pipes() {
    let result = probe(
        "import fs from 'node:fs'; import { execFileSync, spawn } from 'node:child_process';
export const probe = async () => {
  execFileSync('mkfifo', ['pipe']);
  const pipe = fs.openSync('pipe', 'r+');
  const c = spawn('head', ['-c', '4'], { stdio: [pipe, 'pipe', 'inherit'] });
  let text = ''; c.stdout.on('data', (chunk) => (text += chunk));
  await new Promise((done) => setTimeout(done, 200));
  fs.writeSync(pipe, 'said');
  await new Promise((done) => c.on('close', done));
  fs.closeSync(pipe);
  return text;
};",
    );
    assert_eq!(result, "said");
}

fn wait_for_file(path: &Path) {
    let until = Instant::now() + Duration::from_secs(20);
    while !path.exists() {
        assert!(Instant::now() < until, "nobody wrote {}", path.display());
        std::thread::yield_now();
    }
}
