//! Pipes without a peer, endless files and too many descriptors do not block or exhaust a module.

use std::process::Command;
use std::time::Duration;

use gambrel_script::{FullHost, ScriptSettings};
use serde_json::json;

use crate::module_dir::{ModuleDir, bash_body, load_error};
use crate::node_oracle::probe_embedded;

#[test]
fn does_not_block_on_a_pipe() {
    let dir = ModuleDir::new();
    assert!(Command::new("mkfifo").arg(dir.path("pipe")).status().unwrap().success());
    let path = json!(dir.path("pipe"));
    let outcome = dir.run_handler(&format!(
        "const fs = require('fs'); const out: any = {{ read: fs.readFileSync({path}, 'utf8'), bytes: fs.readFileSync({path}).length }};
         for (const run of [() => fs.writeFileSync({path}, 'x'), () => fs.copyFileSync({path}, {path} + '2'), () => fs.truncateSync({path})]) try {{ run(); }} catch (e: any) {{ (out.codes ??= []).push(e.code); }}
         fs.utimesSync({path}, 1, 1); return out;"
    ));
    assert!(outcome.elapsed < Duration::from_secs(10), "{:?}", outcome.elapsed);
    let expected = json!({"read": "", "bytes": 0, "codes": ["ENXIO", "EINVAL", "ENXIO"]});
    assert_eq!(outcome.answer.unwrap()["results"][0], expected);
}

#[test]
fn rejects_an_endless_file() {
    let result = probe_embedded(
        "import fs from 'fs'; export const probe = () => { try { fs.readFileSync('/dev/zero', 'utf8'); } catch (e) { return e.code; } };",
    );
    assert_eq!(result, "EFBIG");
}

#[test]
fn limits_open_descriptors() {
    let result = probe_embedded(
        "import fs from 'fs'; export const probe = () => { const open = []; let code;
         try { for (;;) open.push(fs.openSync('/dev/null')); } catch (e) { code = e.code; }
         for (const fd of open) fs.closeSync(fd);
         const fd = fs.openSync('/dev/null'); fs.closeSync(fd); return [code, open.length > 60, fd > 2]; };",
    );
    assert_eq!(result, json!(["EMFILE", true, true]));
}

#[test]
fn create_require_needs_a_full_host() {
    let dir = ModuleDir::with_settings(ScriptSettings {
        full_host: FullHost::Disabled,
        ..Default::default()
    });
    dir.write_file("m.ts", "import { createRequire } from 'node:module'; createRequire(import.meta.url)('x'); export default (pi) => { pi.on('tool_call', () => {}); };");
    let outcome = dir.call("m.ts", bash_body("ls"));
    assert!(load_error(&outcome).contains("'node:module' needs bun or node"), "{outcome:?}");
}
