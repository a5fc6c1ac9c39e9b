//! The types that `gambrel init omp` writes are those of the modules that it runs: oh-my-pi's own
//! examples compile against them, and mistakes do not compile.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::ground::{Ground, text};
use crate::outside::{finish, tool};

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

const DEADLINE: Duration = Duration::from_secs(120);

fn ground() -> Ground {
    let ground = Ground::new();
    let output = ground.run(&["init", "omp"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    ground
}

fn compile(ground: &Ground) -> Option<(Option<i32>, String)> {
    let tsc = tool("typescript/bin/tsc", "types for module authors")?;
    let mut command = Command::new("node");
    command.arg(tsc).args(["--noEmit", "--strict", "-p", ".omp/tsconfig.json"]);
    let (code, stdout, stderr) = finish(command.current_dir(&ground.root), DEADLINE);
    Some((code, format!("{stdout}{stderr}")))
}

fn reply(ground: &Ground, event: &Value) -> Value {
    let output = ground.run(&["fire", "--from", "omp"], event.to_string().as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_contracts_examples_compile() {
    let ground = ground();
    for (name, module) in EXAMPLES {
        ground.file(&format!(".omp/hooks/pre/{name}"), module);
        for (at, from) in
            ["pi-coding-agent", "pi-coding-agent/extensibility/hooks"].iter().enumerate()
        {
            let other = module.replace("pi-coding-agent/hooks", from);
            ground.file(&format!(".omp/hooks/post/{at}-{name}"), &other);
        }
    }
    let module = EXAMPLES[0].1.replace("@oh-my-pi/", "@mariozechner/");
    ground.file(".omp/hooks/post/elsewhere.ts", &module);
    let module = EXAMPLES[0].1.replace("@oh-my-pi/pi-coding-agent/hooks", "gambrel/hooks");
    ground.file(".omp/hooks/post/own.ts", &module);
    let module = "import { readFileSync } from \"node:fs\";\n\
        import type { HookAPI } from \"gambrel/hooks\";\n\
        export default (pi: HookAPI) => pi.on(\"turn_end\", async (_, ctx) => {\n\
          ctx.ui.notify(`${ctx.modelRegistry.getAll().length} ${ctx.sessionManager.getTree()[0]?.entry.id}`);\n\
          readFileSync(\"x\");\n});\n";
    ground.file(".omp/hooks/post/node.ts", module);
    let Some((code, said)) = compile(&ground) else { return };
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn mistakes_do_not_compile() {
    let ground = ground();
    for (at, (_, line)) in MISTAKES.iter().enumerate() {
        let module = format!(
            "import type {{ HookAPI }} from \"gambrel/hooks\";\nexport default (pi: HookAPI) => {{\n  {line}\n}};\n"
        );
        ground.file(&format!(".omp/hooks/pre/mistake{at}.ts"), &module);
    }
    let Some((_, said)) = compile(&ground) else { return };
    for (at, (what, _)) in MISTAKES.iter().enumerate() {
        assert!(said.contains(&format!("mistake{at}.ts(3,")), "{what} compiles:\n{said}");
    }
    assert_eq!(said.matches("guard.ts").count(), 0, "{said}");
}

#[test]
fn the_contracts_examples_answer() {
    let ground = Ground::new();
    for (name, module) in EXAMPLES {
        ground.file(&format!(".omp/hooks/pre/{name}"), module);
    }
    let call = |command: &str| json!({"type": "tool_call", "toolName": "bash", "toolCallId": "1", "input": {"command": command}});
    let told = reply(&ground, &call("rm -rf /tmp/x"));
    assert_eq!(told, json!({"block": true, "reason": "rm -rf blocked (no UI)"}));
    assert_eq!(reply(&ground, &call("ls")), json!({}));

    let text = |text: &str| json!({"type": "text", "text": text});
    let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
    let result = |tool: &str, failed: bool| {
        json!({"type": "tool_result", "toolName": tool, "toolCallId": "1", "input": {}, "isError": failed,
        "content": [text("API_KEY=abc ok API_KEY=d"), image], "details": {"lines": 1}})
    };
    let told = reply(&ground, &result("read", false));
    assert_eq!(told, json!({"content": [text("API_KEY=[REDACTED] ok API_KEY=[REDACTED]"), image]}));
    assert_eq!(reply(&ground, &result("bash", false)), json!({}));
    assert_eq!(reply(&ground, &result("read", true)), json!({}));

    let kept = json!({"role": "user", "content": "hi", "timestamp": 1});
    let other = json!({"role": "custom", "customType": "other", "content": "x", "display": true});
    let debug =
        json!({"role": "custom", "customType": "debug-only", "content": "x", "display": true});
    let event = json!({"type": "context", "messages": [kept, debug, other]});
    assert_eq!(reply(&ground, &event), json!({"messages": [kept, other]}));
}

#[test]
fn init_writes_once_and_says_so() {
    let ground = Ground::new();
    let fates = |args: &[&str]| -> Vec<String> {
        let told = ground.json(args);
        let files = told["files"].as_array().unwrap().clone();
        files.iter().map(|file| file["fate"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(fates(&["init", "omp", "--json"]), ["written"; 3]);
    assert_eq!(fates(&["init", "omp", "--json"]), ["same"; 3]);
    let types = ground.root.join(".omp/hooks/hooks.d.ts");
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../types/omp/hooks.d.ts");
    assert_eq!(std::fs::read_to_string(&types).unwrap(), std::fs::read_to_string(shipped).unwrap());
    for file in [".omp/hooks/hooks.d.ts", ".omp/hooks/pre/guard.ts", ".omp/tsconfig.json"] {
        ground.file(file, "// mine\n");
    }
    assert_eq!(fates(&["init", "omp", "--json"]), ["kept"; 3]);
    assert_eq!(std::fs::read_to_string(&types).unwrap(), "// mine\n");
    assert_eq!(fates(&["init", "omp", "--json", "--force"]), ["replaced", "kept", "replaced"]);
    let guard = std::fs::read_to_string(ground.root.join(".omp/hooks/pre/guard.ts")).unwrap();
    assert_eq!(guard, "// mine\n");
    let told = text(&ground.run(&["init", "omp"], b"").stdout);
    assert!(told.contains("kept      .omp/hooks/pre/guard.ts"), "{told}");
}

#[test]
fn the_example_of_init_guards() {
    let ground = ground();
    let listed = ground.json(&["list", "--json"]).to_string();
    assert!(listed.contains("guard.ts") && !listed.contains("hooks.d.ts"), "{listed}");
    let call = |command: &str| json!({"type": "tool_call", "toolName": "bash", "toolCallId": "1", "input": {"command": command}});
    assert_eq!(reply(&ground, &call("git push --force origin main"))["block"], true);
    assert_eq!(reply(&ground, &call("git push origin main")), json!({}));
}
