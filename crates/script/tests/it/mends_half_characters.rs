//! Text that was cut through a character costs that character and nothing else.

use gambrel_script::{FullHost, ScriptSettings};
use serde_json::{Value, json};

use crate::full_hosts::each;
use crate::stand::{Stand, bash, unstarted};

const CUT: &str = "const cut = 'rm -\u{1F4A5}x'.slice(0, 5);";

fn answers(stand: &Stand, head: &str) {
    let answer = |body: &str| -> Value {
        stand.write(
            "m.ts",
            &format!("{head} {CUT} export default pi => {{ pi.on('tool_call', async (_, ctx) => {{ {body} }}); }};"),
        );
        stand.answer("m.ts", bash("ls"))
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
fn in_the_embedded_engine() {
    let stand = Stand::with(ScriptSettings { full_host: FullHost::Nobody, ..Default::default() });
    answers(&stand, "");
    stand.write("m.ts", &format!("{CUT} throw new Error(cut);"));
    let outcome = stand.call("m.ts", json!({"op": "load"}));
    assert!(unstarted(&outcome).contains("rm -\u{fffd}"), "{outcome:?}");
}

#[test]
fn in_a_full_host() {
    each(|host| {
        let stand = Stand::with(ScriptSettings { full_host: host.clone(), ..Default::default() });
        answers(&stand, "import 'node:net';");
    });
}
