//! A module that registers for an event of a name that nobody knows works; `check` notes the name,
//! since it may be a slip of the pen.

use crate::ground::{Ground, text};

#[test]
fn an_unknown_name_is_a_note_and_keeps_nothing_from_running() {
    let ground = Ground::new();
    ground.file(
        ".omp/hooks/a.ts",
        "export default (pi) => {\n  pi.on(\"tool_cal\", () => {});\n  pi.on(\"model_select\", () => {});\n  pi.on(\"tool_call\", () => ({ block: true, reason: \"asked\" }));\n};\n",
    );
    let said = ground.json(&["check", "--json"]);
    let said = said.to_string();
    assert!(said.contains("registers for `tool_cal`"), "{said}");
    assert!(said.contains("warning") && !said.contains("model_select"), "{said}");
    let event = br#"{"type":"tool_call","toolName":"bash","toolCallId":"1","input":{}}"#;
    let output = ground.run(&["fire", "--from", "omp"], event);
    assert!(text(&output.stdout).contains("asked"), "{}", text(&output.stdout));
}
