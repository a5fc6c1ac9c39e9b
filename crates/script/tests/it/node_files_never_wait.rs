//! Files that would be waited for in vain, files without end, and descriptors without number.

use std::process::Command;
use std::time::Duration;

use gambrel_script::{FullHost, ScriptSettings};
use serde_json::json;

use crate::stand::{Stand, bash, unstarted};
use crate::twin::embedded;

#[test]
fn a_pipe_without_another_end() {
    let stand = Stand::new();
    assert!(Command::new("mkfifo").arg(stand.path("pipe")).status().unwrap().success());
    let path = json!(stand.path("pipe"));
    let outcome = stand.handler(&format!(
        "const fs = require('fs'); const out: any = {{ read: fs.readFileSync({path}, 'utf8'), bytes: fs.readFileSync({path}).length }};
         for (const run of [() => fs.writeFileSync({path}, 'x'), () => fs.copyFileSync({path}, {path} + '2'), () => fs.truncateSync({path})]) try {{ run(); }} catch (e: any) {{ (out.codes ??= []).push(e.code); }}
         fs.utimesSync({path}, 1, 1); return out;"
    ));
    assert!(outcome.elapsed < Duration::from_secs(10), "{:?}", outcome.elapsed);
    let expected = json!({"read": "", "bytes": 0, "codes": ["ENXIO", "EINVAL", "ENXIO"]});
    assert_eq!(outcome.answer.unwrap()["results"][0], expected);
}

#[test]
fn a_file_without_end_is_refused() {
    let told = embedded(
        "import fs from 'fs'; export const probe = () => { try { fs.readFileSync('/dev/zero', 'utf8'); } catch (e) { return e.code; } };",
    );
    assert_eq!(told, "EFBIG");
}

#[test]
fn descriptors_run_out_and_come_back() {
    let told = embedded(
        "import fs from 'fs'; export const probe = () => { const open = []; let code;
         try { for (;;) open.push(fs.openSync('/dev/null')); } catch (e) { code = e.code; }
         for (const fd of open) fs.closeSync(fd);
         const fd = fs.openSync('/dev/null'); fs.closeSync(fd); return [code, open.length > 60, fd > 2]; };",
    );
    assert_eq!(told, json!(["EMFILE", true, true]));
}

#[test]
fn require_of_packages_needs_a_full_host() {
    let stand = Stand::with(ScriptSettings { full_host: FullHost::Nobody, ..Default::default() });
    stand.write("m.ts", "import { createRequire } from 'node:module'; createRequire(import.meta.url)('x'); export default (pi) => { pi.on('tool_call', () => {}); };");
    let outcome = stand.call("m.ts", bash("ls"));
    assert!(unstarted(&outcome).contains("'node:module' needs bun or node"), "{outcome:?}");
}
