//! The versioned contract of pi-teams: everything that version 1 promised is there with its type, and
//! a hook that follows the guidelines for authors keeps working when fields are added.

use serde_json::{Value, json};

use crate::test_project::{TestProject, text};

/// Every key of the context of version 1, with an example of its type.
fn first_version() -> Value {
    json!({
        "version": 1, "event": "task_completed",
        "team": {"id": "", "dir": "", "taskListId": "", "style": ""},
        "member": "", "timestamp": "",
        "task": {
            "id": "", "subject": "", "description": "", "owner": "", "status": "",
            "blockedBy": [], "blocks": [], "metadata": {}, "createdAt": "", "updatedAt": "",
        },
    })
}

/// Variables of version 1 that are always set, or set with a task.
const VARIABLES: [&str; 13] = [
    "PI_TEAMS_HOOK_EVENT",
    "PI_TEAMS_HOOK_CONTEXT_VERSION",
    "PI_TEAMS_HOOK_CONTEXT_JSON",
    "PI_TEAMS_TEAM_ID",
    "PI_TEAMS_TEAM_DIR",
    "PI_TEAMS_TASK_LIST_ID",
    "PI_TEAMS_STYLE",
    "PI_TEAMS_MEMBER",
    "PI_TEAMS_EVENT_TIMESTAMP",
    "PI_TEAMS_TASK_ID",
    "PI_TEAMS_TASK_SUBJECT",
    "PI_TEAMS_TASK_OWNER",
    "PI_TEAMS_TASK_STATUS",
];

/// Reads only what it needs, expects no exact shape, guards the task and checks the version.
const CAREFUL_HOOK: &str = r#"
const context = JSON.parse(process.env.PI_TEAMS_HOOK_CONTEXT_JSON);
const version = parseInt(process.env.PI_TEAMS_HOOK_CONTEXT_VERSION, 10);
if (version > 1) process.exit(1);
if (!context.task) { console.log("no task"); process.exit(0); }
console.log(`task ${context.task.id} is ${context.task.status}`);
"#;

fn project_with_task(extra: &str) -> TestProject {
    let project = TestProject::new().with("PI_TEAMS_HOOKS_ENABLED", "1");
    project.file("teams/alpha/config.json", r#"{"teamId":"alpha","taskListId":"alpha"}"#);
    let task = format!(
        r#"{{"id":"1","subject":"S","description":"","owner":"ada","status":"completed"{extra}}}"#
    );
    project.file("teams/alpha/tasks/alpha/1.json", &task);
    project
}

fn run_idle(project: &TestProject, task: &str) -> String {
    let args = ["team", "idle", "--team", "teams/alpha", "--member", "ada", "--task", task];
    let output = project.run(&args, b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn missing_keys(wanted: &Value, seen: &Value, at: &str) -> Vec<String> {
    let Some(fields) = wanted.as_object() else {
        let same = std::mem::discriminant(wanted) == std::mem::discriminant(seen);
        return if same { Vec::new() } else { vec![format!("{at} is {seen}")] };
    };
    let inner = |(key, value): (&String, &Value)| {
        missing_keys(value, seen.get(key).unwrap_or(&Value::Null), &format!("{at}/{key}"))
    };
    fields.iter().flat_map(inner).collect()
}

#[test]
fn version_1_has_all_that_it_promised() {
    assert_eq!(gambrel::HOOK_CONTRACT_VERSION, 1, "a new version needs the old one beside it");
    let project = project_with_task("");
    let print = "env > seen; printf %s \"$PI_TEAMS_HOOK_CONTEXT_JSON\" > context.json\n";
    project.file("teams/_hooks/on_task_completed.sh", print);
    run_idle(&project, "1");
    let seen = std::fs::read_to_string(project.root.join("context.json")).unwrap();
    let context: Value = serde_json::from_str(&seen).unwrap();
    assert_eq!(missing_keys(&first_version(), &context, ""), Vec::<String>::new());
    assert_eq!(context["version"], 1);
    let env = std::fs::read_to_string(project.root.join("seen")).unwrap();
    let is_set = |name: &&str| env.lines().any(|line| line.starts_with(&format!("{name}=")));
    let missing: Vec<&str> = VARIABLES.into_iter().filter(|name| !is_set(name)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn a_careful_hook_keeps_working_with_more_fields() {
    let project = project_with_task(r#","added":{"later":true},"metadata":{"new":[1]}"#);
    project.file("teams/_hooks/on_task_completed.js", CAREFUL_HOOK);
    assert!(run_idle(&project, "1").contains("on_task_completed passed"));
    assert!(run_idle(&project, "99").contains("on_task_completed passed"));
    let logs = std::fs::read_dir(project.root.join("teams/alpha/hook-logs")).unwrap();
    let mut outputs: Vec<String> = logs
        .map(|entry| {
            let log = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let log: Value = serde_json::from_str(&log).unwrap();
            assert_eq!(log["result"]["contractVersion"], 1, "{log}");
            log["result"]["stdout"].as_str().unwrap().to_owned()
        })
        .collect();
    outputs.sort();
    assert_eq!(outputs, ["no task\n", "task 1 is completed\n"]);
}
