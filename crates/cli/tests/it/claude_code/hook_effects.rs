//! Decisions of trusted project hooks inside Claude Code: a deny, a rewrite of a tool's output, and
//! context.

use serde_json::json;

use super::session::Session;
use super::versions::{ClaudeCode, in_each_version};

const BASH_ALLOWED: [&str; 4] = ["--permission-mode", "default", "--allowedTools", "Bash"];

#[test]
fn a_deny_blocks_the_call_and_its_reason_reaches_the_model() {
    in_each_version(|claude| {
        let rule = json!({"block": "touch denied", "message": "nobody touches denied files"});
        let session =
            Session::with_trusted_hooks(claude, &json!({"on_tool_before": [{"rule": rule}]}));
        let answer = session.prompt(&["touch denied.txt", "touch allowed.txt"], &BASH_ALLOWED);
        assert!(!session.has("denied.txt"), "{answer}");
        let result = answer.tool_result(0);
        assert!(result.contains("nobody touches denied files"), "{result}\n{answer}");
        // Bash itself works: only the rule blocked the first call.
        assert!(session.has("allowed.txt"), "{answer}");
    });
}

#[test]
fn a_deny_of_a_module_blocks_the_call() {
    in_each_version(|claude| {
        let session = Session::new(claude);
        session.project.file(
            ".omp/hooks/pre/guard.ts",
            "import type { HookAPI } from \"@oh-my-pi/pi-coding-agent/hooks\";\n\
             export default (pi: HookAPI) => {\n\
             pi.on(\"tool_call\", async event => {\n\
             if (String(event.input.command).includes(\"denied\"))\n\
             return { block: true, reason: \"the module says no\" };\n\
             });\n};\n",
        );
        session.gambrel(&["install", "claude"]);
        session.gambrel(&["trust", "--all", "--yes"]);
        let answer = session.prompt(&["touch denied.txt"], &BASH_ALLOWED);
        assert!(!session.has("denied.txt"), "{answer}");
        let result = answer.tool_result(0);
        assert!(result.contains("the module says no"), "{result}\n{answer}");
    });
}

/// A session whose hook removes keys from the output of tools.
fn redacting_session(claude: &ClaudeCode) -> Session {
    let rule = json!({"redact": "sk-[a-z]+", "with": "[key removed]"});
    Session::with_trusted_hooks(claude, &json!({"on_tool_after": [{"rule": rule}]}))
}

#[test]
fn a_redacted_output_does_not_reach_the_model() {
    in_each_version(|claude| {
        let session = redacting_session(claude);
        session.project.file("key.txt", "before sk-verysecret after\n");
        let answer = session.prompt(&["cat key.txt"], &BASH_ALLOWED);
        let result = answer.tool_result(0);
        assert!(result.contains("before [key removed] after"), "{result}\n{answer}");
        assert!(!answer.reached_model("verysecret"), "{answer}");
        // What Claude Code stores of it is redacted, too.
        let stored = answer.transcript.iter().any(|line| line.to_string().contains("verysecret"));
        assert!(!stored, "{answer}");
    });
}

/// docs/agents/claude-code.md warns of these files.
#[test]
fn claude_code_stores_long_and_failed_output_before_hooks_redact_it() {
    in_each_version(|claude| {
        let session = redacting_session(claude);
        let long = format!("before sk-verysecret after\n{}", "filler words\n".repeat(20_000));
        session.project.file("long.txt", &long);
        let answer = session.prompt(&["cat long.txt"], &BASH_ALLOWED);
        let stored = files_with(&session.project.base, "verysecret", "my project");
        assert!(!answer.reached_model("verysecret"), "{answer}");
        let is_result =
            |path: &std::path::PathBuf| path.to_string_lossy().contains("/tool-results/");
        assert!(!stored.is_empty() && stored.iter().all(is_result), "{stored:?}");

        let session = redacting_session(claude);
        session.project.file("key.txt", "before sk-verysecret after\n");
        let answer = session.prompt(&["cat key.txt; exit 3"], &BASH_ALLOWED);
        let stored = files_with(&session.project.base, "verysecret", "my project");
        assert!(answer.reached_model("verysecret"), "{answer}");
        let is_transcript =
            |path: &std::path::PathBuf| path.extension().is_some_and(|e| e == "jsonl");
        assert!(!stored.is_empty() && stored.iter().all(is_transcript), "{stored:?}");
    });
}

/// Files below a folder that contain a text, without those in one folder.
fn files_with(folder: &std::path::Path, text: &str, without: &str) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let others = entries.filter(|path| !path.ends_with(without) && !path.is_symlink());
    let found = others.flat_map(|path| match path.is_dir() {
        true => files_with(&path, text, without),
        false => {
            let bytes = std::fs::read(&path).unwrap_or_default();
            let contains = String::from_utf8_lossy(&bytes).contains(text);
            contains.then_some(path).into_iter().collect()
        }
    });
    found.collect()
}

#[test]
fn context_reaches_the_model() {
    in_each_version(|claude| {
        let rule = json!({"say": "touch", "message": "context of the call"});
        let session = Session::new(claude);
        session.write_hooks(&json!({"on_tool_before": [{"rule": rule}]}));
        let hook = |words: &str| json!([{"command": format!("echo {words}"), "pipe_output": true}]);
        let hooks = json!({"version": 1, "hooks": {
            "session_start": hook("context of the start"),
            "pre_iteration": hook("context of the prompt"),
        }});
        session.project.file(".iteratr.hooks.yml", &hooks.to_string());
        session.gambrel(&["install", "claude"]);
        session.gambrel(&["trust", "--all", "--yes"]);
        let answer = session.prompt(&["touch a.txt"], &BASH_ALLOWED);
        for words in ["context of the start", "context of the prompt", "context of the call"] {
            assert!(answer.reached_model(words), "{words}: {answer}");
        }
    });
}
