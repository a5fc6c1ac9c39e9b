//! Keys of a result that nobody reads: a warning names them, with the nearest that somebody does.

use serde_json::{Value, json};

use crate::stand::{Stand, bash, emit};

fn warnings(stand: &Stand, body: Value) -> Vec<String> {
    let outcome = stand.call("m.ts", body);
    let effects = &outcome.answer.as_ref().unwrap()["effects"];
    let told = effects.as_array().unwrap().iter().filter(|effect| effect["type"] == "warning");
    let told: Vec<String> =
        told.map(|effect| effect["message"].as_str().unwrap().to_owned()).collect();
    assert_eq!(outcome.remarks, told);
    told
}

fn with_keys(mut body: Value, open: bool) -> Value {
    body["keys"] = json!({"names": ["block", "reason"], "open": open});
    body
}

#[test]
fn of_one_result_and_of_several() {
    let stand = Stand::new();
    let one = "a handler of tool_call answered with the unknown key `blok` (did you mean `block`?)";
    let other = "a handler of tool_call answered with the unknown key `verdict`";
    for handlers in [
        "pi.on('tool_call', () => ({ blok: true, reason: 'x', verdict: 1 }));",
        "pi.on('tool_call', async () => ({ blok: true })); pi.on('tool_call', () => ({ verdict: [1], blok: 1 }));",
    ] {
        stand.write("m.ts", &format!("export default (pi) => {{ {handlers} }};"));
        assert_eq!(warnings(&stand, with_keys(bash("ls"), false)), [one, other], "{handlers}");
        assert_eq!(warnings(&stand, with_keys(bash("ls"), true)), [one], "{handlers}");
        assert!(warnings(&stand, bash("ls")).is_empty(), "nobody said which keys are read");
    }
    let fine = "pi.on('tool_call', () => ({ block: false, reason: undefined })); pi.on('tool_call', () => 'text');";
    stand.write("m.ts", &format!("export default (pi) => {{ {fine} }};"));
    assert!(warnings(&stand, with_keys(bash("ls"), false)).is_empty());
}

#[test]
fn of_an_event_that_follows() {
    let stand = Stand::new();
    stand.write("m.ts", "export default (pi) => { pi.on('b', () => ({ mesage: 1 })); };");
    let mut next = emit(json!({"type": "b"}));
    next["keys"] = json!({"names": ["message"]});
    let mut body = emit(json!({"type": "a"}));
    body["then"] = json!([next]);
    let told = "a handler of b answered with the unknown key `mesage` (did you mean `message`?)";
    assert_eq!(warnings(&stand, body), [told]);
}
