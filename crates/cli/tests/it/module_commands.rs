//! Modules through the binary: slash commands, questions to a user, and load errors.

use serde_json::json;

use crate::test_project::{TestProject, text, wait_until};

const CALL: &str = r#"{"type":"tool_call","toolName":"bash","toolCallId":"1","sessionId":"s","input":{"command":"rm -rf x"}}"#;

const COMMANDS: &str = r#"
export default (pi) => {
  pi.registerCommand("handoff", {
    description: "Begin anew with a summary",
    handler: async (args, ctx) => {
      await ctx.waitForIdle();
      pi.sendMessage({ customType: "handoff", content: "handing off: " + args, display: true });
      await ctx.newSession({ setup: async (sm) => { sm.appendMessage({ role: "user", content: [] }); } });
      ctx.ui.notify("done");
    },
  });
  pi.registerCommand("broken", { description: "Fails", handler: () => { throw new Error("no luck"); } });
};
"#;

#[test]
fn commands_are_listed_and_run() {
    let project = TestProject::new();
    project.file(".omp/hooks/a.ts", COMMANDS);
    project.file(".omp/hooks/b.ts", "export default (pi) => pi.registerCommand('handoff', { description: 'second', handler: () => {} });\n");
    let list = project.json(&["commands", "--json"]);
    let names: Vec<&str> =
        list.as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["handoff", "broken", "handoff"]);
    assert_eq!(list[0]["description"], "Begin anew with a summary");
    let ran = project.run(&["command", "/handoff", "to", "--bob"], b"");
    assert_eq!(text(&ran.stdout), "handing off: to --bob\n", "{}", text(&ran.stderr));
    assert!(text(&ran.stderr).contains("done") && text(&ran.stderr).contains("newSession"));
    let effects = project.json(&["command", "--json", "handoff"])["effects"].clone();
    let kinds: Vec<&str> =
        effects.as_array().unwrap().iter().map(|e| e["type"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"sendMessage") && kinds.contains(&"newSession"), "{kinds:?}");
    let broken = project.run(&["command", "broken"], b"");
    assert_eq!(broken.status.code(), Some(1));
    assert!(text(&broken.stderr).contains("no luck"));
    let unknown = project.run(&["command", "nothing"], b"");
    assert!(text(&unknown.stderr).contains("gambrel commands"), "{}", text(&unknown.stderr));
}

#[test]
fn the_later_command_of_one_name_wins() {
    let project = TestProject::new();
    let twice = |word: &str| {
        format!(
            "pi.registerCommand('x', {{ description: '{word}', handler: () => {{ pi.sendMessage({{ customType: 'c', content: '{word}' }}); }} }});"
        )
    };
    let module = format!("export default (pi) => {{ {} {} }};\n", twice("one"), twice("two"));
    project.file(".omp/hooks/a.ts", &module);
    let list = project.json(&["commands", "--json"]);
    assert_eq!((list.as_array().unwrap().len(), &list[0]["description"]), (1, &json!("two")));
    assert_eq!(text(&project.run(&["command", "x"], b"").stdout), "two\n");
}

/// The example of oh-my-pi's hook documentation, unchanged.
const HANDOFF: &str = include_str!("fixtures/omp/handoff-command.ts");

#[test]
fn the_handoff_example_leaves_requests_to_the_host() {
    let project = TestProject::new();
    project.file(".omp/hooks/handoff.ts", HANDOFF);
    let report = project.json(&["command", "--json", "handoff"]);
    assert_eq!(report["errors"], json!([]));
    let effects = report["effects"].as_array().unwrap();
    assert_eq!(effects[0], json!({"type": "waitForIdle"}));
    assert_eq!((effects.len(), &effects[1]["type"]), (2, &json!("newSession")));
    let setup = effects[1]["setup"].as_array().unwrap();
    assert_eq!((setup.len(), &setup[0]["method"]), (1, &json!("appendMessage")));
    let message = &setup[0]["args"][0];
    let words = json!([{"type": "text", "text": "Continue from prior session summary."}]);
    assert_eq!((&message["role"], &message["content"]), (&json!("user"), &words));
    assert!(message["timestamp"].as_u64().is_some_and(|at| at > 0), "{message}");
    let shown = project.run(&["command", "/handoff"], b"");
    assert_eq!((shown.status.code(), text(&shown.stdout).as_str()), (Some(0), ""));
    let words = text(&shown.stderr);
    assert!(words.contains("waitForIdle") && words.contains("newSession"), "{words}");
}

