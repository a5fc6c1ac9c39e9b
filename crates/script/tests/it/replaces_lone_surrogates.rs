//! A text with half a surrogate pair loses only that character.

use gambrel_script::{FullHost, ScriptSettings};
use serde_json::{Value, json};

use crate::full_hosts::run_in_each_host;
use crate::module_dir::{ModuleDir, bash_body, load_error};

const CUT: &str = "const cut = 'rm -\u{1F4A5}x'.slice(0, 5);";

fn check_answers(dir: &ModuleDir, head: &str) {
    let answer = |body: &str| -> Value {
        dir.write_file(
            "m.ts",
            &format!("{head} {CUT} export default pi => {{ pi.on('tool_call', async (_, ctx) => {{ {body} }}); }};"),
        );
        dir.answer("m.ts", bash_body("ls"))
    };
    let lost = "rm -\u{fffd}";
    let flat = answer("return { block: true, reason: cut };");
    assert_eq!(flat["results"], json!([{"block": true, "reason": lost}]), "{flat}");

    let deep = answer("return { block: true, list: [cut, { [cut]: '\\ud83d\\ude00' }] };");
    let expected = json!([{"block": true, "list": [lost, {lost: "\u{1F600}"}]}]);
    assert_eq!(deep["results"], expected, "{deep}");

    let thrown = answer("throw new Error(cut);");
    assert_eq!(thrown["errors"][0]["error"], lost, "{thrown}");

    let wants = answer(
        "pi.sendMessage({ content: cut }); pi.appendEntry(cut, { cut }); ctx.ui.notify(cut); console.log(cut);",
    );
    let expected = json!([
        {"type": "sendMessage", "message": {"content": lost}, "options": {}},
        {"type": "appendEntry", "customType": lost, "data": {"cut": lost}},
        {"type": "notify", "message": lost, "level": "info"},
        {"type": "log", "level": "info", "message": lost},
    ]);
    assert_eq!(wants["effects"], expected, "{wants}");
}

#[test]
fn replaces_lone_surrogates_in_the_embedded_engine() {
    let dir = ModuleDir::with_settings(ScriptSettings {
        full_host: FullHost::Disabled,
        ..Default::default()
    });
    check_answers(&dir, "");
    dir.write_file("m.ts", &format!("{CUT} throw new Error(cut);"));
    let outcome = dir.call("m.ts", json!({"op": "load"}));
    assert!(load_error(&outcome).contains("rm -\u{fffd}"), "{outcome:?}");
}

#[test]
fn replaces_lone_surrogates_in_a_full_host() {
    run_in_each_host(|host| {
        let dir = ModuleDir::with_settings(ScriptSettings {
            full_host: host.clone(),
            ..Default::default()
        });
        check_answers(&dir, "import 'node:net';");
    });
}
