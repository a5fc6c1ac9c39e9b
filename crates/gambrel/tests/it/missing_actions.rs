//! A host without an action: hooks that need it are gate failures with a reason, and never silent.

use std::sync::Arc;

use gambrel::{Complaint, Gambrel, Ruling, Setup, TrustMode};
use gambrel_ledger::MemoryLedger;

const EVENT: &[u8] = br#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"ls"}}"#;

fn host(strict: bool) -> (tempfile::TempDir, Gambrel) {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        (
            ".omp/hooks/guard.ts",
            "export default (pi) => pi.on('tool_call', () => ({block: true}));\n",
        ),
        (
            ".gambrel/hooks.yaml",
            "hooks: {on_tool_before: [{name: ask, type: webhook, url: 'https://a.example', await: true}]}\n",
        ),
        (
            ".claude/settings.json",
            r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"exit 2"}]}]}}"#,
        ),
    ];
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let mut setup = Setup::in_memory(folder.path());
    setup.env = Arc::default();
    setup.options.trust = TrustMode::All;
    setup.options.strict = strict;
    let gambrel = Gambrel::with_parts(setup, Arc::new(MemoryLedger::new()), Vec::new());
    (folder, gambrel)
}

#[test]
fn reports_every_hook_with_the_reason() {
    let (_folder, gambrel) = host(false);
    let event = gambrel.receive("claude", EVENT).unwrap();
    let fired = gambrel.fire(event);
    let reply = String::from_utf8(fired.reply.stdout).unwrap();
    for action in ["shell", "module"] {
        let why = format!("no action `{action}` is built in");
        assert!(reply.contains(&why), "{action}: {reply}");
    }
}

#[test]
fn strict_mode_denies() {
    let (_folder, gambrel) = host(true);
    let event = gambrel.receive("claude", EVENT).unwrap();
    let fired = gambrel.fire(event);
    assert_eq!(fired.decision.merged.ruling, Ruling::Deny);
}

#[test]
fn gambrel_is_sync_and_complaints_are_errors() {
    fn assert_sync<T: Send + Sync>() {}
    fn assert_error<T: std::error::Error>() {}
    assert_sync::<Gambrel>();
    assert_error::<Complaint>();
    let (_folder, gambrel) = host(false);
    let error = gambrel.receive("nobody", EVENT).err().unwrap();
    assert!(error.to_string().contains("no dialect `nobody`"), "{error}");
}
