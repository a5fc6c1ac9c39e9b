//! `require`: of Node's own modules and stand-ins in the embedded engine, of everything else in a
//! full host, from the place of the file that says it.

use gambrel_script::{FullHost, ScriptSettings};
use serde_json::json;

use crate::full_hosts::each;
use crate::stand::{Stand, bash};

fn stand(host: &FullHost) -> Stand {
    let stand = Stand::with(ScriptSettings { full_host: host.clone(), ..Default::default() });
    stand.write("node_modules/old/package.json", r#"{"name":"old","main":"main.js"}"#);
    stand.write("node_modules/old/main.js", "exports.say = (x) => 'old ' + x;");
    stand.write("lib/words.cjs", "exports.word = 'from lib';");
    stand.write("lib/reads.ts", "export const word: string = require('./words.cjs').word;");
    stand.write("limits.json", r#"{"most": 3}"#);
    stand
}

#[test]
fn a_full_host_gives_packages_files_and_its_own_modules() {
    each(|host| {
        let stand = stand(host);
        stand.write(
            "m.ts",
            "import { word } from './lib/reads';
             const old = require('old'); const { most } = require('./limits.json');
             export default (pi: any) => { pi.on('tool_call', () => ({
                word, most, say: old.say('x'), join: require('node:path').join('a', 'b'),
                fs: typeof require('fs').readFileSync, at: require.resolve('./limits.json'),
             })); };",
        );
        let answer = stand.answer("m.ts", bash("ls"));
        assert_eq!(answer["errors"], json!([]), "{host:?}");
        let at = std::fs::canonicalize(stand.path("limits.json")).unwrap();
        let expected = json!({"word": "from lib", "most": 3, "say": "old x", "join": "a/b",
                              "fs": "function", "at": at});
        assert_eq!(answer["results"][0], expected, "{host:?}");
    });
}

#[test]
fn a_file_may_have_a_require_of_its_own() {
    each(|host| {
        let stand = stand(host);
        stand.write(
            "m.ts",
            "import { createRequire } from 'node:module';
             const require = createRequire(import.meta.url);
             export default (pi: any) => { pi.on('tool_call', () => require('old').say('y')); };",
        );
        assert_eq!(stand.answer("m.ts", bash("ls"))["results"], json!(["old y"]), "{host:?}");
    });
}

#[test]
fn what_is_not_there_is_told_by_its_code() {
    each(|host| {
        let stand = stand(host);
        stand.write(
            "m.ts",
            "export default (pi: any) => { pi.on('tool_call', () => {
                try { require('no-such-package-at-all'); } catch (e) { return { code: e.code }; }
             }); };",
        );
        let answer = stand.answer("m.ts", bash("ls"));
        assert_eq!(answer["results"], json!([{"code": "MODULE_NOT_FOUND"}]), "{host:?} {answer}");
    });
}

const STAND_INS: &str = "
export default (pi: any) => { pi.on('tool_call', (event: any) => {
  const { isToolCallEventType, Text } = require('@oh-my-pi/pi-coding-agent');
  const { Type } = require('@sinclair/typebox');
  new Text('x');
  return { bash: isToolCallEventType('bash', event), type: Type.String().type };
}); };";

#[test]
fn stand_ins_are_the_same_everywhere() {
    let expected = json!([{"bash": true, "type": "string"}]);
    let embedded = stand(&FullHost::Nobody);
    embedded.write("m.ts", STAND_INS);
    assert_eq!(embedded.answer("m.ts", bash("ls"))["results"], expected);
    each(|host| {
        let stand = stand(host);
        stand.write("m.ts", &format!("import 'node:net';{STAND_INS}"));
        let answer = stand.answer("m.ts", bash("ls"));
        assert_eq!((&answer["results"], &answer["errors"]), (&expected, &json!([])), "{host:?}");
    });
}

#[test]
fn an_installed_package_comes_before_its_stand_in() {
    each(|host| {
        let stand = stand(host);
        let package = r#"{"name":"@oh-my-pi/pi-ai","main":"main.js"}"#;
        stand.write("node_modules/@oh-my-pi/pi-ai/package.json", package);
        stand.write("node_modules/@oh-my-pi/pi-ai/main.js", "exports.real = 'installed';");
        stand.write(
            "m.ts",
            "import 'node:net'; import { real } from '@oh-my-pi/pi-ai';
             export default (pi: any) => { pi.on('tool_call', () => ({ real, required: require('@oh-my-pi/pi-ai').real })); };",
        );
        let expected = json!([{"real": "installed", "required": "installed"}]);
        assert_eq!(stand.answer("m.ts", bash("ls"))["results"], expected, "{host:?}");
    });
}

#[test]
fn a_required_file_that_changes_is_read_again() {
    each(|host| {
        let stand = stand(host);
        stand.write(
            "m.ts",
            "export default (pi: any) => { pi.on('tool_call', () => require('./lib/words.cjs').word); };",
        );
        assert_eq!(stand.answer("m.ts", bash("ls"))["results"], json!(["from lib"]));
        stand.write("lib/words.cjs", "exports.word = 'edited later';");
        assert_eq!(stand.answer("m.ts", bash("ls"))["results"], json!(["edited later"]));
        assert!(
            gambrel_script::imports(&stand.path("m.ts")).contains(&stand.path("lib/words.cjs"))
        );
    });
}
