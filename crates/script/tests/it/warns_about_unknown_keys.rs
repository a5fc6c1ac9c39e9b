//! A warning names result keys that the caller does not read, with the most similar known key.

use serde_json::{Value, json};

use crate::module_dir::{ModuleDir, bash_body, emit_body};

fn warnings_of(dir: &ModuleDir, body: Value) -> Vec<String> {
    let outcome = dir.call("m.ts", body);
    let effects = &outcome.answer.as_ref().unwrap()["effects"];
    let warnings = effects.as_array().unwrap().iter().filter(|effect| effect["type"] == "warning");
    let warnings: Vec<String> =
        warnings.map(|effect| effect["message"].as_str().unwrap().to_owned()).collect();
    assert_eq!(outcome.remarks, warnings);
    warnings
}

fn with_keys(mut body: Value, open: bool) -> Value {
    body["keys"] = json!({"names": ["block", "reason"], "open": open});
    body
}

#[test]
fn warns_about_unknown_result_keys() {
    let dir = ModuleDir::new();
    let one = "a handler of tool_call answered with the unknown key `blok` (did you mean `block`?)";
    let other = "a handler of tool_call answered with the unknown key `verdict`";
    for handlers in [
        "pi.on('tool_call', () => ({ blok: true, reason: 'x', verdict: 1 }));",
        "pi.on('tool_call', async () => ({ blok: true })); pi.on('tool_call', () => ({ verdict: [1], blok: 1 }));",
    ] {
        dir.write_file("m.ts", &format!("export default (pi) => {{ {handlers} }};"));
        assert_eq!(
            warnings_of(&dir, with_keys(bash_body("ls"), false)),
            [one, other],
            "{handlers}"
        );
        assert_eq!(warnings_of(&dir, with_keys(bash_body("ls"), true)), [one], "{handlers}");
        assert!(warnings_of(&dir, bash_body("ls")).is_empty(), "the request lists no keys");
    }

    let fine = "pi.on('tool_call', () => ({ block: false, reason: undefined })); pi.on('tool_call', () => 'text');";
    dir.write_file("m.ts", &format!("export default (pi) => {{ {fine} }};"));
    assert!(warnings_of(&dir, with_keys(bash_body("ls"), false)).is_empty());
}

#[test]
fn warns_about_keys_of_following_events() {
    let dir = ModuleDir::new();
    dir.write_file("m.ts", "export default (pi) => { pi.on('b', () => ({ mesage: 1 })); };");
    let mut next = emit_body(json!({"type": "b"}));
    next["keys"] = json!({"names": ["message"]});
    let mut body = emit_body(json!({"type": "a"}));
    body["then"] = json!([next]);
    let expected =
        "a handler of b answered with the unknown key `mesage` (did you mean `message`?)";
    assert_eq!(warnings_of(&dir, body), [expected]);
}
