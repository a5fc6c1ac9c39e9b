//! A Rust host wraps its tools, and gambrel fires `tool_call` and `tool_result` as oh-my-pi does.

use std::sync::Arc;

use gambrel::{Audience, Gambrel, Ruling, Setup, ToolCall, ToolError, ToolOutput, TrustMode};
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
    ToolCall::new("bash", json!({"command": command})).in_session("s").with_id("1")
}

fn tool_output(text: &str) -> Result<ToolOutput, String> {
    Ok(ToolOutput::text(text).with_details(json!({"n": 1})))
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
    let blocked = blocked.unwrap();
    assert_eq!(blocked.result, Err(ToolError::Blocked("policy".into())));
    assert_eq!(blocked.decision.merged.ruling, Ruling::Deny);
    assert!(blocked.after.is_none());
    assert!(!ran);
    let thrown = gambrel.wrap(&call("boom"), |_| tool_output(""));
    let thrown = thrown.unwrap().result;
    assert!(matches!(thrown, Err(ToolError::Blocked(why)) if why.contains("no policy file")));
    // A call that did not run fires no result.
    let recorder = "import fs from 'fs'; export default (pi) => { pi.on('tool_call', (e) => ({ block: e.input.command === 'rm' })); pi.on('tool_result', (e, ctx) => fs.writeFileSync(`${ctx.cwd}/fired`, '')); };\n";
    let (folder, gambrel) = host(recorder);
    assert!(gambrel.wrap(&call("rm"), |_| tool_output("")).unwrap().result.is_err());
    assert!(!folder.path().join("fired").exists());
    assert!(gambrel.wrap(&call("ls"), |_| tool_output("")).unwrap().result.is_ok());
    assert!(folder.path().join("fired").exists());
}

#[test]
fn content_is_replaced_and_details_stay() {
    let (_folder, gambrel) = host(GUARD);
    let output = gambrel.wrap(&call("cat"), |input: &Value| {
        assert_eq!(input["command"], "cat");
        tool_output("a secret")
    });
    let output = output.unwrap().result.unwrap();
    assert_eq!(output.content, [json!({"type": "text", "text": "a ***"})]);
    assert_eq!(output.details, json!({"n": 1}));
}

#[test]
fn an_error_stays_an_error() {
    let (_folder, gambrel) = host(GUARD);
    let failed = gambrel.wrap(&call("cat"), |_| Err::<ToolOutput, _>("ENOENT".to_owned()));
    assert_eq!(failed.unwrap().result, Err(ToolError::Failed("ENOENT".into())));
}

/// A hook of Claude Code rewrites the input of a tool that the host names as oh-my-pi does.
#[test]
fn hooks_rewrite_the_input_and_send_messages() {
    let answer = json!({"systemMessage": "force was left out", "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "allow",
        "updatedInput": {"path": "b", "content": "new"}, "additionalContext": "never force"}});
    let hook = |command: String| json!([{"hooks": [{"type": "command", "command": command}]}]);
    let settings = json!({"hooks": {
        "PreToolUse": hook(format!("echo '{}'", answer.to_string().replace("\"path\"", "\"file_path\""))),
        "PostToolUse": hook("grep -q '\"file_path\":\"b\"' && echo seen >&2 && exit 2".into()),
    }});
    let (folder, gambrel) = host("export default () => {};");
    std::fs::create_dir_all(folder.path().join(".claude")).unwrap();
    std::fs::write(folder.path().join(".claude/settings.json"), settings.to_string()).unwrap();
    let call = ToolCall::new("write", json!({"path": "a", "content": "old"})).in_session("s");
    let mut given = Value::Null;
    let wrapped = gambrel.wrap(&call, |input| {
        given = input.clone();
        tool_output("written")
    });
    let wrapped = wrapped.unwrap();
    assert_eq!(given, json!({"path": "b", "content": "new"}));
    assert_eq!(wrapped.input, given);
    let of = |to: Audience| -> Vec<&str> {
        let own = wrapped.messages.iter().filter(|message| message.to == to);
        own.map(|message| message.text.as_str()).collect()
    };
    assert_eq!(of(Audience::User), ["force was left out"]);
    assert_eq!(of(Audience::AgentNow)[0], "never force");
    assert!(of(Audience::AgentNow).iter().any(|text| text.contains("seen")), "{wrapped:?}");
    assert!(wrapped.after.is_some());
}

/// Nobody can be asked, so a call that a person must approve does not run.
#[test]
fn a_call_that_needs_an_approval_is_blocked() {
    let (folder, gambrel) = host("export default () => {};");
    std::fs::create_dir_all(folder.path().join(".gambrel")).unwrap();
    let rule = json!({"type": "rule", "ask": "deploy", "message": "production"});
    let hooks = json!({"hooks": {"on_tool_before": [rule]}});
    std::fs::write(folder.path().join(".gambrel/hooks.yaml"), hooks.to_string()).unwrap();
    let wrapped = gambrel.wrap(&call("deploy"), |_| tool_output("")).unwrap();
    let reason = "a person must approve it: production";
    assert_eq!(wrapped.result, Err(ToolError::Blocked(reason.into())));
}
