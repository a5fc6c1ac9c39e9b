//! A host is a crate of its own: it builds what it may build, and reads the rest with `..`.

use gambrel::{
    Audience, Decision, FireResult, Gambrel, HostEvent, Message, Options, Setup, Step, ToolCall,
    TrustMode, Verdict,
};
use serde_json::json;

#[test]
fn hosts_build_messages_and_read_decisions() {
    let folder = tempfile::tempdir().unwrap();
    let mut setup = Setup::in_memory(folder.path());
    setup.options = Options { trust: TrustMode::All, ..Options::default() };
    let call = ToolCall::new("bash", json!({"command": "ls"}));
    let event = HostEvent::tool_before("session", &call);
    // Without `..` these patterns do not compile: later versions may add fields.
    let FireResult { decision, reply, .. } = Gambrel::new(setup).fire_event(&event).unwrap();
    let Decision { merged, for_caller, trail, .. } = decision;
    let ran = trail.iter().filter(|Step { ran, .. }| *ran).count();
    assert_eq!((ran, reply.exit), (0, 0));
    assert_eq!((merged, for_caller), (Verdict::default(), Verdict::default()));
    let message = Message::new(Audience::User, "text", "a hook");
    assert_eq!((message.to, message.text.as_str()), (Audience::User, "text"));
}
