//! A module may register for an unknown event name, and `.gambrel/hooks.yaml` may have a hook point
//! for one. `check` warns, because the name may be misspelled.

use gambrel_dialects::DIALECTS;
use gambrel_model::Moment;

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
    assert!(report.contains("did you mean `tool_call`?"), "{report}");
    assert!(report.contains("warning") && !report.contains("model_select"), "{report}");
    let event = br#"{"type":"tool_call","toolName":"bash","toolCallId":"1","input":{}}"#;
    let output = project.run(&["fire", "--from", "omp"], event);
    assert!(text(&output.stdout).contains("asked"), "{}", text(&output.stdout));
}

/// An event that only one product fires has a hook point too. Both editions of oh-my-pi fire it.
#[test]
fn accepts_hook_points_of_every_product() {
    let rows = DIALECTS.iter().flat_map(|dialect| dialect.events());
    let own = rows.filter(|row| !row.name.is_empty() && matches!(row.moment, Moment::Other(_)));
    let mut points: Vec<String> = own.map(|row| row.moment.yaml_key()).collect();
    points.sort();
    points.dedup();
    assert!(points.len() > 40, "{points:?}");
    let project = TestProject::new();
    let lines = points.iter().map(|point| format!("  {point}: [{{say: ., message: heard}}]\n"));
    project.file(".gambrel/hooks.yaml", &format!("hooks:\n{}", lines.collect::<String>()));
    let report = project.json(&["check", "--json"]);
    assert_eq!(report["complaints"].as_array().unwrap().len(), 0, "{report}");
    for edition in ["hooks", "extensions"] {
        let event = format!(r#"{{"type":"user_bash","command":"ls","edition":"{edition}"}}"#);
        let output = project.run(&["fire", "--from", "omp", "--json"], event.as_bytes());
        assert!(text(&output.stdout).contains("heard"), "{edition}: {}", text(&output.stdout));
    }
}

#[test]
fn suggests_the_hook_point_of_a_product() {
    let project = TestProject::new();
    project.file(
        ".gambrel/hooks.yaml",
        "hooks:\n  on_user_bahs: [{say: ., message: a}]\n  user_bash: [{say: ., message: b}]\n\
         on_user_bash: []\n",
    );
    let report = project.json(&["check", "--json"]);
    let found: Vec<(&str, &str)> = report["complaints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["message"].as_str().unwrap(), row["help"].as_str().unwrap()))
        .collect();
    let help = "did you mean `on_user_bash`?";
    assert_eq!(
        found,
        [
            ("`on_user_bash` is outside `hooks:`", "indent it under `hooks:`"),
            ("no caller is known to fire `on_user_bahs`", help),
            ("`user_bash` is not a hook point", help),
        ]
    );
}
