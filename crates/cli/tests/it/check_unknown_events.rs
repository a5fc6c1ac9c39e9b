//! A module may register for an unknown event name. `check` warns, because the name may be
//! misspelled.

use crate::test_project::{TestProject, text};

#[test]
fn warns_about_unknown_event_names_and_runs_the_module() {
    let project = TestProject::new();
    project.file(
        ".omp/hooks/a.ts",
        "export default (pi) => {\n  pi.on(\"tool_cal\", () => {});\n  pi.on(\"model_select\", () => {});\n  pi.on(\"tool_call\", () => ({ block: true, reason: \"asked\" }));\n};\n",
    );
    let report = project.json(&["check", "--json"]);
    let report = report.to_string();
    assert!(report.contains("registers for `tool_cal`"), "{report}");
    assert!(report.contains("warning") && !report.contains("model_select"), "{report}");
    let event = br#"{"type":"tool_call","toolName":"bash","toolCallId":"1","input":{}}"#;
    let output = project.run(&["fire", "--from", "omp"], event);
    assert!(text(&output.stdout).contains("asked"), "{}", text(&output.stdout));
}
