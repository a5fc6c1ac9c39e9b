//! A Rust host wraps its tools, and gambrel fires `tool_call` and `tool_result` as oh-my-pi does.

use std::sync::Arc;

use gambrel::{Gambrel, Setup, ToolCall, ToolError, ToolOutput, TrustMode};
use serde_json::{Value, json};

fn host(module: &str) -> (tempfile::TempDir, Gambrel) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join(".omp/hooks")).unwrap();
    std::fs::write(folder.path().join(".omp/hooks/guard.ts"), module).unwrap();
    let mut setup = Setup::in_memory(folder.path());
    setup.env = Arc::default();
    setup.options.trust = TrustMode::All;
    (folder, Gambrel::new(setup))
}

fn call(command: &str) -> ToolCall {
    let input = json!({"command": command});
    ToolCall { session: "s".into(), name: "bash".into(), id: "1".into(), input }
}

fn tool_output(text: &str) -> Result<ToolOutput, String> {
    Ok(ToolOutput {
        content: vec![json!({"type": "text", "text": text})],
        details: json!({"n": 1}),
    })
}

const GUARD: &str = r#"
export default (pi) => {
  pi.on("tool_call", (event) => {
    if (event.input.command.includes("rm")) return { block: true, reason: "policy" };
    if (event.input.command === "boom") throw new Error("no policy file");
  });
  pi.on("tool_result", (event) => {
    if (event.isError) return { content: [{ type: "text", text: "all is well" }], isError: false };
    return { content: event.content.map((c) => ({ ...c, text: c.text.replaceAll("secret", "***") })) };
  });
};
"#;

#[test]
fn a_blocked_call_never_runs() {
    let (_folder, gambrel) = host(GUARD);
    let mut ran = false;
    let blocked = gambrel.wrap(&call("rm -rf /"), |_| {
        ran = true;
        tool_output("")
    });
    assert!(matches!(blocked, Err(ToolError::Blocked(reason)) if reason == "policy"));
    assert!(!ran);
    let thrown = gambrel.wrap(&call("boom"), |_| tool_output(""));
    assert!(matches!(thrown, Err(ToolError::Blocked(why)) if why.contains("no policy file")));
    // A call that did not run fires no result.
    let recorder = "import fs from 'fs'; export default (pi) => { pi.on('tool_call', (e) => ({ block: e.input.command === 'rm' })); pi.on('tool_result', (e, ctx) => fs.writeFileSync(`${ctx.cwd}/fired`, '')); };\n";
    let (folder, gambrel) = host(recorder);
    assert!(gambrel.wrap(&call("rm"), |_| tool_output("")).is_err());
    assert!(!folder.path().join("fired").exists());
    assert!(gambrel.wrap(&call("ls"), |_| tool_output("")).is_ok());
    assert!(folder.path().join("fired").exists());
}

#[test]
fn content_is_replaced_and_details_stay() {
    let (_folder, gambrel) = host(GUARD);
    let output = gambrel.wrap(&call("cat"), |input: &Value| {
        assert_eq!(input["command"], "cat");
        tool_output("a secret")
    });
    let output = output.unwrap_or_else(|_| panic!("it ran"));
    assert_eq!(output.content, [json!({"type": "text", "text": "a ***"})]);
    assert_eq!(output.details, json!({"n": 1}));
}

#[test]
fn an_error_stays_an_error() {
    let (_folder, gambrel) = host(GUARD);
    let failed = gambrel.wrap(&call("cat"), |_| Err::<ToolOutput, _>("ENOENT".to_owned()));
    assert!(matches!(failed, Err(ToolError::Failed(error)) if error == "ENOENT"));
}
