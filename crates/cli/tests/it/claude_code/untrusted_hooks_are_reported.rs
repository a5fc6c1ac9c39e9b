//! A gate of the project that nobody trusted does not run, and Claude Code shows the user so.

use serde_json::json;

use super::session::Session;
use super::versions::in_each_version;

#[test]
fn the_user_is_shown_which_gate_is_untrusted_and_what_to_do() {
    in_each_version(|claude| {
        let session = Session::new(claude);
        let guard = json!({"type": "shell", "name": "guard of files", "command": "exit 1",
            "await": true, "on_failure": "abort"});
        session.write_hooks(&json!({"on_tool_before": [guard]}));
        session.gambrel(&["install", "claude"]);
        let args = ["--allowedTools", "Bash", "--include-hook-events"];
        let answer = session.prompt(&["touch a.txt"], &args);
        // What Claude Code took as a message for the user.
        let shown = answer.system_messages();
        let told =
            shown.iter().find(|(event, _)| ["SessionStart", "PreToolUse"].contains(&&**event));
        let (_, told) = told.unwrap_or_else(|| panic!("nothing is shown: {shown:?}\n{answer}"));
        for words in ["guard of files", "gambrel trust"] {
            assert!(told.contains(words), "{words}: {told}");
        }
        // And the stream has it, for programs that drive Claude Code.
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
