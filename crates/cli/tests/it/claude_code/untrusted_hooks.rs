//! An untrusted project gate does not run, and Claude Code reports it to the user.

use serde_json::json;

use super::session::Session;
use super::versions::in_each_version;

#[test]
fn reports_the_untrusted_gate_and_the_next_step() {
    in_each_version(|claude| {
        let session = Session::new(claude);
        let guard = json!({"type": "shell", "name": "guard of files", "command": "exit 1",
            "await": true, "on_failure": "abort"});
        session.write_hooks(&json!({"on_tool_before": [guard]}));
        session.gambrel(&["install", "claude"]);
        let args = ["--allowedTools", "Bash", "--include-hook-events"];
        let answer = session.prompt(&["touch a.txt"], &args);
        // Messages that Claude Code shows to the user.
        let shown = answer.system_messages();
        let message =
            shown.iter().find(|(event, _)| ["SessionStart", "PreToolUse"].contains(&&**event));
        let (_, message) =
            message.unwrap_or_else(|| panic!("nothing is shown: {shown:?}\n{answer}"));
        for words in ["guard of files", "gambrel trust"] {
            assert!(message.contains(words), "{words}: {message}");
        }
        // The stream has it too, for programs that drive Claude Code.
        let streamed = answer.stream.iter().filter(|line| line["type"] == "system");
        let mut streamed = streamed.map(|line| line.to_string());
        assert!(streamed.any(|line| line.contains("gambrel trust")), "{answer}");
    });
}

#[test]
fn a_trusted_project_shows_nothing() {
    in_each_version(|claude| {
        let rule = json!({"block": "rm", "message": "no"});
        let session =
            Session::with_trusted_hooks(claude, &json!({"on_tool_before": [{"rule": rule}]}));
        let answer = session.prompt(&["touch a.txt"], &["--allowedTools", "Bash"]);
        assert!(session.has("a.txt"), "{answer}");
        assert_eq!(answer.system_messages(), []);
    });
}
