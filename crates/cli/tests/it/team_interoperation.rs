//! pi-teams itself and gambrel write the same inbox and the same task at once, and both read
//! everything.

use serde_json::{Value, json};

use crate::external_tools::{find_tool, tools_dir};
use crate::test_project::{TestProject, text};

const WRITES: usize = 200;
/// Processes of gambrel at the same time.
const AT_ONCE: usize = 4;

/// Runs in bun with the modules of pi-teams: writes, or reads what both wrote.
const DRIVER: &str = r#"
const [modules, team, count, what] = process.argv.slice(2);
const { writeToMailbox, popUnreadMessages } = await import(`${modules}/mailbox.ts`);
const { updateTask, getTask } = await import(`${modules}/task-store.ts`);
if (what === "write") {
  for (let n = 0; n < Number(count); n += 1) {
    const timestamp = new Date().toISOString();
    await writeToMailbox(team, "alpha", "ada", { from: "pi", text: `pi ${n}`, timestamp });
    await updateTask(team, "alpha", "1", (task) => ({
      ...task, metadata: { ...task.metadata, pi: (task.metadata?.pi ?? 0) + 1 },
    }));
  }
} else {
  const messages = await popUnreadMessages(team, "alpha", "ada");
  const task = await getTask(team, "alpha", "1");
  console.log(JSON.stringify({ messages, task }));
}
"#;

#[test]
fn pi_teams_and_gambrel_share_files() {
    let modules =
        tools_dir().join("../pi-teams/node_modules/@tmustier/pi-agent-teams/extensions/teams");
    if !modules.join("mailbox.ts").exists() {
        // The registry does not always have this package, so CI goes on without it, too.
        eprintln!("SKIPPED pi_teams_and_gambrel_share_files: npm has no @tmustier/pi-agent-teams");
        return;
    }
    let Some(bun) = find_tool(".bin/bun", "pi_teams_and_gambrel_share_files") else { return };
    let project = TestProject::new().with("PI_TEAMS_HOOKS_ENABLED", "1");
    let config =
        json!({"version": 1, "teamId": "alpha", "taskListId": "alpha", "leadName": "boss"});
    project.file("teams/alpha/config.json", &config.to_string());
    let task = json!({
        "id": "1", "subject": "Shared", "description": "", "owner": "ada", "status": "completed",
        "blocks": [], "blockedBy": [], "metadata": {},
    });
    project.file("teams/alpha/tasks/alpha/1.json", &task.to_string());
    project.file("teams/_hooks/on_task_completed.sh", "exit 1\n");
    let driver = project.file("driver.ts", DRIVER);
    let drive = |what: &str| {
        let mut command = std::process::Command::new(&bun);
        command.arg(&driver).arg(&modules).arg(project.root.join("teams/alpha"));
        command.args([&WRITES.to_string(), what]).current_dir(&project.root);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command.spawn().unwrap()
    };

    let pi = drive("write");
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                for _ in 0..WRITES / AT_ONCE {
                    let args = ["team", "idle", "--team", "teams/alpha", "--member", "ada"];
                    let output = project.run(&[&args[..], &["--task", "1"]].concat(), b"");
                    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
                }
            });
        }
    });
    let written = pi.wait_with_output().unwrap();
    assert!(written.status.success(), "{}", text(&written.stderr));

    let shown = project.json(&["task", "show", "1", "--team", "teams/alpha", "--json"]);
    assert_eq!(shown["metadata"]["pi"], WRITES, "{shown}");
    assert_eq!(shown["metadata"]["qualityGateFailureCount"], WRITES, "{shown}");
    let read = drive("read").wait_with_output().unwrap();
    let read: Value = serde_json::from_slice(&read.stdout).unwrap();
    let messages = read["messages"].as_array().unwrap();
    let from = |name: &str| messages.iter().filter(|message| message["from"] == name).count();
    assert_eq!((from("pi"), from("boss")), (WRITES, WRITES));
    assert_eq!(read["task"]["metadata"]["qualityGateFailureCount"], WRITES);
}