#[test]
fn untrusted_modules_register_nothing() {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    project.file(".omp/hooks/a.ts", "import { writeFileSync } from 'node:fs';\nwriteFileSync('ran', '');\nexport default () => {};\n");
    assert_eq!(project.json(&["commands", "--json"]), json!([]));
    project.run(&["check"], b"");
    project.run(&["fire", "--from", "omp"], CALL.as_bytes());
    assert!(!project.root.join("ran").exists(), "an untrusted module was loaded");
}

const ASKS: &str = r#"
export default (pi) => pi.on("tool_call", async (event, ctx) => {
  if (!ctx.hasUI) return { block: true, reason: "no UI" };
  const ok = await ctx.ui.confirm("Dangerous command", `Allow: ${event.input.command}`);
  if (!ok) return { block: true, reason: "a person said no" };
});
"#;

fn answer_through_ticket(word: &str) -> String {
    let project = TestProject::new().with("GAMBREL_UI", "page");
    project.file(".omp/hooks/a.ts", ASKS);
    let waiting = project.start(&["fire", "--from", "omp"], CALL.as_bytes());
    let open = || project.json(&["approvals", "--json"])[0]["ticket"].as_str().map(str::to_owned);
    wait_until("the module's question is open", || open().is_some());
    let ticket = project.json(&["approvals", "--json"])[0].clone();
    assert_eq!(ticket["title"], "Dangerous command");
    assert!(ticket["shown"].to_string().contains("Allow: rm -rf x"), "{ticket}");
    let output = project.run(&[word, ticket["ticket"].as_str().unwrap()], b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&waiting.wait_with_output().unwrap().stdout)
}

#[test]
fn a_question_is_answered_through_a_ticket() {
    assert_eq!(answer_through_ticket("approve"), "{}\n");
    assert!(answer_through_ticket("deny").contains("a person said no"));
}

#[test]
fn modules_see_that_no_ui_is_available() {
    let project = TestProject::new();
    project.file(".omp/hooks/a.ts", ASKS);
    let reply = project.run(&["fire", "--from", "omp"], CALL.as_bytes());
    assert!(text(&reply.stdout).contains("no UI"), "{}", text(&reply.stdout));
}

#[test]
fn check_reports_module_load_errors() {
    let project = TestProject::new();
    project.file(
        ".omp/hooks/a.ts",
        "export default (pi) => {\n  pi.on('tool_call', () => {});\n  const x: = 1;\n};\n",
    );
    project.file(
        ".omp/hooks/b.ts",
        "import x from 'no-such-package-anywhere';\nexport default () => x();\n",
    );
    let list = project.json(&["check", "--json"]);
    let all = list.to_string();
    assert!(all.contains("Failed to load hook") && all.contains("a.ts"), "{all}");
    assert!(all.contains("no-such-package-anywhere"), "{all}");
}

#[test]
fn check_reports_a_factory_that_never_ends() {
    let project = TestProject::new();
    project
        .file(".omp/hooks/a.ts", "export default async (pi) => { pi.on('tool_call', () => {}); await new Promise(() => {}); };\n");
    project.file(".omp/hooks/b.ts", "export default (pi) => pi.registerCommand('b', { description: 'fine', handler: () => {} });\n");
    let list = project.json(&["check", "--json"]);
    let complaints = list["complaints"].as_array().unwrap();
    assert_eq!(complaints.len(), 1, "{list}");
    let complaint = complaints[0].to_string();
    assert!(
        complaint.contains("Failed to load hook: the module waits for something"),
        "{complaint}"
    );
    assert!(complaint.contains("a.ts"), "{complaint}");
    let commands = project.run(&["commands"], b"");
    assert!(text(&commands.stdout).contains("/b"), "{}", text(&commands.stdout));
    assert!(text(&commands.stderr).contains("Failed to load hook"), "{}", text(&commands.stderr));
    let decided = project.decide("omp", CALL);
    assert_eq!(decided["ruling"], "deny", "a gate is not let through: {decided}");
}

#[test]
fn trust_covers_imported_files() {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    project.file(".omp/hooks/a.ts", "import { words } from './lib/words';\nexport default (pi) => pi.on('tool_call', () => ({ block: true, reason: words }));\n");
    project.file(".omp/hooks/lib/words.ts", "export const words = 'first';\n");
    assert_eq!(project.run(&["trust", "--all", "--yes"], b"").status.code(), Some(0));
    let reply = project.run(&["fire", "--from", "omp"], CALL.as_bytes());
    assert!(text(&reply.stdout).contains("first"), "{}", text(&reply.stderr));
    project.file(".omp/hooks/lib/words.ts", "export const words = 'swapped';\n");
    let decided = project.decide("omp", CALL);
    assert!(decided["trail"][0]["why"].as_str().unwrap().contains("changed"), "{decided}");
}
