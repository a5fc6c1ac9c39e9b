//! `require` loads builtins and stubs in the embedded engine, and everything else in a full host,
//! relative to the requiring file.

use gambrel_script::{FullHost, ScriptSettings};
use serde_json::json;

use crate::full_hosts::run_in_each_host;
use crate::module_dir::{ModuleDir, bash_body};

fn prepare_dir(host: &FullHost) -> ModuleDir {
    let dir =
        ModuleDir::with_settings(ScriptSettings { full_host: host.clone(), ..Default::default() });
    dir.write_file("node_modules/old/package.json", r#"{"name":"old","main":"main.js"}"#);
    dir.write_file("node_modules/old/main.js", "exports.say = (x) => 'old ' + x;");
    dir.write_file("lib/words.cjs", "exports.word = 'from lib';");
    dir.write_file("lib/reads.ts", "export const word: string = require('./words.cjs').word;");
    dir.write_file("limits.json", r#"{"most": 3}"#);
    dir
}

#[test]
fn requires_packages_and_files_in_a_full_host() {
    run_in_each_host(|host| {
        let dir = prepare_dir(host);
        dir.write_file(
            "m.ts",
            "import { word } from './lib/reads';
             const old = require('old'); const { most } = require('./limits.json');
             export default (pi: any) => { pi.on('tool_call', () => ({
                word, most, say: old.say('x'), join: require('node:path').join('a', 'b'),
                fs: typeof require('fs').readFileSync, at: require.resolve('./limits.json'),
             })); };",
        );
        let answer = dir.answer("m.ts", bash_body("ls"));
        assert_eq!(answer["errors"], json!([]), "{host:?}");
        let at = std::fs::canonicalize(dir.path("limits.json")).unwrap();
        let expected = json!({"word": "from lib", "most": 3, "say": "old x", "join": "a/b",
                              "fs": "function", "at": at});
        assert_eq!(answer["results"][0], expected, "{host:?}");
    });
}

#[test]
fn keeps_a_require_declared_in_the_file() {
    run_in_each_host(|host| {
        let dir = prepare_dir(host);
        dir.write_file(
            "m.ts",
            "import { createRequire } from 'node:module';
             const require = createRequire(import.meta.url);
             export default (pi: any) => { pi.on('tool_call', () => require('old').say('y')); };",
        );
        assert_eq!(dir.answer("m.ts", bash_body("ls"))["results"], json!(["old y"]), "{host:?}");
    });
}

#[test]
fn a_missing_package_has_an_error_code() {
    run_in_each_host(|host| {
        let dir = prepare_dir(host);
        dir.write_file(
            "m.ts",
            "export default (pi: any) => { pi.on('tool_call', () => {
                try { require('no-such-package-at-all'); } catch (e) { return { code: e.code }; }
             }); };",
        );
        let answer = dir.answer("m.ts", bash_body("ls"));
        assert_eq!(answer["results"], json!([{"code": "MODULE_NOT_FOUND"}]), "{host:?} {answer}");
    });
}

const STUB_MODULE: &str = "
export default (pi: any) => { pi.on('tool_call', (event: any) => {
  const { isToolCallEventType, Text } = require('@oh-my-pi/pi-coding-agent');
  const { Type } = require('@sinclair/typebox');
  new Text('x');
  return { bash: isToolCallEventType('bash', event), type: Type.String().type };
}); };";

#[test]
fn stubs_are_the_same_in_every_host() {
    let expected = json!([{"bash": true, "type": "string"}]);
    let embedded = prepare_dir(&FullHost::Disabled);
    embedded.write_file("m.ts", STUB_MODULE);
    assert_eq!(embedded.answer("m.ts", bash_body("ls"))["results"], expected);
    run_in_each_host(|host| {
        let dir = prepare_dir(host);
        dir.write_file("m.ts", &format!("import 'node:net';{STUB_MODULE}"));
        let answer = dir.answer("m.ts", bash_body("ls"));
        assert_eq!((&answer["results"], &answer["errors"]), (&expected, &json!([])), "{host:?}");
    });
}

#[test]
fn prefers_an_installed_package_to_its_stub() {
    run_in_each_host(|host| {
        let dir = prepare_dir(host);
        let package = r#"{"name":"@oh-my-pi/pi-ai","main":"main.js"}"#;
        dir.write_file("node_modules/@oh-my-pi/pi-ai/package.json", package);
        dir.write_file("node_modules/@oh-my-pi/pi-ai/main.js", "exports.real = 'installed';");
        dir.write_file(
            "m.ts",
            "import 'node:net'; import { real } from '@oh-my-pi/pi-ai';
             export default (pi: any) => { pi.on('tool_call', () => ({ real, required: require('@oh-my-pi/pi-ai').real })); };",
        );
        let expected = json!([{"real": "installed", "required": "installed"}]);
        assert_eq!(dir.answer("m.ts", bash_body("ls"))["results"], expected, "{host:?}");
    });
}

#[test]
fn reloads_after_a_required_file_changed() {
    run_in_each_host(|host| {
        let dir = prepare_dir(host);
        dir.write_file(
            "m.ts",
            "export default (pi: any) => { pi.on('tool_call', () => require('./lib/words.cjs').word); };",
        );
        assert_eq!(dir.answer("m.ts", bash_body("ls"))["results"], json!(["from lib"]));
        dir.write_file("lib/words.cjs", "exports.word = 'edited later';");
        assert_eq!(dir.answer("m.ts", bash_body("ls"))["results"], json!(["edited later"]));
        assert!(
            gambrel_script::module_imports(&dir.path("m.ts")).contains(&dir.path("lib/words.cjs"))
        );
    });
}
