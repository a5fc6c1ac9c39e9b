//! Types written by `gambrel init omp`: oh-my-pi's own examples compile against them, and mistakes
//! do not.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::external_tools::{find_tool, run_to_end};
use crate::test_project::{TestProject, text};

const EXAMPLES: [(&str, &str); 4] = [
    ("block-unsafe-bash.ts", include_str!("fixtures/omp/block-unsafe-bash.ts")),
    ("redact-output.ts", include_str!("fixtures/omp/redact-output.ts")),
    ("filter-context.ts", include_str!("fixtures/omp/filter-context.ts")),
    ("handoff-command.ts", include_str!("fixtures/omp/handoff-command.ts")),
];

/// Modules with one mistake each.
const MISTAKES: [(&str, &str); 6] = [
    ("unknown event", r#"pi.on("tool_cal", async () => {});"#),
    ("unknown field", r#"pi.on("tool_call", async (event) => { event.inptu; });"#),
    ("wrong result", r#"pi.on("tool_call", async () => ({ block: "yes" }));"#),
    ("result where none counts", r#"pi.on("turn_start", async () => ({ cancel: true }));"#),
    ("command context in a handler", r#"pi.on("turn_end", async (_, ctx) => ctx.waitForIdle());"#),
    ("input without a check", r#"pi.on("tool_call", async (e) => { e.input.command.trim(); });"#),
];

const COMPILE_TIMEOUT: Duration = Duration::from_secs(120);

fn initialised_project() -> TestProject {
    let project = TestProject::new();
    let output = project.run(&["init", "omp"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    project
}

fn compile(project: &TestProject) -> Option<(Option<i32>, String)> {
    let tsc = find_tool("typescript/bin/tsc", "types for module authors")?;
    let mut command = Command::new("node");
    command.arg(tsc).args(["--noEmit", "--strict", "-p", ".omp/tsconfig.json"]);
    let (code, stdout, stderr) = run_to_end(command.current_dir(&project.root), COMPILE_TIMEOUT);
    Some((code, format!("{stdout}{stderr}")))
}

fn fire_omp(project: &TestProject, event: &Value) -> Value {
    let output = project.run(&["fire", "--from", "omp"], event.to_string().as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn examples_compile() {
    let project = initialised_project();
    for (name, module) in EXAMPLES {
        project.file(&format!(".omp/hooks/pre/{name}"), module);
        for (at, from) in
            ["pi-coding-agent", "pi-coding-agent/extensibility/hooks"].iter().enumerate()
        {
            let other = module.replace("pi-coding-agent/hooks", from);
            project.file(&format!(".omp/hooks/post/{at}-{name}"), &other);
        }
    }
    let module = EXAMPLES[0].1.replace("@oh-my-pi/", "@mariozechner/");
    project.file(".omp/hooks/post/elsewhere.ts", &module);
    let module = EXAMPLES[0].1.replace("@oh-my-pi/pi-coding-agent/hooks", "gambrel/hooks");
    project.file(".omp/hooks/post/own.ts", &module);
    let module = "import { readFileSync } from \"node:fs\";\n\
        import type { HookAPI } from \"gambrel/hooks\";\n\
        export default (pi: HookAPI) => pi.on(\"turn_end\", async (_, ctx) => {\n\
          ctx.ui.notify(`${ctx.modelRegistry.getAll().length} ${ctx.sessionManager.getTree()[0]?.entry.id}`);\n\
          readFileSync(\"x\");\n});\n";
    project.file(".omp/hooks/post/node.ts", module);
    let Some((code, errors)) = compile(&project) else { return };
    assert_eq!(code, Some(0), "{errors}");
}

#[test]
fn mistakes_do_not_compile() {
    let project = initialised_project();
    for (at, (_, line)) in MISTAKES.iter().enumerate() {
        let module = format!(
            "import type {{ HookAPI }} from \"gambrel/hooks\";\nexport default (pi: HookAPI) => {{\n  {line}\n}};\n"
        );
        project.file(&format!(".omp/hooks/pre/mistake{at}.ts"), &module);
    }
    let Some((_, errors)) = compile(&project) else { return };
    for (at, (what, _)) in MISTAKES.iter().enumerate() {
        assert!(errors.contains(&format!("mistake{at}.ts(3,")), "{what} compiles:\n{errors}");
    }
    assert_eq!(errors.matches("guard.ts").count(), 0, "{errors}");
}

#[test]
fn examples_answer() {
    let project = TestProject::new();
    for (name, module) in EXAMPLES {
        project.file(&format!(".omp/hooks/pre/{name}"), module);
    }
    let call = |command: &str| json!({"type": "tool_call", "toolName": "bash", "toolCallId": "1", "input": {"command": command}});
    let answer = fire_omp(&project, &call("rm -rf /tmp/x"));
    assert_eq!(answer, json!({"block": true, "reason": "rm -rf blocked (no UI)"}));
    assert_eq!(fire_omp(&project, &call("ls")), json!({}));

    let text = |text: &str| json!({"type": "text", "text": text});
    let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
    let result = |tool: &str, failed: bool| {
        json!({"type": "tool_result", "toolName": tool, "toolCallId": "1", "input": {}, "isError": failed,
        "content": [text("API_KEY=abc ok API_KEY=d"), image], "details": {"lines": 1}})
    };
    let answer = fire_omp(&project, &result("read", false));
    assert_eq!(
        answer,
        json!({"content": [text("API_KEY=[REDACTED] ok API_KEY=[REDACTED]"), image]})
    );
    assert_eq!(fire_omp(&project, &result("bash", false)), json!({}));
    assert_eq!(fire_omp(&project, &result("read", true)), json!({}));

    let kept = json!({"role": "user", "content": "hi", "timestamp": 1});
    let other = json!({"role": "custom", "customType": "other", "content": "x", "display": true});
    let debug =
        json!({"role": "custom", "customType": "debug-only", "content": "x", "display": true});
    let event = json!({"type": "context", "messages": [kept, debug, other]});
    assert_eq!(fire_omp(&project, &event), json!({"messages": [kept, other]}));
}

#[test]
fn init_writes_once_and_reports_it() {
    let project = TestProject::new();
    let fates = |args: &[&str]| -> Vec<String> {
        let report = project.json(args);
        let files = report["files"].as_array().unwrap().clone();
        files.iter().map(|file| file["fate"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(fates(&["init", "omp", "--json"]), ["written"; 3]);
    assert_eq!(fates(&["init", "omp", "--json"]), ["same"; 3]);
    let types = project.root.join(".omp/hooks/hooks.d.ts");
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../types/omp/hooks.d.ts");
    assert_eq!(std::fs::read_to_string(&types).unwrap(), std::fs::read_to_string(shipped).unwrap());
    for file in [".omp/hooks/hooks.d.ts", ".omp/hooks/pre/guard.ts", ".omp/tsconfig.json"] {
        project.file(file, "// mine\n");
    }
    assert_eq!(fates(&["init", "omp", "--json"]), ["kept"; 3]);
    assert_eq!(std::fs::read_to_string(&types).unwrap(), "// mine\n");
    assert_eq!(fates(&["init", "omp", "--json", "--force"]), ["replaced", "kept", "replaced"]);
    let guard = std::fs::read_to_string(project.root.join(".omp/hooks/pre/guard.ts")).unwrap();
    assert_eq!(guard, "// mine\n");
    let printed = text(&project.run(&["init", "omp"], b"").stdout);
    assert!(printed.contains("kept      .omp/hooks/pre/guard.ts"), "{printed}");
}

#[test]
fn the_init_example_blocks_a_force_push() {
    let project = initialised_project();
    let listed = project.json(&["list", "--json"]).to_string();
    assert!(listed.contains("guard.ts") && !listed.contains("hooks.d.ts"), "{listed}");
    let call = |command: &str| json!({"type": "tool_call", "toolName": "bash", "toolCallId": "1", "input": {"command": command}});
    assert_eq!(fire_omp(&project, &call("git push --force origin main"))["block"], true);
    assert_eq!(fire_omp(&project, &call("git push origin main")), json!({}));
}
